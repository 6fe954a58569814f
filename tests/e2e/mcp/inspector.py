"""The inspector's command line, which checks what a server offers strictly, and the conformance tests."""

import functools
import http.server
import json
import subprocess
import threading

from common import FETCH, FILES, FILESYSTEM, GIT, MEMORY, OURS, SQLITE, TIME, TOOLSTUB, done, is_stub, ref_of, service


def inspect(*words, code=0):
    command = ["node_modules/.bin/mcp-inspector", "--cli", *words]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.returncode == code, (run.returncode, run.stdout[-2000:], run.stderr[-2000:])
    return run


def called(words, tool, code=0, **arguments):
    given = [word for name, value in arguments.items() for word in ("--tool-arg", f"{name}={value}")]
    run = inspect(*words, "--method", "tools/call", "--tool-name", tool, *given, code=code)
    return json.loads(run.stdout)["content"][0]["text"]


strict = inspect(*TOOLSTUB, "mcp", "--method", "tools/list", "--strict")
assert "warning" not in (strict.stdout + strict.stderr).lower(), strict.stderr
assert [tool["name"] for tool in json.loads(strict.stdout)["tools"]] == OURS
done("the list of tools has no error and no warning")

# The inspector takes a `--` for its own.
stub = called([*TOOLSTUB, "proxy", *FILESYSTEM], "read_text_file", path=FILES / "long.txt")
ref = ref_of(stub)
mcp = [*TOOLSTUB, "mcp"]
assert "toolstub://session/" in called(mcp, OURS[2], session=ref)
assert called(mcp, OURS[0], tool_output_ref=ref, offset="0", limit="2") == "é \n[next_offset: 2 of 280000]"
found = called(mcp, OURS[1], tool_output_ref=ref, query="quotes", limit=2)
assert found.startswith('2 matches for "quotes"'), found
assert "not found" in called(mcp, OURS[0], tool_output_ref="tr_nothing", code=5)
done("what a proxy stored is listed, read and found through another server")

handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=FILES)
pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
threading.Thread(target=pages.serve_forever, daemon=True).start()
page = f"http://127.0.0.1:{pages.server_port}/page.txt"
for server, tool, arguments in (
    (GIT, "git_show", {"repo_path": GIT[-1], "revision": "HEAD"}),
    (SQLITE, "read_query", {"query": "select * from t"}),
    (FETCH, "fetch", {"url": page, "max_length": 100000}),
):
    stub = called([*TOOLSTUB, "proxy", *server], tool, **arguments)
    assert is_stub(stub) and len(stub) < 2000, stub
for server, tool, arguments in ((TIME, "get_current_time", {"timezone": "UTC"}), (MEMORY, "read_graph", {})):
    assert isinstance(json.loads(called([*TOOLSTUB, "proxy", *server], tool, **arguments)), dict)
done("git, sqlite and fetch leave stubs; what time and memory say is short")

# The tools over HTTP, as the service offers them.
with service() as url:
    http = [url, "--transport", "http"]
    listed = inspect(*http, "--method", "tools/list", "--strict")
    assert [tool["name"] for tool in json.loads(listed.stdout)["tools"]] == OURS
    assert called(http, OURS[0], tool_output_ref=ref, limit=1) == "é\n[next_offset: 1 of 280000]"
    for scenario in ("server-initialize", "ping", "tools-list", "dns-rebinding-protection"):
        command = ["node", "node_modules/@modelcontextprotocol/conformance/dist/index.js", "server",
                   "--url", url, "--scenario", scenario]
        run = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert run.returncode == 0, (scenario, run.stdout[-2000:], run.stderr[-2000:])
    done("the service offers the tools over HTTP, and conforms")
