#!/usr/bin/env python3
"""The same calls to two services: every difference that nobody explained is a failure.

    side_by_side.py --ours URL                      ours beside the recorded answers of golden/
    side_by_side.py --ours URL --theirs URL         ours beside a service that runs
    side_by_side.py --theirs URL                    the recorded answers beside a service that runs
    side_by_side.py --theirs URL --record           records the answers anew
    … --ours-key KEY --theirs-key KEY               the calls for services that ask for a key

The calls are the rows of calls/*.toml: [name, "METHOD path", body?, {options}?]. In paths, bodies and headers
`{run}` is a word of the group's own, `{key}` the key, and `$words(n)`, `$repeat(x,n)` … stand for long texts (table.py).
Options: `type` the content type ("" sends none), `encoding`, `hex` a body by its bytes, `headers`, `save` names for
values of the answer, `see` further headers to compare, `keys` the only keys of the body to compare, `only_run` leaves
out of a list what is not of the group, `sort` puts a list that has no order into one.

Explained differences are in differences.toml; one that no longer shows is a failure too.
Exit: 0 as told, 1 a difference, 2 usage.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import time
import tomllib
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import table
from normal import Normal, differences, short
from wire import Answer, Wire

HERE = Path(__file__).parent
GOLDEN = HERE / "golden" / "openviking-0.5.2.json"
EXPLAINED = HERE / "differences.toml"


class Service:
    """One of the two sides."""

    def __init__(self, url: str, key: str | None) -> None:
        self.wire = Wire(url)
        self.key = key or ""
        self.run = ""
        self.user = self.account = ""
        if key:
            who = self._send("POST", "/api/v1/sessions", b"{}", {"Content-Type": "application/json"} | self._key()).value()
            self.user, self.account = who["result"]["user"]["user_id"], who["result"]["user"]["account_id"]

    def answers(self, only: str) -> dict[str, dict[str, Any]]:
        """The normal answers to all calls for services of this kind, by the calls' names."""
        found: dict[str, dict[str, Any]] = {}
        for group in table.groups():
            if group.keyed != bool(self.key) or not any(fnmatchcase(call.name, only) for call in group.calls):
                continue
            self.run = secrets.token_hex(3)
            normal = Normal(self.run, self.wire.base, self.key, self.user, self.account)
            names = {"run": self.run, "key": self.key}
            for call in group.calls:
                if call.method == "WAIT":
                    time.sleep(float(call.target))
                    continue
                found[call.name] = self._answer(call, names, normal)
            self._tidy()
        return found

    def _answer(self, call: table.Call, names: dict[str, str], normal: Normal) -> dict[str, Any]:
        headers = {name: table.expand(value, names) for name, value in call.headers.items()}
        body = call.raw
        if body is None and call.body is not None:
            body = table.expand(call.body, names).encode()
        if body is not None and call.content_type:
            headers["Content-Type"] = call.content_type
        if call.encoding:
            headers["Content-Encoding"] = call.encoding
        answer = self._send(call.method, table.expand(call.target, names), body, headers)
        value = answer.value()
        for name, path in call.save.items():
            names[name] = str(_at(value, path))
        if call.only_run and isinstance(value, dict) and isinstance(value.get("result"), list):
            value["result"] = [item for item in value["result"] if self.run in json.dumps(item)]
            answer = Answer(answer.status, answer.headers, json.dumps(value).encode())
        result = normal.answer(answer, call.see)
        if call.keys is not None:
            result["body"] = {key: result["body"].get(key, None) for key in call.keys}
        if call.sort and isinstance(result["body"], dict):
            rows = (result["body"].get("result") or {}).get(call.sort)
            if isinstance(rows, list):
                rows.sort(key=lambda row: json.dumps([row.get("tool_id"), row], sort_keys=True))
        return result

    def _send(self, method: str, target: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        return self.wire.call(method, target, body, headers)

    def _key(self) -> dict[str, str]:
        return {"X-API-Key": self.key} if self.key else {}

    def _tidy(self) -> None:
        """Removes the sessions of the group, as far as they can be named."""
        rows = (self._send("GET", "/api/v1/sessions", None, self._key()).value() or {}).get("result") or []
        for row in rows:
            name = row["session_id"]
            if self.run in name and name.isascii() and not set(name) & set(" %?#/\\\n"):
                self._send("DELETE", f"/api/v1/sessions/{name}", None, self._key())


def _at(value: Any, path: str) -> Any:
    for step in path.split("."):
        if isinstance(value, list):
            value = value[int(step)] if int(step) < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


class Explained:
    """The differences that are meant."""

    def __init__(self) -> None:
        text = EXPLAINED.read_text(encoding="utf-8") if EXPLAINED.exists() else ""
        self.rows = tomllib.loads(text).get("difference", [])
        self.seen: Counter[int] = Counter()

    def explains(self, call: str, path: str, theirs: Any, ours: Any) -> bool:
        """Whether a row speaks of this difference. Every row that does is marked as seen."""
        hit = False
        for index, row in enumerate(self.rows):
            if (
                any(fnmatchcase(call, pattern) for pattern in row["calls"])
                and any(fnmatchcase(path, pattern) for pattern in row["paths"])
                and fnmatchcase(short(theirs), row.get("theirs", "*"))
                and fnmatchcase(short(ours), row.get("ours", "*"))
            ):
                self.seen[index] += 1
                hit = True
        return hit

    def unseen(self, answered: set[str]) -> list[str]:
        """Rows that spoke of no difference, though all calls that they speak of were made."""
        names = [call.name for group in table.groups() for call in group.calls if call.method != "WAIT"]
        return [
            f"{' '.join(row['calls'])}: {' '.join(row['paths'])}"
            for index, row in enumerate(self.rows)
            if not self.seen[index]
            and answered.issuperset(name for name in names if any(fnmatchcase(name, each) for each in row["calls"]))
        ]


def report(theirs: dict[str, Any], ours: dict[str, Any], explained: Explained | None, verbose: bool) -> int:
    """Prints what differs; how many differences nobody explained."""
    bad = meant = 0
    for name in ours:
        if name not in theirs:
            print(f"{name}\n    never recorded")
            bad += 1
            continue
        rows = []
        for path, left, right in _compared(theirs[name], ours[name]):
            if explained and explained.explains(name, path, left, right):
                meant += 1
                if verbose:
                    rows.append(f"    ({path}: theirs {short(left)}, ours {short(right)}: explained)")
                continue
            bad += 1
            rows.append(f"    {path}\n        theirs {short(left)}\n        ours   {short(right)}")
        if rows:
            print(name, *rows, sep="\n")
    print(f"{len(ours)} calls, {bad} differences, {meant} more explained", file=sys.stderr)
    return bad


def _compared(theirs: dict[str, Any], ours: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """What differs; where the statuses do, nothing else is worth telling."""
    if theirs["status"] == ours["status"]:
        return list(differences(theirs, ours))
    return [("status", _told(theirs), _told(ours))]


def _told(answer: dict[str, Any]) -> str:
    """A status, and the error that came with it."""
    body = answer["body"]
    error = body.get("error") if isinstance(body, dict) else None
    return f"{answer['status']} {error['code']} {error['message']}" if isinstance(error, dict) else str(answer["status"])


def main() -> int:
    """Compares, or records."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", metavar="URL")
    parser.add_argument("--theirs", metavar="URL")
    parser.add_argument("--ours-key", metavar="KEY")
    parser.add_argument("--theirs-key", metavar="KEY")
    parser.add_argument("--record", action="store_true", help="write what --theirs answers into golden/")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="the calls of the groups that hold a match")
    parser.add_argument("--verbose", action="store_true", help="show explained differences too")
    options = parser.parse_args()
    if not (options.ours or options.theirs) or (options.record and (options.ours or not options.theirs)):
        parser.error("--ours URL, --theirs URL, or both; --record with --theirs alone")

    golden = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    theirs = Service(options.theirs, options.theirs_key).answers(options.only) if options.theirs else golden
    if options.record:
        lines = (f"{json.dumps(name)}: {short(answer, sys.maxsize)}" for name, answer in (golden | theirs).items())
        GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        print(f"{len(theirs)} answers recorded", file=sys.stderr)
        return 0
    if not options.ours:
        return 1 if report(golden, theirs, None, options.verbose) else 0
    ours = Service(options.ours, options.ours_key).answers(options.only)
    explained = Explained()
    bad = report(theirs, ours, explained, options.verbose)
    for row in explained.unseen(set(ours)) if options.only == "*" else ():
        bad += 1
        print(f"explained, but no longer so: {row}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
