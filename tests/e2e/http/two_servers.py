#!/usr/bin/env python3
"""Two servers on one store, one of them killed on the way: `two_servers.py PROGRAM [--store URL-or-path]`.

Senders append messages with large results to shared sessions, through both servers in turn. A third of the way one
server is killed (SIGKILL) and comes back later. Then everything is read through the other one:
- every acknowledged message is there, once, and in the order in which its sender sent it;
- what was not acknowledged is there once and whole, or not at all;
- every result is read back as it was sent, and the session's own count is right.
For `s3://` the AWS_* variables are handed on. Exit: 0 all holds, 1 it does not, 2 usage.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import http.client
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from dataclasses import dataclass, field

import table
from run import START_SECONDS, free_port
from wire import Wire

RESULT_CHARS = 25_000
JSON = {"Content-Type": "application/json"}
LOST = (OSError, http.client.HTTPException)


class Server:
    """One server, which can be killed and started again under the same address."""

    def __init__(self, program: str, store: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._command = [program, "serve", "--listen", f"127.0.0.1:{self.port}", "--store", store]
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                urllib.request.urlopen(f"{self.url}/health", timeout=1).close()
                return
            except OSError:
                if time.monotonic() > until:
                    raise SystemExit(f"did not start: {' '.join(self._command)}") from None
                time.sleep(0.05)

    def end(self, how: signal.Signals) -> None:
        self._process.send_signal(how)
        self._process.wait(START_SECONDS)


@dataclass
class Sent:
    """What the senders sent, and what they were told."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    acknowledged: dict[str, set[tuple[str, int]]] = field(default_factory=lambda: collections.defaultdict(set))
    unknown: dict[str, set[tuple[str, int]]] = field(default_factory=lambda: collections.defaultdict(set))
    refused: collections.Counter[str] = field(default_factory=collections.Counter)
    done: int = 0


def result(sender: str, number: int) -> str:
    """The tool result of one message: unlike every other."""
    return f"{sender} {number} {table.words(RESULT_CHARS)}"[:RESULT_CHARS]


def send(sender: str, count: int, sessions: list[str], servers: list[Server], sent: Sent) -> None:
    """One sender: a message, its answer, the next one by the other server."""
    chance = random.Random(sender)
    wires = [Wire(server.url) for server in servers]
    for number in range(count):
        session = chance.choice(sessions)
        part = {"type": "tool", "tool_id": f"{sender}-{number}", "tool_name": "two", "tool_output": result(sender, number)}
        body = json.dumps({"role": sender, "turn_id": str(number), "parts": [part]}).encode()
        wire = wires[number % len(wires)]
        try:
            status = str(wire.once("POST", f"/api/v1/sessions/{session}/messages", body, JSON).status)
        except LOST:
            status = "lost"
        with sent.lock:
            sent.done += 1
            if status == "200":
                sent.acknowledged[session].add((sender, number))
            else:
                sent.unknown[session].add((sender, number))
                sent.refused[status] += 1


def check(server: Server, sessions: list[str], sent: Sent) -> list[str]:
    """What does not hold."""
    wire, faults = Wire(server.url), []
    for session in sessions:
        base = f"/api/v1/sessions/{session}"
        messages = wire.call("GET", f"{base}/context?token_budget=1000000000").value()["result"]["messages"]
        seen = [(message["role"], int(message["turn_id"])) for message in messages]
        if twice := [each for each, times in collections.Counter(seen).items() if times > 1]:
            faults.append(f"{session}: there twice: {twice[:5]}")
        if missing := sent.acknowledged[session] - set(seen):
            faults.append(f"{session}: acknowledged and lost: {sorted(missing)[:5]} of {len(missing)}")
        if strange := set(seen) - sent.acknowledged[session] - sent.unknown[session]:
            faults.append(f"{session}: never sent: {sorted(strange)[:5]}")
        for sender in {each for each, _ in seen}:
            numbers = [number for each, number in seen if each == sender]
            if numbers != sorted(numbers):
                faults.append(f"{session}: not in the order of {sender}: {numbers}")
        count = wire.call("GET", base).value()["result"]["message_count"]
        if count != len(messages):
            faults.append(f"{session}: counts {count} messages, has {len(messages)}")
        for message in messages:
            part = message["parts"][0]
            name = part.get("tool_output_ref", "").rsplit("/", 1)[-1]
            read = wire.call("GET", f"{base}/tool-results/{name}?limit=-1&include_metadata=false")
            meant = result(message["role"], int(message["turn_id"]))
            if read.status != 200 or read.value()["result"]["content"] != meant:
                faults.append(f"{session}: {message['role']} {message['turn_id']}: result {name}: {read.status}")
            elif part["tool_output_sha256"] != hashlib.sha256(meant.encode()).hexdigest():
                faults.append(f"{session}: {name}: another hash in the message")
    return faults


def main() -> int:
    """Sends, kills, checks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--store", help="[default: a temporary folder]")
    parser.add_argument("--senders", type=int, default=16)
    parser.add_argument("--messages", type=int, default=2_000)
    parser.add_argument("--sessions", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        servers = [Server(options.program, options.store or folder) for _ in range(2)]
        try:
            return rounds(options, servers)
        finally:
            for server in servers:
                server.end(signal.SIGTERM)


def rounds(options: argparse.Namespace, servers: list[Server]) -> int:
    """The run itself."""
    sent, sessions = Sent(), [f"two-{number}" for number in range(options.sessions)]
    each = options.messages // options.senders
    senders = [
        threading.Thread(target=send, args=(f"sender-{number}", each, sessions, servers, sent))
        for number in range(options.senders)
    ]
    began = time.monotonic()
    for sender in senders:
        sender.start()
    while sent.done < options.messages // 3:
        time.sleep(0.01)
    servers[1].end(signal.SIGKILL)
    while sent.done < options.messages * 2 // 3:
        time.sleep(0.01)
    servers[1].start()
    for sender in senders:
        sender.join()
    spent = time.monotonic() - began
    acknowledged = sum(map(len, sent.acknowledged.values()))
    faults = [fault for server in servers for fault in check(server, sessions, sent)]
    print(*faults[:20], sep="\n", end="\n" if faults else "")
    print(
        f"{sent.done} messages in {spent:.1f} s: {acknowledged} acknowledged, not: {dict(sent.refused)}; "
        f"{len(faults)} faults, seen through each server"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
