"""Every frame in both directions, on this side of the proxy and on the other: the same bytes."""

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from common import (EVERYTHING, FILES, FILESYSTEM, MEMORY, OURS, TIME, TOOLSTUB, done, fake, fake_over_http, is_stub,
                    proxied, ref_of, same)
from fake import NOTES, REQUESTS, text
from wire import LATER, Wire

# What passes between the proxy and a program is kept, in both directions.
TAPPED = ["sh", "-c", 'log=$1; shift; tee "$log.in" | "$@" | tee "$log.out"', "tapped"]
LOGS = Path("logs").resolve()


def dumps(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def messages(frame):
    message = json.loads(frame)
    return message if isinstance(message, list) else [message]


def is_ours(message):
    return message.get("method") == "tools/call" and message["params"]["name"] in OURS


def hidden(frame):
    """A page of tools without output schemas, which follow another field and are written tightly."""
    for tool in json.loads(frame)["result"]["tools"]:
        if "outputSchema" in tool:
            schema = b',"outputSchema":' + dumps(tool["outputSchema"])
            assert schema in frame, frame
            frame = frame.replace(schema, b"", 1)
    return frame


def same_list(through, sent, is_first, definitions):
    """A page of tools is what was sent, with ours behind the last where it is the first."""
    rest = hidden(sent)
    if not is_first:
        return same(through, rest, "a later page")
    more = len(through) - len(rest)
    at = len(os.path.commonprefix([through, rest]))
    same(through[:at] + through[at + more:], rest, "a first page")
    same(json.loads(b"[" + through[at:at + more].lstrip(b",") + b"]"), definitions, "our definitions")


def compare(wire, log, definitions, in_order=True):
    """What one side said is what the other heard, but for what the documentation names. Gives the methods seen."""
    ours, methods, lists, seen = set(), {}, {}, set()
    said = []
    for frame in wire.said:
        for message in messages(frame):
            if is_ours(message):
                ours.add(message["id"])
            elif "method" in message:
                seen.add(message["method"])
                if message["method"] == "tools/list":
                    lists[message["id"]] = "cursor" not in message.get("params", {})
        if not any(map(is_ours, messages(frame))):
            said.append(frame)
    heard = [frame for frame in wire.heard
             if not ("method" not in messages(frame)[0] and messages(frame)[0]["id"] in ours)]
    got, sent = (Path(f"{log}.{way}").read_bytes().splitlines(keepends=True) for way in ("in", "out"))
    if not in_order:
        said, got = sorted(said), sorted(got)
        # What is changed of a frame is not among the first.
        heard, sent = (sorted(frames, key=lambda frame: frame[:120]) for frames in (heard, sent))
    same(got, said, "what the client said")
    same(len(heard), len(sent), f"frames of the server: {heard} {sent}")
    for through, original in zip(heard, sent):
        message = messages(original)[0]
        seen.add(message.get("method"))
        if "method" not in message and message["id"] in lists and "result" in message:
            same_list(through, original, lists[message["id"]], definitions)
        else:
            same(through, original, "what the server said")
    return seen


def our_definitions(is_modern):
    wire = Wire([*TOOLSTUB, "mcp"], is_modern)
    wire.open()
    tools = wire.result("tools/list")["tools"]
    wire.close()
    same([tool["name"] for tool in tools], OURS, "names")
    return tools


def work(wire, script):
    answers = [wire.open()]
    for step in script:
        answers.append(step(wire) if callable(step) else wire.ask(*step))
    return answers


def transparent(name, command, script, wanted=(), is_modern=False):
    """The script's frames pass, and its answers are those that it brings without the proxy."""
    log = LOGS / name
    wires = Wire(command, is_modern), Wire(proxied([*TAPPED, str(log), *command]), is_modern)
    with ThreadPoolExecutor() as pool:
        direct, through = pool.map(lambda wire: work(wire, script), wires)
        list(pool.map(Wire.close, wires, [0.1, 20]))
    seen = compare(wires[1], log, our_definitions(is_modern))
    for asked, left, right in zip([("initialize",), *script], direct, through):
        if not callable(asked) and asked[0] != "tools/list":
            same(right, left, f"{name}: {asked}")
    assert seen.issuperset(wanted), f"{name}: not seen {set(wanted) - seen}"
    done(f"{name}: {len(wires[1].said)} and {len(wires[1].heard)} frames are the same bytes on both sides of the proxy")


def call(tool, **arguments):
    return "tools/call", {"name": tool, "arguments": arguments}


def told(method):
    return lambda wire: wire.until(lambda frame: json.loads(frame).get("method") == method, method)


def says(frame):
    """A frame as it is written here; where it asks, its answer is waited for."""
    message = json.loads(frame)
    def step(wire):
        wire.say(frame.encode())
        return wire.answer_to(message["id"]) if "id" in message else None
    return step


def called_off(wire):
    id = wire.begin(*call("trigger-long-running-operation", duration=30, steps=30))
    wire.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "é"}})
    return wire.ask("ping")


