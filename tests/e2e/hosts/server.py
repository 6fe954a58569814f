"""A small server of the Model Context Protocol, with one tool that returns text."""

import json
import sys

from lines import lines

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}, "count": {"type": "integer"}}, "required": ["name", "count"]}


def answer(method, params):
    if method == "initialize":
        server = {"name": "lines", "version": "1.0.0"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        # Codex runs what only reads without asking.
        hints = {"readOnlyHint": True}
        return {"tools": [{"name": "lines", "description": "Lines of text.", "inputSchema": SCHEMA, "annotations": hints}]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": lines(params["arguments"]["name"], params["arguments"]["count"])}]}
    return {} if method == "ping" else None


for frame in sys.stdin:
    request = json.loads(frame)
    if "id" not in request or "method" not in request:
        continue
    result = answer(request["method"], request.get("params", {}))
    reply = {"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)
