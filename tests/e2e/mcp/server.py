"""A server of the later Python package over HTTP, which speaks both eras."""

import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("lines")


@server.tool()
def lines(count: int) -> str:
    """Lines of text."""
    return "".join(f"line {n} é🦀\n" for n in range(count))


@server.tool()
def rows(count: int) -> dict[str, list[int]]:
    """Numbers, as structured content."""
    return {"rows": list(range(count))}


@server.tool()
async def steps(context: Context) -> str:
    """Says how far it is."""
    for step in range(3):
        await context.report_progress(step + 1, 3)
    return "done"


server.run("streamable-http", port=int(sys.argv[1]))
