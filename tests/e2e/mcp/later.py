"""Clients of the later Python package: both eras of the protocol."""

import asyncio
import contextlib
import functools
import http.server
import json
import os
import socket
import subprocess
import sys
import threading

from mcp import Client, StdioServerParameters, types

from common import (EVERYTHING, FETCH, FILES, FILESYSTEM, GIT, MEMORY, OURS, TIME, TOOLSTUB, done, is_stub,
                    joined, next_offset, proxied, ref_of, same)

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    PORT = free.getsockname()[1]


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


async def tools_alone():
    for mode, version in (("auto", "2026-07-28"), ("legacy", "2025-11-25")):
        async with Client(server([*TOOLSTUB, "mcp"]), mode=mode) as client:
            same(client.protocol_version, version, mode)
            same([tool.name for tool in (await client.list_tools()).tools], OURS, "names")
            assert "No tool result" in await text(client, OURS[2], limit="2")
            result = await client.call_tool(OURS[0], {"ref": "nothing"})
            assert result.is_error and OURS[2] in result.content[0].text
        done(f"toolstub mcp speaks {version}")


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

    async def see(client):
        steps = []

        async def progress(step, total, message):
            steps.append(step)

        tools = [tool.name for tool in (await client.list_tools()).tools]
        await client.call_tool("trigger-long-running-operation", {"duration": 1, "steps": 4},
                               progress_callback=progress)
        for tool in ("trigger-sampling-request", "trigger-elicitation-request", "get-roots-list"):
            if tool in tools:
                await client.call_tool(tool, {"prompt": "x"} if "sampling" in tool else {})
        counts = [len((await client.list_resources()).resources),
                  len((await client.list_resource_templates()).resource_templates),
                  len((await client.list_prompts()).prompts)]
        return tools, steps, counts

    callbacks = {"sampling_callback": sample, "elicitation_callback": elicit, "list_roots_callback": roots}
    seen = []
    for command in (EVERYTHING, proxied(EVERYTHING)):
        said.clear()
        async with Client(server(command), mode="legacy", **callbacks) as client:
            seen.append((*await see(client), sorted(set(said))))
    (tools, *rest), (more, *through) = seen
    same(more, tools + OURS, "names")
    same(through, rest, "progress, counts, requests of the server")
    done(f"everything: {len(tools)} tools and 3, progress {rest[0]}, counts {rest[1]}, {', '.join(rest[2])}")

    async with Client(server(proxied(EVERYTHING, "--threshold", "2000")), mode="legacy") as client:
        long = "é🦀 a long message\n" * 500
        stub = await text(client, "echo", message=long)
        ref = ref_of(stub)
        assert ref in await text(client, OURS[2])
        same(await original(client, ref), f"Echo: {long}", "the echo")
        found = await text(client, OURS[1], ref=ref, query="Echo", contextChars="3")
        assert "offset 0," in found, found
    done("everything: an echo leaves a stub, and is listed, found and read")


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


async def others():
    async with Client(server(proxied(GIT))) as client:
        stub = await text(client, "git_show", repo_path=GIT[-1], revision="HEAD")
        assert is_stub(stub) and "pub fn f3999()" in await original(client, ref_of(stub))
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
        assert is_stub(stub), stub[:500]
        assert "a line of a page\n" * 7000 in await original(client, ref_of(stub))
    pages.shutdown()
    done("fetch: a page leaves a stub")


@contextlib.asynccontextmanager
async def listening(command, **env):
    """A server over HTTP, once it answers at its port."""
    process = subprocess.Popen(command, env={**os.environ, **env}, stderr=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", PORT)).close()
                break
            await asyncio.sleep(0.1)
        yield f"http://127.0.0.1:{PORT}/mcp"
    finally:
        process.terminate()
        process.wait(10)


async def over_http():
    async with listening([*EVERYTHING, "streamableHttp"], PORT=str(PORT)) as url:
        async with Client(url, mode="legacy") as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
        async with Client(server(proxied([url], "--threshold", "2000")), mode="legacy") as client:
            same([tool.name for tool in (await client.list_tools()).tools], tools + OURS, "names")
            long = "é🦀 a long message\n" * 500
            stub = await text(client, "echo", message=long)
            same(await original(client, ref_of(stub)), f"Echo: {long}", "the echo")
        done("everything over HTTP: an echo leaves a stub, and comes back")

    whole = "".join(f"line {n} é🦀\n" for n in range(5000))
    async with listening([sys.executable, "server.py", str(PORT)]) as url:
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
    await tools_alone()
    await everything()
    await filesystem()
    await others()
    await over_http()


asyncio.run(main())
