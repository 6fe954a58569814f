"""Frames as they go over the wire, with the proxy in between and without."""

import json
import os
import signal
import statistics
import subprocess
import time

from common import EVERYTHING, FILES, FILESYSTEM, MEMORY, OURS, TIME, TOOLSTUB, done, is_stub, proxied, same

EARLIER = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "frames", "version": "1"},
           "capabilities": {"sampling": {}, "elicitation": {"form": {}}, "roots": {"listChanged": True}}}


class Wire:
    """A server's standard streams."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.id = 0

    def say(self, frame):
        self.process.stdin.write(json.dumps(frame).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params=None):
        """Asks, and gives all frames up to the answer as they came."""
        self.id += 1
        frame = {"jsonrpc": "2.0", "id": self.id, "method": method}
        if params is not None:
            frame["params"] = params
        self.say(frame)
        frames = []
        while True:
            line = self.process.stdout.readline()
            assert line, f"the stream ended before {method} was answered"
            frames.append(line)
            message = json.loads(line)
            if message.get("method") and "id" in message:
                self.answer(message)
            elif message.get("id") == self.id and "method" not in message:
                return frames

    def result(self, method, params=None):
        answer = json.loads(self.ask(method, params)[-1])
        assert "result" in answer, answer
        return answer["result"]

    def call(self, name, arguments=None, **more):
        return self.result("tools/call", {"name": name, "arguments": arguments or {}, **more})

    def answer(self, request):
        """Plays the client that a server asks back."""
        result = {
            "sampling/createMessage": {"role": "assistant", "model": "m",
                                       "content": {"type": "text", "text": "sampled"}},
            "elicitation/create": {"action": "decline"},
            "roots/list": {"roots": [{"uri": f"file://{FILES}", "name": "files"}]},
        }.get(request["method"], {})
        self.say({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def open(self):
        frames = self.ask("initialize", EARLIER)
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return frames

    def close(self):
        self.process.stdin.close()
        if self.process.args[0] != TOOLSTUB[0]:
            # Some servers do not end with their input; the proxy sees to it itself.
            self.process.terminate()
        self.process.wait(10)


def recorded(command, script):
    """The frames that a script of requests brings."""
    wire = Wire(command)
    frames = {"initialize": wire.open()}
    for method, params in script:
        frames[f"{method} {json.dumps(params)}"] = wire.ask(method, params)
    wire.close()
    return frames


def responses(frames):
    """The answers alone: what a server says without being asked comes when it likes."""
    return [frame for frame in frames if b'"id"' in frame and b'"method"' not in frame]


def transparent(name, command, script):
    direct, through = recorded(command, script), recorded(proxied(command), script)
    for request, frames in direct.items():
        if request.startswith("tools/list"):
            tools, more = (json.loads(each[request][-1])["result"]["tools"] for each in (direct, through))
            same([tool["name"] for tool in more], [tool["name"] for tool in tools] + OURS, request)
            hidden = [{key: value for key, value in tool.items() if key != "outputSchema"} for tool in tools]
            same(more[:len(tools)], hidden, request)
        else:
            same(responses(through[request]), responses(frames), request)
    done(f"{name}: {len(direct)} requests bring the same bytes through the proxy")


def call(tool, **arguments):
    return "tools/call", {"name": tool, "arguments": arguments}


def tasks():
    """A task of 2025-11-25 brings what it brings without the proxy."""
    results = []
    for command in (EVERYTHING, proxied(EVERYTHING)):
        wire = Wire(command)
        wire.open()
        begun = wire.call("simulate-research-query", {"topic": "x"}, task={"ttl": 60000})
        task = begun["task"]["taskId"]
        while wire.result("tasks/get", {"taskId": task})["status"] == "working":
            time.sleep(0.2)
        listed = [each["taskId"] for each in wire.result("tasks/list", {})["tasks"]]
        assert task in listed, listed
        result = wire.result("tasks/result", {"taskId": task})
        # What names the task is new each time.
        results.append(json.dumps(result["content"]).replace(task, "TASK"))
        wire.close()
    same(results[1], results[0], "tasks/result")
    done("everything: a task is begun, looked at, listed and fetched")


def huge():
    """A result of 20 MB passes as a stub, and is there."""
    wire = Wire(proxied(FILESYSTEM))
    wire.open()
    begun = time.monotonic()
    result = wire.call("read_text_file", {"path": str(FILES / "huge.txt")})
    taken = time.monotonic() - begun
    stub = result["content"][0]["text"]
    assert is_stub(stub) and "structuredContent" not in result, str(result)[:500]
    chars = (FILES / "huge.txt").stat().st_size
    assert f"original_chars: {chars}\n" in stub, stub[:500]
    wire.close()
    done(f"filesystem: {chars / 1e6:.1f} MB leave {len(stub)} characters, in {taken:.2f} s")


def overhead():
    """What a small call takes more, each pair of calls one after the other."""
    direct, through = Wire(TIME), Wire(proxied(TIME))
    for wire in (direct, through):
        wire.open()
    times = {direct: [], through: []}
    for _ in range(300):
        for wire in (direct, through):
            begun = time.perf_counter()
            wire.ask("ping")
            times[wire].append(time.perf_counter() - begun)
    medians = {wire: statistics.median(taken) * 1000 for wire, taken in times.items()}
    for wire in (direct, through):
        wire.close()
    more = statistics.median(b - a for a, b in zip(times[direct], times[through])) * 1000
    done(f"time: a ping takes {medians[direct]:.3f} ms, through the proxy {more:.3f} ms more")


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
                             stdout=subprocess.PIPE)
    child = int(proxy.stdout.readline())
    proxy.terminate()
    same(proxy.wait(10), 128 + signal.SIGTERM, "a proxy that is told to stop")
    for _ in range(50):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            break
        time.sleep(0.1)
    else:
        raise AssertionError("the server outlived the proxy")
    done("the program ends with its client, its server, or when it is told to")


ends()
transparent("everything", EVERYTHING, [
    ("ping", None),
    ("tools/list", None),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("prompts/list", {}),
    ("logging/setLevel", {"level": "error"}),
    call("echo", message="é \u2028 🦀"),
    call("get-sum", a=1, b=2.5),
    call("get-tiny-image"),
    call("get-structured-content", location="Chicago"),
    call("get-resource-links", count=3),
    call("get-annotated-message", messageType="error", includeImage=True),
    call("no-such-tool"),
    ("no/such/method", {}),
    ("prompts/get", {"name": "simple-prompt"}),
])
transparent("memory", MEMORY, [
    ("tools/list", {}),
    call("create_entities", entities=[{"name": "a", "entityType": "t", "observations": ["é"]}]),
    call("read_graph"),
    call("delete_entities", entityNames=["a"]),
])
transparent("filesystem", FILESYSTEM, [
    ("tools/list", {}),
    call("read_text_file", path=str(FILES / "short.txt")),
    call("list_directory", path=str(FILES)),
    call("read_text_file", path="/etc/hostname"),
])
transparent("time", TIME, [("tools/list", None), call("convert_time", source_timezone="UTC",
            time="12:00", target_timezone="Europe/Berlin"), ("prompts/list", None)])
tasks()
huge()
overhead()
