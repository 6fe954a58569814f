#!/usr/bin/env python3
"""A client that was made for another service, against this one: `sdk.py --url URL [--key KEY]`.

Needs `pip install openviking-sdk==0.1.17`. Each check states a fact; the first that is wrong ends the run.
Exit: 0 all facts hold, 1 one does not, 2 usage, 77 the client is not installed.
"""

from __future__ import annotations

import argparse
import math
import secrets
import sys
import urllib.error
import urllib.request
from typing import Any

try:
    import openviking_sdk as sdk
    from openviking_sdk import errors
except ImportError:
    print("openviking-sdk is not installed", file=sys.stderr)
    sys.exit(77)

import table
from wire import Wire

HEAVY = (
    (0x1100, 0x11FF), (0x3000, 0x30FF), (0x3130, 0x318F), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF),
    (0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0xFF00, 0xFFEF), (0x20000, 0x2EBEF),
)  # fmt: skip


def quarters(text: str) -> int:
    """What a text weighs, in quarters of a token."""
    heavy = [each for each in text if any(low <= ord(each) <= high for low, high in HEAVY)]
    high = sum(each > "\uffff" for each in text) - sum(each > "\uffff" for each in heavy)
    return len(text) + 5 * len(heavy) + 7 * high


def tokens(*texts: str) -> int:
    """What a message of these texts is counted as."""
    return math.ceil(sum(quarters(text) for text in texts) / 4)


class Checks:
    """Counts the facts that hold."""

    def __init__(self) -> None:
        self.held = 0

    def same(self, fact: str, found: Any, meant: Any = True) -> None:
        """A fact: `found` is what was meant."""
        if found != meant:
            raise SystemExit(f"not so: {fact}\n    found {found!r:.300}\n    meant {meant!r:.300}")
        self.held += 1

    def fails(self, fact: str, error: type[Exception], action: Any, **details: Any) -> None:
        """A fact: an action is refused as the client expects."""
        try:
            found: Any = action()
        except error as refused:
            for name, meant in details.items():
                self.same(f"{fact}: {name}", getattr(refused, name), meant)
            self.held += 1
            return
        except Exception as other:  # noqa: BLE001 - whatever else came is the finding
            found = repr(other)
        raise SystemExit(f"not so: {fact}\n    found {found!r:.300}\n    meant {error.__name__}")


def check(url: str, key: str | None) -> int:
    """Goes through the client's calls; how many facts held."""
    facts = Checks()
    client = sdk.SyncHTTPClient(url=url, api_key=key)
    client.initialize()
    facts.same("the service is healthy", client.health())
    one, two = f"sdk-{secrets.token_hex(4)}", f"sdk-{secrets.token_hex(4)}"
    try:
        _sessions(facts, client, one, two)
        _messages(facts, client, one)
        _results(facts, client, Wire(url), one, {"X-API-Key": key} if key else {})
        client.delete_session(one)
        facts.same("a removed session is gone", client.session_exists(one), False)
        facts.fails("a removed session cannot be removed", errors.NotFoundError, lambda: client.delete_session(one))
    finally:
        for name in (one, two):
            if client.session_exists(name):
                client.delete_session(name)
        client.close()
    return facts.held


def _sessions(facts: Checks, client: Any, one: str, two: str) -> None:
    made = client.create_session(one)
    facts.same("a session is made under its name", made["session_id"], one)
    facts.same("its address ends in its name", made["uri"].endswith(f"/sessions/{one}"))
    facts.fails("a name is taken once", errors.AlreadyExistsError, lambda: client.create_session(one), code="ALREADY_EXISTS")
    unnamed = client.create_session()["session_id"]
    facts.same("a session without a name gets one", client.session_exists(unnamed))
    client.delete_session(unnamed)
    facts.same("an unknown session is not there", client.session_exists(two), False)
    facts.fails("an unknown session is an error", errors.NotFoundError, lambda: client.get_session(two), code="NOT_FOUND")
    facts.same("one is made on the way", client.get_session(two, auto_create=True)["session_id"], two)
    listed = [each["session_id"] for each in client.list_sessions()]
    facts.same("both are listed", {one, two} <= set(listed))
    facts.same("handles know their name", client.session(one).session_id, one)


