"""Clients of the later Python package: both eras of the protocol."""

import asyncio
import functools
import http.server
import json
import sys
import threading
import time

from mcp import Client, StdioServerParameters, types

from common import (EVERYTHING, FETCH, FILES, FILESYSTEM, GIT, MEMORY, OURS, TIME, TOOLSTUB, done, free_port, is_stub,
                    joined, listening, next_offset, proxied, ref_of, same, service)

# In seconds: how long a client waits for 20 MB.
PATIENCE = 10

def server(command):
    return StdioServerParameters(command=command[0], args=command[1:])


async def text(client, name, **arguments):
    result = await client.call_tool(name, arguments)
    return result.content[0].text


async def original(client, ref):
    """All of an original, as a model would get it."""
    pieces, offset = [], 0
    while offset is not None:
        pieces.append(await text(client, OURS[0], tool_output_ref=ref, offset=offset, limit=-1))
        assert len(pieces[-1]) <= 19000
        offset = next_offset(pieces[-1])
    return joined(pieces)


async def tools_alone(where, reached):
    for mode, version in (("auto", "2026-07-28"), ("legacy", "2025-11-25")):
        async with Client(reached, mode=mode) as client:
            same(client.protocol_version, version, mode)
            same([tool.name for tool in (await client.list_tools()).tools], OURS, "names")
            assert "No tool result" in await text(client, OURS[2], limit="2")
            result = await client.call_tool(OURS[0], {"ref": "nothing"})
            assert result.is_error and OURS[2] in result.content[0].text
        done(f"toolstub {where} speaks {version}")


async def everything():
    said = []

    async def sample(context, params):
        said.append("sampling")
        return types.CreateMessageResult(role="assistant", model="m",
                                         content=types.TextContent(type="text", text="sampled"))

    async def elicit(context, params):
        said.append("elicitation")
        return types.ElicitResult(action="decline")

    async def roots(context):
        said.append("roots")
        return types.ListRootsResult(roots=[types.Root(uri=f"file://{FILES}")])

    async def log(params):
        said.append("logging")

    async def see(client):
        steps = []

        async def progress(step, total, message):
            steps.append(step)

        tools = [tool.name for tool in (await client.list_tools()).tools]
        await client.call_tool("trigger-long-running-operation", {"duration": 0.4, "steps": 4},
                               progress_callback=progress)
        for tool in ("trigger-sampling-request", "trigger-elicitation-request", "get-roots-list"):
            await client.call_tool(tool, {"prompt": "x"} if "sampling" in tool else {})
        await client.call_tool("toggle-simulated-logging", {})
        counts = [len((await client.list_resources()).resources),
                  len((await client.list_resource_templates()).resource_templates),
                  len((await client.list_prompts()).prompts)]
        same(steps, [1, 2, 3, 4], "progress")
        same(counts, [7, 2, 4], "resources, templates, prompts")
        same(sorted(set(said)), ["elicitation", "logging", "roots", "sampling"], "what the server asked and said")
        return tools

    callbacks = {"sampling_callback": sample, "elicitation_callback": elicit, "list_roots_callback": roots,
                 "logging_callback": log}
    port = free_port()
    with listening([*EVERYTHING, "streamableHttp"], port, PORT=str(port)) as url:
        for where, direct, through in (("streams", server(EVERYTHING), proxied(EVERYTHING, "--threshold", "2000")),
                                       ("HTTP", url, proxied([url], "--threshold", "2000"))):
            said.clear()
            async with Client(direct, mode="legacy", **callbacks) as client:
                tools = await see(client)
            said.clear()
            async with Client(server(through), mode="legacy", **callbacks) as client:
                same(await see(client), tools + OURS, "names")
                long = "é🦀 a long message\n" * 500
                stub = await text(client, "echo", message=long)
                ref = ref_of(stub)
                assert ref in await text(client, OURS[2])
                same(await original(client, ref), f"Echo: {long}", "the echo")
                found = await text(client, OURS[1], ref=ref, query="Echo", contextChars="3")
                assert "offset 0," in found, found
            done(f"everything, {where}: {len(tools)} tools and 3; progress, logging, requests of the server; "
                 "an echo leaves a stub, and is listed, found and read")


