"""A server that does what few servers do: over standard streams, or over HTTP in either era.

    fake.py LOG [stdio | http PORT] [toolless] [deaf]

It keeps what it heard in LOG.in, a frame a line; over HTTP what it said too, in LOG.out, and the headers of
each message. `-` keeps nothing.
"""

import contextlib
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOOLLESS, DEAF = "toolless" in sys.argv, "deaf" in sys.argv

# Numbers, escapes, orders, spaces and names that a parser would not bring back.
ODD = r'''{ "content":[{"type":"text","text":"\u00e9 \/ \ud83e\udd80", "x-vendor" : 1.10},{"z":1,"type":"x-unknown","a":[1E400,-0.0]}
],"structuredContent":{"b":123456789012345678901234567890,"a":1.10}, "_meta":{"é/x":0.10},"x-vendor":{"b":1,"a":2}, "isError":false}'''
ODD = ODD.replace("\n", "")
PAGES = [
    r'''{"tools":[{"name":"odd","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"x-vendor":1.10 },'''
    r'''{ "description":"\u00e9","name":"mixed","inputSchema":{"type":"object","maximum":1e3}}], "nextCursor":"2","x-big":12345678901234567890123}''',
    r'''{"tools":[{"name":"rows","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}],"nextCursor":"3", "x-vendor":[1.10]}''',
    r'''{"tools": [ ] , "x-vendor":1.10}''',
]
LINE = 'a line of "text" with é and 🦀\n'
# Said without being asked while a call is under way.
NOTES = [
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1.10,"total":3}}',
    '{"method":"notifications/message", "params":{"data":{"b":1.10,"a":[12345678901234567890123]},"level":"info"},"jsonrpc":"2.0"}',
    '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}',
    '{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{}}',
    '{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}',
    r'{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:\/\/\/\u00e9"}}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":999,"reason":"é"}}',
    '{"jsonrpc":"2.0","method":"x-vendor/said","params":[1.10],"x":-0.0}',
]
# Their ids are those that the client uses too: each side counts its own.
REQUESTS = [
    '{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"maxTokens":1e2,"messages":[],"x":1.10}}',
    r'{"jsonrpc":"2.0", "id":"\u00e9","method":"elicitation/create","params":{"message":"m","requestedSchema":{}}}',
    '{"jsonrpc":"2.0","id":2,"method":"roots/list"}',
]
keeping = threading.Lock()
answered = threading.Condition()
answers = []


def keep(what, line):
    if sys.argv[1] != "-":
        with keeping, open(f"{sys.argv[1]}.{what}", "ab") as log:
            log.write(line + b"\n")


