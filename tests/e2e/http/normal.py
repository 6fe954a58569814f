"""What two answers must have in common: times, ids and wording that are each service's own are taken out of both."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

from wire import Answer

LONG = 400
LONG_LIST = 60
HEADERS = ("content-type", "allow", "location", "www-authenticate")

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
_AUTO_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{16}(?![0-9a-f])")
_MESSAGE_ID = re.compile(r"msg_[0-9a-f]{32}(?![0-9a-f])")
_RESULT_ID = re.compile(r"\b(tr_(?:[A-Za-z0-9_.-]*?_)?)([0-9a-f]{16})(?:[0-9a-f]{8}|[0-9a-f]{16})?(?![0-9a-z])")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_FIELD = re.compile(r"(tool_name|kind|original_chars|preview_chars|ref|sha256|reason): (.*)")


class Normal:
    """Takes what belongs to one run or one service out of the answers of a group of calls."""

    def __init__(self, run: str, base: str, key: str = "", user: str = "", account: str = "") -> None:
        self._messages: dict[str, str] = {}
        self._words = [(word, name) for word, name in ((run, "{run}"), (base, "{base}"), (key, "{key}")) if word]
        self._user = user
        self._account = account

    def answer(self, answer: Answer, see: tuple[str, ...]) -> dict[str, Any]:
        """Status, the headers that matter, and the body."""
        headers = {name: self._text(answer.headers[name]) for name in HEADERS if name in answer.headers}
        headers |= {name: self._header(answer.headers.get(name)) for name in see}
        return {"status": answer.status, "headers": headers, "body": self.value(answer.value())}

    def value(self, root: Any) -> Any:
        """A JSON value, without what is the run's own."""
        if isinstance(root, dict):
            return {self._text(name): self._field(name, value) for name, value in root.items()}
        if isinstance(root, list):
            return _folded_list([self.value(value) for value in root])
        return _folded(self._text(root)) if isinstance(root, str) else root

    def _field(self, name: str, value: Any) -> Any:
        if name == "synopsis" and isinstance(value, dict):
            return {key: self.value(text) if key == "kind" else type(text).__name__ for key, text in value.items()}
        if name == "telemetry" and isinstance(value, dict):
            return sorted(value)
        if name == "tool_output" and isinstance(value, str) and value.startswith("[") and "externalized" in value[:80]:
            return self._stub(value)
        if self._user and name in ("user_id", "created_by_user_id") and value == self._user:
            return "{user}"
        if self._account and name in ("account_id", "created_by_account_id") and value == self._account:
            return "{account}"
        return self.value(value)

    def _stub(self, stub: str) -> Any:
        """A stub's header fields: its sentences are each service's own."""
        head = stub.partition("\n\n")[0].splitlines()[1:]
        fields = dict(found.groups() for line in head if (found := _FIELD.fullmatch(line)))
        return {"stub": self.value(fields)} if fields else {"stub cut": True}

    def _text(self, text: str) -> str:
        for word, name in self._words:
            text = text.replace(word, name)
        if self._user:
            text = text.replace(f"viking://user/{self._user}/", "viking://user/{user}/")
        text = _AUTO_ID.sub("{auto id}", text)
        text = _MESSAGE_ID.sub(self._message, text)
        text = _RESULT_ID.sub(r"\1\2", text)
        if found := _TIME.fullmatch(text):
            moment = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text))
            if abs(moment - datetime.now(timezone.utc)) < timedelta(hours=1):
                return f"{{time of {len(found[1] or '.') - 1} digits, {found[2]}}}"
        return text

    def _message(self, found: re.Match[str]) -> str:
        return self._messages.setdefault(found[0], "msg_{%d}" % (len(self._messages) + 1))

    def _header(self, value: str | None) -> str | None:
        if value is None:
            return None
        if _UUID.fullmatch(value):
            return "{uuid}"
        return "{seconds}" if re.fullmatch(r"\d+\.\d+(e-\d+)?", value) else self._text(value)


def _folded(text: str) -> str:
    """A long text as its head, its length and its hash."""
    if len(text) <= LONG:
        return text
    return f"{text[:60]}… {len(text)} characters, sha256 {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _folded_list(values: list[Any]) -> Any:
    """A long list as its ends, its length and its hash."""
    if len(values) <= LONG_LIST:
        return values
    text = json.dumps(values, ensure_ascii=False, sort_keys=True)
    return {"items": len(values), "ends": [values[0], values[-1]], "sha256": hashlib.sha256(text.encode()).hexdigest()[:16]}


def differences(theirs: Any, ours: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Every place where two normal answers differ: path, theirs, ours. An absent value is `...`."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for name in [*theirs, *(name for name in ours if name not in theirs)]:
            yield from differences(theirs.get(name, ...), ours.get(name, ...), f"{path}.{name}" if path else name)
        common = [name for name in theirs if name in ours]
        if path.startswith("body") and common != (order := [name for name in ours if name in theirs]):
            yield f"{path} (order of keys)", common, order
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for index, (left, right) in enumerate(zip(theirs, ours, strict=True)):
            yield from differences(left, right, f"{path}.{index}")
    elif type(theirs) is not type(ours) or theirs != ours:
        yield path, theirs, ours


def short(value: Any, limit: int = 160) -> str:
    """A value for a line of the report."""
    if value is ...:
        return "(absent)"
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)})"