async def filesystem():
    path = FILES / "long.txt"
    for mode in ("auto", "legacy"):
        async with Client(server(proxied(FILESYSTEM)), mode=mode) as client:
            result = await client.call_tool("read_text_file", {"path": str(path)})
            stub = result.content[0].text
            assert len(stub) < 2000 and result.structured_content is None
            same(await original(client, ref_of(stub)), path.read_text(encoding="utf-8"), "the file")
            short = await client.call_tool("read_text_file", {"path": str(FILES / "short.txt")})
            same(short.content[0].text, "short é\n", "a short file")
        done(f"filesystem: 280,000 characters leave {len(stub)}, and come back ({mode})")


async def huge():
    """Without the proxy, this client takes over 20 seconds for 20 MB."""
    async def read(command):
        begun = time.monotonic()
        async with Client(server(command)) as client:
            found = await text(client, "read_text_file", path=str(FILES / "huge.txt"))
        return found, time.monotonic() - begun

    stub, taken = await read(proxied(FILESYSTEM))
    assert is_stub(stub) and taken < PATIENCE, taken
    try:
        await asyncio.wait_for(read(FILESYSTEM), PATIENCE)
    except TimeoutError:
        done(f"20 MB are there after {taken:.2f} s; without the proxy they are not after {PATIENCE}")
    else:
        raise AssertionError("without the proxy, 20 MB are there in time")


async def others():
    async with Client(server(proxied(GIT))) as client:
        stub = await text(client, "git_show", repo_path=GIT[-1], revision="HEAD")
        assert is_stub(stub) and len(stub) < 2000 and "pub fn f3999()" in await original(client, ref_of(stub))
    done("git: a commit leaves a stub")

    async with Client(server(proxied(TIME))) as client:
        assert "UTC" in await text(client, "get_current_time", timezone="UTC")
    done("time: an answer passes")

    async with Client(server(proxied(MEMORY))) as client:
        same(json.loads(await text(client, "read_graph")), {"entities": [], "relations": []}, "the graph")
    done("memory: an answer passes")

    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=FILES)
    handler.log_message = lambda *_: None
    pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{pages.server_port}/page.txt"
    async with Client(server(proxied(FETCH))) as client:
        stub = await text(client, "fetch", url=url, max_length=200000)
        assert is_stub(stub) and len(stub) < 2000, stub[:500]
        assert "a line of a page\n" * 7000 in await original(client, ref_of(stub))
    pages.shutdown()
    done("fetch: a page leaves a stub")


async def over_http():
    whole = "".join(f"line {n} é🦀\n" for n in range(5000))
    port = free_port()
    with listening([sys.executable, "server.py", str(port)], port) as url:
        for mode, version in (("auto", "2026-07-28"), ("legacy", "2025-11-25")):
            steps = []

            async def progress(step, total, message):
                steps.append(step)

            async with Client(server(proxied([url])), mode=mode) as client:
                same(client.protocol_version, version, mode)
                names = [tool.name for tool in (await client.list_tools()).tools]
                same(names, ["lines", "rows", "steps"] + OURS, "names")
                result = await client.call_tool("lines", {"count": 5000})
                assert result.structured_content is None
                same(await original(client, ref_of(result.content[0].text)), whole, "the lines")
                result = await client.call_tool("rows", {"count": 9000})
                ref = ref_of(result.content[-1].text)
                same(await text(client, OURS[0], ref=ref, pointer="/rows/8999"), "8999", "a row")
                same((await client.call_tool("steps", {}, progress_callback=progress)).content[0].text, "done", "steps")
                same(steps, [1, 2, 3], "progress")
            done(f"a Python server over HTTP, in {version}")


async def main():
    await tools_alone("mcp", server([*TOOLSTUB, "mcp"]))
    with service() as url:
        await tools_alone("serve", url)
    await everything()
    await filesystem()
    await huge()
    await others()
    await over_http()


asyncio.run(main())