def text(length, line=LINE):
    return (line * (length // len(line) + 1))[:length]


def written(length, line=LINE):
    """The same text as JSON, made fast."""
    whole, rest = divmod(length, len(line))
    line, rest = (json.dumps(part, ensure_ascii=False)[1:-1] for part in (line, line[:rest]))
    return '"' + line * whole + rest + '"'


def mixed(long):
    """A long text among blocks that are none of the proxy's business."""
    before = '{"content":[{"type":"image","data":"' + "A" * 30000 + '","mimeType":"image/png"},' \
             '{"annotations":{"priority":0.10},"type":"text", "text":'
    after = ',"_meta":{"x":1.10}},{"type":"x-unknown","text":"' + "u" * 30000 + '"},' \
            '{"type":"audio","data":"QUFB","mimeType":"audio/wav"},{"type":"resource_link","uri":"a:b","name":"n"},' \
            '{"type":"resource","resource":{"uri":"a:b","blob":"' + "B" * 30000 + '"}}],' \
            ' "x-vendor":{"b":12345678901234567890123,"a":1.10},"isError":true}'
    return before + long + after


def result(method, params, is_modern):
    """The result of what is answered at once, as JSON; None where it is not known."""
    if method == "initialize" or method == "server/discover":
        tools = "" if TOOLLESS else '"tools":{"listChanged":true},'
        version = '"supportedVersions":["2026-07-28"]' if is_modern else '"protocolVersion":"2025-11-25"'
        return '{"x":1.10,"capabilities":{%s"x-vendor":{}},"serverInfo":{"name":"fake","version":"1"},%s}' % (tools, version)
    if method == "tools/list" and not TOOLLESS:
        return PAGES[int(params.get("cursor", 1)) - 1]
    if method != "tools/call":
        return '{"x":1.10}' if method == "ping" else None
    tool, arguments = params["name"], params.get("arguments") or {}
    if tool == "echo":
        return json.dumps({"content": [{"type": "text", "text": arguments["text"]}]})
    long = written(arguments.get("length", 30000), arguments.get("line", LINE))
    if tool == "odd":
        return ODD
    if tool == "mixed":
        return mixed(long)
    if tool == "error":
        return '{"isError":true,"content":[{"type":"text","text":%s}]}' % long
    if tool == "rows":
        return '{"content":[{"type":"text","text":%s}],"structuredContent":{"text":%s,"n":1.10}, "x":1.10}' % (long, long)
    if tool == "asks":
        return '{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create"}},"x":"%s"}' % ("x" * 30000)
    return None


def handle(message, say, is_gone):
    """Answers one message; what is a batch is taken apart before."""
    method, id = message.get("method"), message.get("id")
    if method is None:
        with answered:
            answers.append(message)
            answered.notify_all()
        return
    if id is None:
        return
    params = message.get("params") or {}
    tool = params.get("name") if method == "tools/call" else None
    is_modern = "io.modelcontextprotocol/protocolVersion" in params.get("_meta", {})
    if tool == "die":
        raise SystemExit
    if tool == "wait":
        while not is_gone():
            time.sleep(0.05)
        return
    if tool == "notes":
        for frame in NOTES:
            say(frame)
        if not is_modern:
            for frame in REQUESTS:
                say(frame)
            with answered:
                assert answered.wait_for(lambda: len(answers) >= len(REQUESTS), 20)
    found = ODD if tool == "notes" else result(method, params, is_modern)
    raw_id = json.dumps(id, ensure_ascii=False)
    if found is None:
        say('{"jsonrpc":"2.0", "id":%s,"error":{"code":-32601,"message":"no such method","data":1.10}}' % raw_id)
    else:
        say('{"id":%s,"result":%s, "jsonrpc":"2.0"}' % (raw_id, found))


def batch(messages):
    """The answers to an array of requests, in one frame."""
    said = []
    for message in messages:
        handle(message, said.append, lambda: True)
    return "[" + ", ".join(said) + "]"


def stdio():
    lock = threading.Lock()

    def say(frame):
        with lock:
            sys.stdout.buffer.write(frame.encode() + b"\n")
            sys.stdout.buffer.flush()

    def later(message):
        try:
            handle(message, say, lambda: False)
        except SystemExit:
            os._exit(9)

    for line in sys.stdin.buffer:
        keep("in", line.rstrip(b"\n"))
        message = json.loads(line)
        if isinstance(message, list):
            say(batch(message))
        elif message.get("params", {}).get("name") in ("notes", "wait", "die"):
            threading.Thread(target=later, args=[message], daemon=True).start()
        else:
            handle(message, say, lambda: False)
    while DEAF:
        time.sleep(1)


class Http(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def respond(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, frame):
        keep("out", frame.encode())
        self.wfile.write(b"data: " + frame.encode() + b"\n\n")

    def is_gone(self):
        """Whether the client has dropped the response."""
        try:
            self.wfile.write(b":\n\n")
        except OSError:
            keep("dropped", b"dropped")
            return True
        return False

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        keep("in", body)
        message = json.loads(body)
        keep("headers", json.dumps([message, dict(self.headers)]).encode())
        if isinstance(message, dict) and message.get("method") == "tools/call":
            self.stream()
            try:
                with contextlib.suppress(OSError):
                    handle(message, self.event, self.is_gone)
            except SystemExit:
                self.wfile.write(b'data: {"jsonrpc":"2.0","id":')
            return
        said = [batch(message)] if isinstance(message, list) else []
        if not said:
            handle(message, said.append, lambda: True)
        if not said:
            return self.respond(202)
        keep("out", said[0].encode())
        begins = isinstance(message, dict) and message.get("method") == "initialize"
        session = {"Mcp_Session_Id": "s1"} if begins else {}
        self.respond(200, said[0].encode(), Content_Type="application/json", **session)

    def do_GET(self):
        if "Last-Event-ID" in self.headers:
            return self.respond(405)
        self.stream()
        with contextlib.suppress(OSError):
            self.event('{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"by:itself","x":1.10}}')
            while not self.is_gone():
                time.sleep(0.1)

    def do_DELETE(self):
        keep("ended", b"ended")
        self.respond(200)


if __name__ == "__main__":
    if sys.argv[2] == "stdio":
        stdio()
    else:
        server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[3])), Http)
        server.daemon_threads = True
        server.serve_forever()
