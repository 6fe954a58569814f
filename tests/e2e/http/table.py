"""The table of calls: the files of `calls/`, and what their short forms stand for."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

CALLS = Path(__file__).with_name("calls")
OPTIONS = {"type", "encoding", "hex", "headers", "save", "see", "keys", "only_run", "sort"}


@dataclass(frozen=True)
class Call:
    """One line of the table."""

    name: str
    method: str
    target: str
    body: str | None = None
    content_type: str = "application/json"
    encoding: str | None = None
    raw: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    save: dict[str, str] = field(default_factory=dict)
    see: tuple[str, ...] = ()
    keys: tuple[str, ...] | None = None
    only_run: bool = False
    sort: str | None = None


@dataclass(frozen=True)
class Group:
    """Calls that follow one another in one place."""

    name: str
    keyed: bool
    calls: tuple[Call, ...]


def groups() -> Iterator[Group]:
    """Every group of every file, in the order of their names."""
    for path in sorted(CALLS.glob("*.toml")):
        for table in tomllib.loads(path.read_text(encoding="utf-8"))["group"]:
            name = f"{path.stem}/{table['name']}"
            calls = tuple(_call(name, table.get("base", ""), row) for row in table["calls"])
            if len({call.name for call in calls}) != len(calls):
                raise SystemExit(f"{name}: a name stands twice")
            yield Group(name, table.get("keyed", False), calls)


def _call(group: str, base: str, row: list) -> Call:
    name, send, *rest = row
    body = rest[0] if rest else None
    options = rest[1] if len(rest) > 1 else {}
    if unknown := options.keys() - OPTIONS:
        raise SystemExit(f"{group}/{name}: no such option: {', '.join(sorted(unknown))}")
    method, _, path = send.partition(" ")
    target = path if path.startswith("/") and (path.startswith("/api/") or not base) else base + path
    if method == "WAIT":
        target = path
    return Call(
        name=f"{group}/{name}",
        method=method,
        target=target,
        body=body if body or "type" in options else None,
        content_type=options.get("type", "application/json"),
        encoding=options.get("encoding"),
        raw=bytes.fromhex(options["hex"]) if "hex" in options else None,
        headers=options.get("headers", {}),
        save=options.get("save", {}),
        see=tuple(options.get("see", ())),
        keys=tuple(options["keys"]) if "keys" in options else None,
        only_run=options.get("only_run", False),
        sort=options.get("sort"),
    )


# What `$name(…)` in a body or a header stands for.


def words(characters: int) -> str:
    """Numbered words, cut at a length."""
    return "".join(f"word{number} " for number in range(characters // 5))[:characters]


def _tools(count: int, characters: int) -> str:
    part = '{"type":"tool","tool_id":"m%d","tool_name":"t","tool_output":"%s"}'
    return ",".join(part % (number, words(characters)) for number in range(count))


SHORT_FORMS: dict[str, Callable[..., str]] = {
    "words": lambda characters: words(int(characters)),
    "repeat": lambda text, times: text * int(times),
    "pad": lambda length: "{run}" + "x" * (int(length) - len("{run}") + 1),
    "rows": lambda count: "".join(f"row {number} needle\\n" for number in range(int(count))),
    "json": lambda count: json.dumps(json.dumps([{"a": number, "b": "x" * 20} for number in range(int(count))]))[1:-1],
    "deep": lambda depth: "[" * int(depth),
    "tools": lambda count, characters: _tools(int(count), int(characters)),
    "messages": lambda count: ",".join('{"role":"u","content":"%d"}' % number for number in range(int(count))),
}

_SHORT_FORM = re.compile(r"\$([a-z]+)\(([^()]*)\)")


def expand(text: str, names: dict[str, str]) -> str:
    """Short forms first, then the names in braces."""
    text = _SHORT_FORM.sub(lambda found: SHORT_FORMS[found[1]](*found[2].split(",")), text)
    for name, value in names.items():
        text = text.replace("{%s}" % name, value)
    return text
