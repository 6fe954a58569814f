// Clients of both TypeScript packages.

import assert from "node:assert/strict";
import fs from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import * as later from "@modelcontextprotocol/client";
import * as laterStdio from "@modelcontextprotocol/client/stdio";

const toolstub = process.env.TOOLSTUB;
const files = fs.realpathSync("files");
const filesystem = ["node", "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", files];
const ours = ["read", "search", "list"].map((name) => `openviking_tool_result_${name}`);
const env = { ...process.env };

async function text(client, name, args) {
  const result = await client.callTool({ name, arguments: args });
  return result.content[0].text;
}

async function original(client, ref) {
  let whole = "";
  for (let offset = 0; offset !== undefined; ) {
    const piece = await text(client, ours[0], { tool_output_ref: ref, offset, limit: -1 });
    const found = piece.match(/\n\[next_offset: (\d+) of \d+\]$/);
    whole += found ? piece.slice(0, found.index) : piece;
    offset = found ? Number(found[1]) : undefined;
  }
  return whole;
}

const kinds = {
  "sdk": [Client, StdioClientTransport],
  "client": [later.Client, laterStdio.StdioClientTransport],
};
for (const [kind, [ClientOf, TransportOf]] of Object.entries(kinds)) {
  const connect = async (args) => {
    const client = new ClientOf({ name: "test", version: "1" });
    await client.connect(new TransportOf({ command: toolstub, args, env }));
    return client;
  };

  const alone = await connect(["mcp"]);
  assert.deepEqual((await alone.listTools()).tools.map((tool) => tool.name), ours);
  const none = await text(alone, ours[2], { limit: "2", session: "nobody" });
  assert.match(none, /No tool result/);
  await alone.close();

  const proxy = await connect(["proxy", ...filesystem]);
  const tools = (await proxy.listTools()).tools;
  assert.deepEqual(tools.slice(-3).map((tool) => tool.name), ours);
  const stub = await text(proxy, "read_text_file", { path: `${files}/long.txt` });
  const ref = stub.match(/^ref: (\S+)$/m)[1];
  assert.ok(stub.length < 2000);
  assert.equal(await original(proxy, ref), fs.readFileSync("files/long.txt", "utf8"));
  // Without the proxy, this client breaks off at such a size.
  const huge = await text(proxy, "read_text_file", { path: `${files}/huge.txt` });
  assert.match(huge, /^\[tool result externalized: /);
  await proxy.close();
  console.log(`ok  ${kind}: the tools alone, and long files through the proxy`);
}
