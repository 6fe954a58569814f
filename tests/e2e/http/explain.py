#!/usr/bin/env python3
"""The differences on purpose, as docs/http-api.md lists them: `explain.py [--check]`."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[2] / "docs" / "http-api.md"
HEADING = "## Where it differs from OpenViking"


def listed() -> str:
    """The reasons in order, each once, with the calls that they are about."""
    calls: dict[str, list[str]] = {}
    for row in tomllib.loads((HERE / "differences.toml").read_text())["difference"]:
        known = calls.setdefault(row["reason"], [])
        known.extend(call for call in row["calls"] if call not in known)
    return "\n".join(f"- {reason}" for reason in calls)


def main() -> int:
    """Prints the list, or says whether the page has it."""
    if sys.argv[1:] != ["--check"]:
        print(listed())
        return 0
    _, _, section = PAGE.read_text().partition(HEADING)
    if listed() in section:
        return 0
    print("docs/http-api.md does not list the differences as explain.py does", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
