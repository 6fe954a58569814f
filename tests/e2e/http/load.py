#!/usr/bin/env python3
"""How long two services take, beside each other: `load.py --ours URL --theirs URL`, a Markdown table on stdout.

Two calls, each over 1 and over 32 connections that wait for every answer: a message with a tool result of 100 KB, and a
read of 20,000 characters anywhere in a result of 800,000. The services take turns, round by round, so that what else
the machine does meets both. Requests are bytes made beforehand and answers are only measured: the client is no limit.
Exit: 0 done, 1 an answer was not 200, 2 usage.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import secrets
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import table
from wire import Wire

RESULT_CHARS = 100_000
STORED_CHARS = 800_000
READ_CHARS = 20_000
CONNECTIONS = (1, 32)
JSON = {"Content-Type": "application/json"}


@dataclass
class Side:
    """One service, and what was measured of it."""

    name: str
    url: str
    key: str | None
    times: dict[tuple[str, int], list[float]] = field(default_factory=lambda: defaultdict(list))
    spans: dict[tuple[str, int], float] = field(default_factory=lambda: defaultdict(float))
    sessions: list[str] = field(default_factory=list)
    stored: str = ""

    def headers(self) -> dict[str, str]:
        return {"X-API-Key": self.key} if self.key else {}

    def prepare(self) -> None:
        """Stores the result that is read."""
        wire, session = Wire(self.url), f"load-{secrets.token_hex(4)}"
        self.sessions.append(session)
        target = f"/api/v1/sessions/{session}"
        answer = wire.call("POST", f"{target}/messages", _message("stored", STORED_CHARS), JSON | self.headers())
        if answer.status != 200:
            raise SystemExit(f"{self.url}: {answer.status} {answer.body[:300]!r}")
        listed = wire.call("GET", f"{target}/tool-results", None, self.headers()).value()["result"]["tool_results"]
        self.stored = f"{target}/tool-results/{listed[0]['tool_result_id']}"

    def tidy(self) -> None:
        wire = Wire(self.url)
        for session in self.sessions:
            wire.call("DELETE", f"/api/v1/sessions/{session}", None, self.headers())

    def request(self, method: str, target: str, body: bytes = b"") -> bytes:
        """A whole request, as it is sent."""
        lines = [f"{method} {target} HTTP/1.1", f"Host: {urlsplit(self.url).netloc}"]
        lines += [f"{name}: {value}" for name, value in self.headers().items()]
        if body:
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        return "\r\n".join([*lines, "", ""]).encode() + body


def _message(tool_id: str, characters: int) -> bytes:
    text = f"{tool_id} {table.words(characters)}"[:characters]
    part = {"type": "tool", "tool_id": tool_id, "tool_name": "load", "tool_output": text, "tool_status": "completed"}
    return json.dumps({"role": "assistant", "parts": [part]}).encode()


def _requests(side: Side, call: str, connections: int, each: int, seed: int) -> list[list[bytes]]:
    """What every connection sends: a session of its own for the messages, the same ranges on both sides for the reads."""
    chance = random.Random(seed)
    if call == "read":
        targets = [f"{side.stored}?offset={chance.randrange(STORED_CHARS - READ_CHARS)}&limit={READ_CHARS}&include_metadata=false"
                   for _ in range(connections * each)]  # fmt: skip
        sent = [side.request("GET", target) for target in targets]
        return [sent[start::connections] for start in range(connections)]
    rows = []
    for _ in range(connections):
        session = f"load-{secrets.token_hex(4)}"
        side.sessions.append(session)
        target = f"/api/v1/sessions/{session}/messages"
        rows.append([side.request("POST", target, _message(f"t{number}-{session}", RESULT_CHARS)) for number in range(each)])
    return rows


async def _talk(side: Side, requests: list[bytes], times: list[float], start: asyncio.Event) -> None:
    """One connection: sends, waits for the whole answer, sends again."""
    address = urlsplit(side.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port or 80, limit=1 << 20)
    await start.wait()
    for request in requests:
        began = time.perf_counter()
        writer.write(request)
        await writer.drain()
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 "):
            raise SystemExit(f"{side.url}: {head.decode().splitlines()[0]}")
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length))
        times.append(time.perf_counter() - began)
    writer.close()


async def _round(side: Side, call: str, connections: int, each: int, seed: int, counts: bool) -> None:
    times: list[float] = []
    start = asyncio.Event()
    rows = _requests(side, call, connections, each, seed)
    talks = [asyncio.create_task(_talk(side, row, times, start)) for row in rows]
    await asyncio.sleep(0.05)
    began = time.perf_counter()
    start.set()
    await asyncio.gather(*talks)
    if counts:
        side.spans[call, connections] += time.perf_counter() - began
        side.times[call, connections] += times


def quantile(times: list[float], part: float) -> float:
    """The time in milliseconds within which a part of the answers came."""
    ordered = sorted(times)
    return 1000 * ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def report(sides: list[Side]) -> None:
    """The table."""
    labels = {"message": "message with a 100 KB result", "read": "read of 20,000 characters"}
    columns = [f"{side.name} {what}" for side in sides for what in ("p50 ms", "p99 ms", "a second")]
    print("| call | connections | requests | " + " | ".join(columns) + " |")
    print("|---|--:|--:|" + "--:|" * len(columns))
    for call, connections in sides[0].times:
        cells = [labels[call], str(connections), str(len(sides[0].times[call, connections]))]
        for side in sides:
            times = side.times[call, connections]
            cells += [f"{quantile(times, 0.5):.2f}", f"{quantile(times, 0.99):.2f}"]
            cells += [f"{len(times) / side.spans[call, connections]:,.0f}"]
        print(f"| {' | '.join(cells)} |")


async def measure(sides: list[Side], rounds: int, requests: int) -> None:
    """All rounds; the first of each kind warms up and is not counted."""
    for call in ("message", "read"):
        for connections in CONNECTIONS:
            each = max(4, requests // connections)
            for number in range(rounds + 1):
                for side in sides if number % 2 else reversed(sides):
                    await _round(side, call, connections, each if number else min(each, 5), number, counts=number > 0)


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True, metavar="URL")
    parser.add_argument("--theirs", metavar="URL")
    parser.add_argument("--ours-key", metavar="KEY")
    parser.add_argument("--theirs-key", metavar="KEY")
    parser.add_argument("--rounds", type=int, default=4, metavar="N", help="rounds of each service and call")
    parser.add_argument("--requests", type=int, default=200, metavar="N", help="requests of one round")
    options = parser.parse_args()
    sides = [Side("ours", options.ours, options.ours_key)]
    if options.theirs:
        sides.append(Side("theirs", options.theirs, options.theirs_key))
    try:
        for side in sides:
            side.prepare()
        asyncio.run(measure(sides, options.rounds, options.requests))
    finally:
        for side in sides:
            side.tidy()
    report(sides)
    return 0


if __name__ == "__main__":
    sys.exit(main())