def _messages(facts: Checks, client: Any, one: str) -> None:
    small, large = "out", table.words(30_000)
    added = client.add_message(one, "user", content="hello 你好")
    facts.same("a message is counted", (added["message_count"], added["pending_tokens"]), (1, tokens("hello 你好")))
    part = sdk.ToolPart(tool_id="c1", tool_name="n", tool_input={"a": 1}, tool_output=small, tool_status="completed")
    added = client.add_message(one, "assistant", parts=[sdk.TextPart(text="t"), part])
    meant = tokens("hello 你好") + tokens("t", "c1", "n", '{"a": 1}', small)
    facts.same("parts are counted", (added["message_count"], added["pending_tokens"]), (2, meant))
    added = client.add_message(one, "assistant", parts=[{"type": "text", "text": "x"}], peer_id="peer")
    facts.same("parts may be plain", added["message_count"], 3)
    added = client.batch_add_messages(one, [{"role": "user", "content": "b"}, {"role": "user", "content": "c"}])
    facts.same("a batch is counted", (added["added"], added["message_count"]), (2, 5))
    part = sdk.ToolPart(tool_id="c2", tool_name="n", tool_output=large, tool_status="completed")
    added = client.session(one).add_message("assistant", parts=[part])
    context = client.get_session_context(one)
    facts.same("messages keep their order", [each["role"] for each in context["messages"]],
               ["user", "assistant", "assistant", "user", "user", "assistant"])  # fmt: skip
    facts.same("text stays as it was", context["messages"][0]["parts"], [{"type": "text", "text": "hello 你好"}])
    facts.same("a small result stays", context["messages"][1]["parts"][1]["tool_output"], small)
    facts.same("the peer stays", context["messages"][2]["peer_id"], "peer")
    stub = context["messages"][5]["parts"][0]
    facts.same("a large result leaves", (stub["tool_output_truncated"], stub["tool_output_original_chars"]), (True, 30_000))
    facts.same("what is left is far smaller", len(stub["tool_output"]) < 4_000)
    meant += tokens("x") + tokens("b") + tokens("c") + tokens("c2", "n", stub["tool_output"])
    facts.same("what is left is counted", (added["pending_tokens"], context["estimatedTokens"]), (meant, meant))
    session = client.get_session(one)
    facts.same("the session counts too", (session["message_count"], session["pending_tokens"]), (6, meant))
    facts.fails("a negative budget is refused", errors.InvalidArgumentError,
                lambda: client.get_session_context(one, token_budget=-1), details={"field": "token_budget", "value": -1})  # fmt: skip
    last = client.get_session_context(one, token_budget=tokens("c2", "n", stub["tool_output"]))
    facts.same("a budget keeps the newest", last["messages"][-1]["role"], "assistant")


def _results(facts: Checks, client: Any, wire: Wire, one: str, headers: dict[str, str]) -> None:
    """The client has no calls for results: they are read beside it."""
    part = client.get_session_context(one)["messages"][5]["parts"][0]
    address = client.get_session(one)["uri"]
    facts.same("the stub is typed", "kind: text" in part["tool_output"])
    facts.same("the stub says how to search", "openviking_tool_result_search" in part["tool_output"])
    facts.same("the ref begins with the session's address", part["tool_output_ref"].startswith(f"{address}/tool-results/"))
    base = f"/api/v1/sessions/{one}/tool-results"
    listed = wire.call("GET", base, None, headers).value()["result"]["tool_results"]
    facts.same("one result is listed", len(listed), 1)
    facts.same("it has a synopsis", listed[0]["synopsis"]["kind"], "text")
    facts.same("its ref is the part's", listed[0]["storage_uri"], part["tool_output_ref"])
    result = f"{base}/{part['tool_output_ref'].rsplit('/', 1)[1]}"
    whole = wire.call("GET", f"{result}?offset=0&limit=-1", None, headers).value()["result"]
    facts.same("it is read back whole", whole["content"], table.words(30_000))
    facts.same("nothing is left of it", (whole["has_more"], whole["total_chars"]), (False, 30_000))
    found = wire.call("GET", f"{result}/search?q=word1234&limit=1&context_chars=5", None, headers).value()["result"]
    facts.same("it is searched", [(each["snippet"][5:-5], each["offset"]) for each in found["matches"]],
               [("word1234", table.words(30_000).index("word1234"))])  # fmt: skip


def main() -> int:
    """Checks one service."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--key")
    options = parser.parse_args()
    try:
        with urllib.request.urlopen(f"{options.url}/health", timeout=10):
            pass
    except (urllib.error.URLError, ValueError) as error:
        parser.error(f"{options.url}: {error}")
    print(f"{check(options.url, options.key)} facts hold")
    return 0


if __name__ == "__main__":
    sys.exit(main())
