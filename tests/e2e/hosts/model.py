"""A model that follows a script, in the four protocols that the hosts speak.

A script is a generator: it yields the calls of a turn, and is sent their results. Each request holds
the whole conversation, so each is answered by going through the script from its start.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Call(NamedTuple):
    tool: str
    arguments: dict


class Result(NamedTuple):
    """What entered the context for one call: its text, and whether it is marked as an error."""

    text: str
    failed: bool
    raw: Any


class Model:
    """Answers on loopback, at `url`, until the program ends."""

    def __init__(self):
        model = self
        self.lock = threading.Lock()
        self.play(None)

        class Handler(Exchange):
            pass

        Handler.model = model
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def play(self, script):
        """What the next run of a host follows. What a resumed conversation holds already is not answered again."""
        self.script = script
        self.before = None
        self.earlier, self.entered = [], []
        self.is_done = False
        self.fault = None

    def turn(self, tools, results):
        """The calls of the next turn, and how many came before them; none at the end."""
        with self.lock:
            # Hosts also ask for titles and the like, and offer no tools then.
            if self.script is None or not tools:
                return [], 0
            if self.before is None:
                self.before, self.earlier = len(results), results
            # What entered counts, whatever the host makes of it when the conversation grows.
            self.entered += results[len(self.entered) :]
            steps, answers = self.script(), self.entered[self.before :]
            try:
                calls = next(steps)
                while answers:
                    assert len(answers) >= len(calls), f"{len(answers)} results for {len(calls)} calls"
                    answers, answered = answers[len(calls) :], answers[: len(calls)]
                    calls = steps.send(answered)
                missing = [call.tool for call in calls if call.tool not in tools]
                assert not missing, f"{missing} are not among {sorted(tools)}"
            except StopIteration:
                self.is_done = True
                return [], 0
            except Exception as fault:  # The host ends, and then it is raised.
                self.fault = fault
                return [], 0
            return calls, len(results)


class Exchange(BaseHTTPRequestHandler):
    model: Model

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer({})

    def do_GET(self):
        self.answer({"data": [], "models": []})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.split("?")[0]
        try:
            request = json.loads(body)
        except ValueError:
            request = {}
        if path.endswith("/v1/messages"):
            self.anthropic(request)
        elif path.endswith("/v1/responses"):
            self.openai(request)
        elif path.endswith("/v1/chat/completions"):
            self.openai_chat(request)
        elif path.endswith("enerateContent"):
            self.google(request, path)
        elif path.endswith("/count_tokens"):
            self.answer({"input_tokens": 10})
        else:
            self.send_error(404)

    def answer(self, body):
        self.raw("application/json", json.dumps(body).encode())

    def events(self, events, end=b""):
        """Server-sent events; those that have a type bear it as their name."""
        lines = []
        for event in events:
            name = event.get("type")
            lines.append((f"event: {name}\n" if name else "") + f"data: {json.dumps(event)}\n\n")
        self.raw("text/event-stream", "".join(lines).encode() + end)

    def raw(self, kind, body):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def anthropic(self, request):
        """`/v1/messages`."""
        results = []
        for message in request.get("messages", []):
            for block in message["content"] if isinstance(message["content"], list) else []:
                if block.get("type") == "tool_result":
                    failed = bool(block.get("is_error"))
                    results.append((block["tool_use_id"], Result(text_of(block["content"]), failed, block)))
        calls, count = self.model.turn({tool["name"] for tool in request.get("tools", [])}, in_order(results))
        content, events = [], []
        for index, call in enumerate(calls):
            block = {"type": "tool_use", "id": f"call_{count + index}", "name": call.tool, "input": call.arguments}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
            content.append((block, {**block, "input": {}}, delta))
        if not calls:
            block = {"type": "text", "text": "DONE"}
            content.append((block, {**block, "text": ""}, {"type": "text_delta", "text": "DONE"}))
        reason = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": f"m{count}", "type": "message", "role": "assistant", "model": request.get("model", "m"), "usage": usage}
        if not request.get("stream"):
            return self.answer({**message, **reason, "content": [whole for whole, _, _ in content]})
        events = [{"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "stop_sequence": None}}]
        for index, (_, start, delta) in enumerate(content):
            events += [
                {"type": "content_block_start", "index": index, "content_block": start},
                {"type": "content_block_delta", "index": index, "delta": delta},
                {"type": "content_block_stop", "index": index},
            ]
        events += [{"type": "message_delta", "delta": reason, "usage": {"output_tokens": 1}}, {"type": "message_stop"}]
        return self.events(events)

    def openai(self, request):
        """`/v1/responses`. A tool in a namespace is called `namespace/name` in scripts."""
        results, tools = [], set()
        for tool in request.get("tools", []):
            tools.add(tool.get("name", tool["type"]))
            tools.update(f"{tool['name']}/{inner['name']}" for inner in tool.get("tools") or [])
        for item in request.get("input", []):
            if item.get("type") in ("function_call_output", "custom_tool_call_output"):
                results.append((item["call_id"], Result(text_of(item["output"]), False, item)))
        calls, count = self.model.turn(tools, in_order(results))
        items = []
        for index, call in enumerate(calls):
            namespace, _, name = call.tool.rpartition("/")
            item = {"type": "function_call", "id": f"fc_{count + index}", "call_id": f"call_{count + index}"}
            item |= {"name": name, "arguments": json.dumps(call.arguments)}
            items.append(item | ({"namespace": namespace} if namespace else {}))
        if not calls:
            text = [{"type": "output_text", "text": "DONE"}]
            items.append({"type": "message", "id": f"m{count}", "role": "assistant", "content": text})
        usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None, "total_tokens": 2}
        done = [{"type": "response.output_item.done", "output_index": n, "item": item} for n, item in enumerate(items)]
        self.events([
            {"type": "response.created", "response": {"id": "r"}},
            *done,
            {"type": "response.completed", "response": {"id": "r", "usage": usage}},
        ])

    def openai_chat(self, request):
        """`/v1/chat/completions`."""
        results = [
            (message["tool_call_id"], Result(text_of(message["content"]), False, message))
            for message in request.get("messages", [])
            if message.get("role") == "tool"
        ]
        tools = {tool["function"]["name"] for tool in request.get("tools") or []}
        calls, count = self.model.turn(tools, in_order(results))
        delta = {"role": "assistant", "content": None if calls else "DONE"}
        if calls:
            delta["tool_calls"] = [
                {"index": index, "id": f"call_{count + index}", "type": "function",
                 "function": {"name": call.tool, "arguments": json.dumps(call.arguments)}}
                for index, call in enumerate(calls)
            ]
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        end = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        self.events(
            [{**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}, {**chunk, "choices": [end], "usage": usage}],
            b"data: [DONE]\n\n",
        )

    def google(self, request, path):
        """`:generateContent`. The ids of calls are of the host's making."""
        calls, answers = [], {}
        for content in request.get("contents", []):
            for part in content.get("parts", []):
                if "functionCall" in part:
                    calls.append(part["functionCall"]["id"])
                if "functionResponse" in part:
                    response = part["functionResponse"]["response"]
                    text = response.get("error", response.get("output", ""))
                    answers[part["functionResponse"]["id"]] = Result(str(text), "error" in response, part)
        results = [answers[call] for call in calls if call in answers]
        tools = {one["name"] for tool in request.get("tools", []) for one in tool.get("functionDeclarations", [])}
        calls, _ = self.model.turn(tools, results)
        parts = [{"functionCall": {"name": call.tool, "args": call.arguments}} for call in calls] or [{"text": "DONE"}]
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        body = {"candidates": [candidate], "usageMetadata": usage}
        return self.events([body]) if path.endswith("streamGenerateContent") else self.answer(body)


def text_of(content):
    """The text of a result, whose blocks are set apart by NUL."""
    if isinstance(content, str):
        return content
    return "\0".join(block.get("text", "") for block in content)


def in_order(results):
    """The results of calls `call_0`, `call_1`, … in the order of the calls."""
    return [result for _, result in sorted(results, key=lambda pair: int(pair[0].rpartition("_")[2]))]
