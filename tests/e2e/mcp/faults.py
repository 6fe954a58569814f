"""Servers that fail, and such as few are: by standard streams and over HTTP, in both eras."""

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

from common import OURS, TOOLSTUB, done, fake, fake_over_http, is_stub, proxied, ref_of, same
from fake import text
from wire import Wire

LOGS = Path("logs").resolve()
KINDS = ["streams, earlier", "streams, later", "HTTP, earlier", "HTTP, later"]


@contextlib.contextmanager
def proxy(kind, log, *options):
    """A client of the proxy in front of the server."""
    is_modern = kind.endswith("later")
    with contextlib.ExitStack() as stack:
        if kind.startswith("HTTP"):
            upstream = [stack.enter_context(fake_over_http(log, *options))]
        else:
            upstream = fake(*options, log=log)
        wire = Wire(proxied(upstream), is_modern)
        try:
            yield wire
        finally:
            wire.process.kill()
            wire.process.wait()


def names(page):
    return [tool["name"] for tool in page["tools"]]


def call(wire, tool, **arguments):
    return wire.begin("tools/call", {"name": tool, "arguments": arguments})


def pages(wire, log):
    wire.open()
    for _ in range(2):
        same(names(wire.result("tools/list")), ["odd", "mixed", *OURS], "the first page")
        same(names(wire.result("tools/list", {"cursor": "2"})), ["rows"], "the second page")
        same(names(wire.result("tools/list", {"cursor": "3"})), [], "the last page")
        # It says that its list has changed.
        call(wire, "notes")
        wire.until(lambda frame: b"notifications/tools/list_changed" in frame, "news")
    assert wire.result("tools/list", {"cursor": "2"})["x-vendor"] == [1.1]


def error(wire, log):
    wire.open()
    result = wire.call("error")
    assert result["isError"] is True, result
    stub = result["content"][0]["text"]
    assert is_stub(stub) and len(json.dumps(result)) < 3000, result
    same(wire.whole(ref_of(stub)), text(30000), "the error")


def batch(wire, log):
    if wire.is_modern:
        return
    wire.open()
    asked = [{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": {}}}
             for id, name in (("a", "odd"), ("b", "mixed"), ("c", OURS[2]))]
    wire.say([*asked, {"jsonrpc": "2.0", "id": "d", "method": "ping"}])

    def answers():
        frames = [json.loads(frame) for frame in wire.heard]
        flat = (each for frame in frames for each in (frame if isinstance(frame, list) else [frame]))
        return {each.get("id"): each for each in flat}

    wire.until(lambda _: {"a", "b", "c", "d"} <= answers().keys(), "the batch")
    found = {id: answers()[id]["result"] for id in "abcd"}
    assert any(is_stub(block.get("text", "")) for block in found["b"]["content"]), found["b"]
    assert found["a"]["x-vendor"] and found["d"] == {"x": 1.1}, found
    assert "isError" not in found["c"] or not found["c"]["isError"], found["c"]


def dies(wire, log):
    wire.open()
    answer = json.loads(wire.answer_to(call(wire, "die"), 30))
    assert answer["error"]["code"] == -32000 and answer["error"]["message"], answer
    if Path(f"{log}.headers").exists():
        assert wire.call("odd")["content"], "a server over HTTP goes on"
    else:
        same(wire.close(), 9, "the server's code")


def called_off(wire, log):
    wire.open()
    id = call(wire, "wait")
    time.sleep(0.3)
    wire.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "é"}})
    is_dropped = wire.is_modern and Path(f"{log}.headers").exists()
    for _ in range(100):
        # Over HTTP the later era has no word for it: the response is dropped.
        file = Path(f"{log}.{'dropped' if is_dropped else 'in'}")
        if file.exists() and (is_dropped or wire.said[-1] in file.read_bytes()):
            break
        time.sleep(0.05)
    else:
        raise AssertionError("the server was not told")
    assert wire.call("odd")["content"]
    assert not any(json.loads(frame).get("id") == id for frame in wire.heard), "an answer to what was called off"


def toolless(wire, log):
    opened = json.loads(wire.open())["result"]
    same(opened["capabilities"], {"x-vendor": {}, "tools": {}}, "capabilities")
    assert opened["x"] == 1.1 and b'"x":1.10' in wire.heard[0]
    listed = wire.result("tools/list")
    same(names(listed), OURS, "tools")
    if wire.is_modern:
        assert listed["resultType"] == "complete" and "ttlMs" in listed, listed
    assert "No tool result" in wire.call(OURS[2])["content"][0]["text"]


def deaf():
    """A server that does not end with its input is ended, and the proxy with it."""
    file = LOGS / "deaf.pid"
    wire = Wire(proxied(["sh", "-c", 'echo $$ > "$1"; shift; exec "$@"', "deaf", str(file), *fake("deaf")]))
    wire.open()
    begun = time.monotonic()
    assert wire.close(15) is not None, "the proxy waits for ever"
    taken = time.monotonic() - begun
    assert 2 < taken < 10, taken
    gone(int(file.read_text()))
    done(f"a server that ignores the end of its input is ended after {taken:.1f} s")


def gone(process):
    for _ in range(50):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError("the server outlived the proxy")


def ends():
    """How the program ends, and what ends with it."""
    def code(command, **more):
        return subprocess.run(command, timeout=20, **more).returncode

    same(code([*TOOLSTUB, "mcp"], stdin=subprocess.DEVNULL), 0, "a client that says nothing")
    with subprocess.Popen(["sleep", "20"], stdout=subprocess.PIPE) as silent:
        for words in (["--"], []):
            command = [*TOOLSTUB, "proxy", *words, "sh", "-c", "exit 7"]
            same(code(command, stdin=silent.stdout), 7, "a server that ends first")
        silent.kill()
    proxy = subprocess.Popen(proxied(["sh", "-c", "echo $$; sleep 100"]), stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    child = int(proxy.stdout.readline())
    proxy.terminate()
    same(proxy.wait(10), 128 + signal.SIGTERM, "a proxy that is told to stop")
    gone(child)
    done("the program ends with its client, its server, or when it is told to")


ends()
deaf()
for nth, kind in enumerate(KINDS):
    for step in (pages, error, batch, dies, called_off, toolless):
        log = LOGS / f"faults-{nth}-{step.__name__}"
        with proxy(kind, log, *(["toolless"] if step is toolless else [])) as wire:
            step(wire, log)
    done(f"{kind}: pages, errors, batches, a death, what is called off, no tools")
