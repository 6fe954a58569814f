"""A client that says plain frames, and keeps what was said and heard."""

import json
import subprocess
import threading
import time

from common import FILES, OURS

EARLIER = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "frames", "version": "1"},
           "capabilities": {"sampling": {}, "elicitation": {"form": {}}, "roots": {"listChanged": True}}}
LATER = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
         "io.modelcontextprotocol/clientInfo": {"name": "frames", "version": "1"},
         "io.modelcontextprotocol/clientCapabilities": {}}


class Wire:
    """A server's standard streams. In the later era each request says its version."""

    def __init__(self, command, is_modern=False):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.id, self.is_modern = 0, is_modern
        self.said, self.heard, self.is_over = [], [], False
        self.saying, self.hearing = threading.Lock(), threading.Condition()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            with self.hearing:
                self.heard.append(line)
                self.hearing.notify_all()
            if len(line) < 100_000:
                message = json.loads(line)
                if isinstance(message, dict) and "method" in message and "id" in message:
                    self.answer(message)
        with self.hearing:
            self.is_over = True
            self.hearing.notify_all()

    def say(self, frame):
        line = frame if isinstance(frame, bytes) else json.dumps(frame).encode()
        with self.saying:
            self.said.append(line + b"\n")
            self.process.stdin.write(line + b"\n")
            self.process.stdin.flush()

    def begin(self, method, params=None):
        """Asks, and gives the id."""
        self.id += 1
        frame = {"jsonrpc": "2.0", "id": self.id, "method": method}
        if self.is_modern:
            params = {**(params or {}), "_meta": LATER}
        if params is not None:
            frame["params"] = params
        self.say(frame)
        return self.id

    def until(self, found, what, seconds=60):
        """The first frame that is what is looked for."""
        deadline, at = time.monotonic() + seconds, 0
        with self.hearing:
            while True:
                for line in self.heard[at:]:
                    if found(line):
                        return line
                at = len(self.heard)
                assert not self.is_over, f"the stream ended before {what}"
                left = deadline - time.monotonic()
                assert left > 0, f"no {what} in {seconds} seconds"
                self.hearing.wait(left)

    def answer_to(self, id, seconds=60):
        def found(line):
            message = json.loads(line)
            return isinstance(message, dict) and message.get("id") == id and "method" not in message
        return self.until(found, f"answer to {id}", seconds)

    def ask(self, method, params=None):
        return self.answer_to(self.begin(method, params))

    def result(self, method, params=None):
        answer = json.loads(self.ask(method, params))
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
        if self.is_modern:
            return self.ask("server/discover")
        answer = self.ask("initialize", EARLIER)
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def close(self, seconds=20):
        """Ends the client's side, hears all, and gives the code that the other ended with."""
        self.process.stdin.close()
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            # Some servers do not end with their input; the proxy sees to it itself.
            self.process.terminate()
            self.process.wait(10)
            code = None
        with self.hearing:
            assert self.hearing.wait_for(lambda: self.is_over, 10), "somebody holds the stream open"
        return code

    def whole(self, ref):
        """All of an original, as a model would get it."""
        pieces, offset = [], 0
        while offset is not None:
            result = self.call(OURS[0], {"ref": ref, "offset": offset, "limit": -1})
            text = result["content"][0]["text"]
            piece, mark, last = text.rpartition("\n[next_offset: ")
            pieces.append(piece if mark else text)
            offset = int(last.split()[0]) if mark else None
        return "".join(pieces)