def progress(wire):
    wire.ask("tools/call", {"name": "trigger-long-running-operation", "arguments": {"duration": 0.4, "steps": 4},
                            "_meta": {"progressToken": "é"}})
    steps = [json.loads(frame)["params"]["progress"] for frame in wire.heard if b"notifications/progress" in frame]
    same(steps, [1, 2, 3, 4], "progress")


def task(wire):
    """A task of 2025-11-25 is begun, looked at, listed and fetched."""
    begun = wire.call("simulate-research-query", {"topic": "x"}, task={"ttl": 60000})["task"]["taskId"]
    while wire.result("tasks/get", {"taskId": begun})["status"] == "working":
        time.sleep(0.2)
    assert begun in [each["taskId"] for each in wire.result("tasks/list", {})["tasks"]]
    result = wire.result("tasks/result", {"taskId": begun})
    assert "# Research Report" in result["content"][0]["text"], result
    # What names the task is new each time.
    tasks.append(json.dumps(result).replace(begun, "TASK"))


REQUEST = r'''{ "id":"\u00e9-1" ,"x-vendor":{"b":1.10,"a":123456789012345678901234567890}, "params":{"x":[1E400,-0.0],
"arguments":{"z":1.10,"a":"\/"},"name":"odd"},"method":"tools/call","jsonrpc":"2.0" }'''.replace("\n", "")
STRANGE = [
    says(REQUEST), says(REQUEST.replace(r'"\u00e9-1"', "12345678901234567890")), call("odd"), call("notes"),
    says('{"method":"x-vendor/note","params":{"n":1.10},"jsonrpc":"2.0"}'), ("no/such/method", {"x": 1.1}), ("ping", {}),
    ("tools/list", {}), ("tools/list", {"cursor": "2"}), ("tools/list", {"cursor": "3"}), call("asks"), call("nothing"),
]
LATER_STRANGE = [says(REQUEST.replace('"params":{', '"params":{"_meta":%s,' % json.dumps(LATER))),
                 *(step for step in STRANGE if not callable(step))]
NOTED = {json.loads(frame)["method"] for frame in NOTES}
ASKED = {json.loads(frame)["method"] for frame in REQUESTS}


def same_headers(message, headers, is_modern):
    """What the headers say of a message over HTTP."""
    headers = {name.lower(): value for name, value in headers.items()}
    version, method = (headers.get(name) for name in ("mcp-protocol-version", "mcp-method"))
    if is_modern:
        same((version, method), ("2026-07-28", message["method"]), "headers")
        same(headers.get("mcp-name"), message["params"].get("name"), "the header of a name")
    elif message.get("method") != "initialize":
        same((version, method, headers.get("mcp-session-id")), ("2025-11-25", None, "s1"), "headers")


def over_http(is_modern):
    """The same frames, where the server is at a URL."""
    era = "later" if is_modern else "earlier"
    log = LOGS / f"http-{era}"
    with fake_over_http(log) as url:
        wire = Wire(proxied([url]), is_modern)
        work(wire, LATER_STRANGE if is_modern else STRANGE)
        if not is_modern:
            told("notifications/resources/updated")(wire)
        same(wire.close(), 0, "the code")
        seen = compare(wire, log, our_definitions(is_modern), in_order=False)
    assert seen.issuperset(NOTED if is_modern else NOTED | ASKED), seen
    assert b"by:itself" in b"".join(wire.heard) or is_modern
    for line in Path(f"{log}.headers").read_text().splitlines():
        same_headers(*json.loads(line), is_modern)
    if not is_modern:
        assert Path(f"{log}.ended").exists(), "the session was not ended"
    done(f"a server over HTTP of the {era} era: {len(wire.said)} and {len(wire.heard)} frames are the same bytes")


