// Clients of both TypeScript packages.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
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

const free = net.createServer().listen(0, "127.0.0.1");
await once(free, "listening");
const address = `127.0.0.1:${free.address().port}`;
free.close();
const service = spawn(toolstub, ["serve", "--listen", address], { stdio: "ignore" });
process.on("exit", () => service.kill());
while (!(await fetch(`http://${address}/health`).catch(() => null))) await pause(100);

const auto = { versionNegotiation: { mode: "auto" } };
const kinds = {
  "sdk": [Client, StdioClientTransport, StreamableHTTPClientTransport, {}, "2025-11-25"],
  "client": [later.Client, laterStdio.StdioClientTransport, later.StreamableHTTPClientTransport, {}, "2025-11-25"],
  "client, later": [later.Client, laterStdio.StdioClientTransport, later.StreamableHTTPClientTransport, auto, "2026-07-28"],
};
for (const [kind, [ClientOf, Streams, Http, options, version]] of Object.entries(kinds)) {
  const connect = async (transport) => {
    const client = new ClientOf({ name: "test", version: "1" }, options);
    // The earlier package tells its transport alone.
    transport.setProtocolVersion ??= (told) => { transport.protocolVersion = told; };
    await client.connect(transport);
    return client;
  };
  const run = ([command, ...args]) => connect(new Streams({ command, args, env, stderr: "ignore" }));

  for (const alone of [await run([toolstub, "mcp"]), await connect(new Http(new URL(`http://${address}/mcp`)))]) {
    assert.equal(alone.getNegotiatedProtocolVersion?.() ?? alone.transport.protocolVersion, version);
    assert.deepEqual((await alone.listTools()).tools.map((tool) => tool.name), ours);
    const none = await text(alone, ours[2], { limit: "2", session: "nobody" });
    assert.match(none, /No tool result/);
    await alone.close();
  }

  const proxy = await run([toolstub, "proxy", ...filesystem]);
  const tools = (await proxy.listTools()).tools;
  assert.deepEqual(tools.slice(-3).map((tool) => tool.name), ours);
  const stub = await text(proxy, "read_text_file", { path: `${files}/long.txt` });
  const ref = stub.match(/^ref: (\S+)$/m)[1];
  assert.ok(stub.length < 2000);
  assert.equal(await original(proxy, ref), fs.readFileSync("files/long.txt", "utf8"));
  const huge = await text(proxy, "read_text_file", { path: `${files}/huge.txt` });
  assert.match(huge, /^\[tool result externalized: /);
  await proxy.close();

  // Without the proxy, these clients break off at such a size.
  const direct = await run(filesystem);
  await assert.rejects(text(direct, "read_text_file", { path: `${files}/huge.txt` }), /Connection closed/);
  await direct.close();
  console.log(`ok  ${kind}: the tools alone, and long files through the proxy, which the client alone breaks off at`);
}
process.exit();
