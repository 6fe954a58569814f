"""A client of the earlier Python package."""

import asyncio

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from common import (FILES, FILESYSTEM, OURS, SQLITE, TOOLSTUB, done, is_stub, joined, next_offset, proxied, ref_of, same,
                    service)


async def run(command, work):
    parameters = StdioServerParameters(command=command[0], args=command[1:])
    async with stdio_client(parameters) as streams, ClientSession(*streams) as client:
        await client.initialize()
        return await work(client)


async def over_http(url, work):
    async with streamable_http_client(url) as (read, write, _), ClientSession(read, write) as client:
        await client.initialize()
        return await work(client)


async def text(client, name, **arguments):
    result = await client.call_tool(name, arguments)
    return result.content[0].text


async def original(client, ref):
    pieces, offset = [], 0
    while offset is not None:
        pieces.append(await text(client, OURS[0], tool_output_ref=ref, offset=offset, limit=-1))
        offset = next_offset(pieces[-1])
    return joined(pieces)


async def tools_alone(client):
    same([tool.name for tool in (await client.list_tools()).tools], OURS, "names")
    assert "No tool result" in await text(client, OURS[2], limit="2", session="nobody")
    done("the tools alone answer the earlier client")


async def filesystem(client):
    # Once the tools are listed, the client checks results against their schemas.
    await client.list_tools()
    stub = await text(client, "read_text_file", path=str(FILES / "long.txt"))
    assert len(stub) < 2000, stub
    same(await original(client, ref_of(stub)), (FILES / "long.txt").read_text(encoding="utf-8"), "the file")
    stub = await text(client, "read_text_file", path=str(FILES / "huge.txt"))
    assert is_stub(stub)
    done("filesystem: long files leave stubs, and come back")


async def sqlite(client):
    await client.list_tools()
    stub = await text(client, "read_query", query="select * from t")
    assert len(stub) < 2000, stub
    assert "'name 1999'" in await original(client, ref_of(stub))
    done("sqlite: rows leave a stub, and come back")


async def main():
    await run([*TOOLSTUB, "mcp"], tools_alone)
    with service() as url:
        await over_http(url, tools_alone)
    await run(proxied(FILESYSTEM), filesystem)
    await run(proxied(SQLITE), sqlite)


asyncio.run(main())