def rewritten():
    """What is changed of a frame, and that all else of it stays as it was."""
    long = dumps(text(30000))
    structured = b'"structuredContent":{"text":%s,"n":1.10}'
    wanted = {
        ("mixed",): lambda sent, stubs: sent.replace(long, stubs[0]),
        ("error",): lambda sent, stubs: sent.replace(dumps(text(30000)), stubs[0]),
        ("rows",): lambda sent, stubs: sent.replace(b"," + structured % long, b"").replace(
            long + b"}", stubs[0] + b'},{"type":"text","text":' + stubs[1] + b"}"),
        ("rows", "--structured", "keep"): lambda sent, stubs: sent.replace(long, stubs[0], 1),
        ("rows", "--structured", "shrink"): lambda sent, stubs: sent.replace(long, stubs[0]),
    }
    for nth, ((tool, *options), expect) in enumerate(wanted.items()):
        log = LOGS / f"changed-{nth}"
        wire = Wire(proxied([*TAPPED, str(log), *fake()], *options))
        wire.open()
        came = wire.ask(*call(tool))
        sent = Path(f"{log}.out").read_bytes().splitlines(keepends=True)[-1]
        stubs = [block["text"] for block in json.loads(came)["result"]["content"] if is_stub(block.get("text", ""))]
        same(came, expect(sent, [dumps(stub) for stub in stubs]), f"{tool} {options}")
        same(wire.whole(ref_of(stubs[0])), text(30000), "the original")
        if len(stubs) == 2:
            same(wire.whole(ref_of(stubs[1])).encode(), b'{"text":%s,"n":1.10}' % long, "the structured original")
        same(wire.close(), 0, "the code")
    done("frames that are changed: all but the text stays as it was, and comes back")


if __name__ == "__main__":
    tasks = []
    transparent("everything", EVERYTHING, [
        ("ping",), ("tools/list",), ("resources/list", {}), ("resources/templates/list", {}), ("prompts/list", {}),
        ("logging/setLevel", {"level": "debug"}),
        call("echo", message="é \u2028 🦀"), call("get-sum", a=1, b=2.5), call("get-tiny-image"),
        call("get-structured-content", location="Chicago"), call("get-resource-links", count=3),
        call("get-annotated-message", messageType="error", includeImage=True),
        call("no-such-tool"), ("no/such/method", {}), ("prompts/get", {"name": "simple-prompt"}),
        call("trigger-sampling-request", prompt="x"), call("trigger-elicitation-request"), call("get-roots-list"),
        ("resources/subscribe", {"uri": "demo://resource/dynamic/text/1"}), told("notifications/message"),
        call("toggle-subscriber-updates"), told("notifications/resources/updated"), call("toggle-subscriber-updates"),
        called_off, progress, task,
    ], ["sampling/createMessage", "elicitation/create", "roots/list", "notifications/message", "notifications/progress",
        "notifications/resources/updated", "notifications/cancelled", "tasks/get", "tasks/list", "tasks/result"])
    same(len(tasks), 2, "tasks")
    same(tasks[0], tasks[1], "tasks/result")
    transparent("memory", MEMORY, [
        ("tools/list", {}),
        call("create_entities", entities=[{"name": "a", "entityType": "t", "observations": ["é"]}]),
        call("read_graph"), call("delete_entities", entityNames=["a"]),
    ])
    transparent("filesystem", FILESYSTEM, [
        ("tools/list", {}), call("read_text_file", path=str(FILES / "short.txt")),
        call("list_directory", path=str(FILES)), call("read_text_file", path="/etc/hostname"),
    ], ["roots/list"])
    transparent("time", TIME, [("tools/list",), ("prompts/list",), call(
        "convert_time", source_timezone="UTC", time="12:00", target_timezone="Europe/Berlin")])
    transparent("a strange server", fake(), STRANGE, NOTED | ASKED)
    transparent("a strange server of the later era", fake(), LATER_STRANGE, NOTED, is_modern=True)
    over_http(is_modern=False)
    over_http(is_modern=True)
    rewritten()
