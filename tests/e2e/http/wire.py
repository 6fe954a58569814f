"""One request as it is written, one answer as it came: nothing is followed, decoded or tidied on the way."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class Answer:
    """What a service answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    def value(self) -> Any:
        """The body as JSON, as text where it is not JSON, `None` where there is none."""
        if not self.body:
            return None
        try:
            return json.loads(self.body)
        except ValueError:
            return self.body.decode("utf-8", "replace")


class Wire:
    """A connection to one service, kept open from call to call."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise SystemExit(f"not an http URL: {url}")
        self.base = f"http://{parts.netloc}"
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=TIMEOUT_SECONDS)

    def call(self, method: str, target: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Answer:
        """Sends one request; a connection that the service closed meanwhile is opened again, once."""
        for last in (False, True):
            try:
                return self.once(method, target, body, headers or {})
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                self._connection.close()
                if last:
                    raise
        raise AssertionError("the loop returns or raises")

    def once(self, method: str, target: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        """Sends one request, once, whatever comes of it."""
        try:
            return self._exchange(method, target, body, headers)
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise

    def _exchange(self, method: str, target: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        self._connection.putrequest(method, target, skip_accept_encoding=True)
        for name, value in headers.items():
            self._connection.putheader(name, value)
        if body is not None:
            self._connection.putheader("Content-Length", str(len(body)))
        elif method in ("POST", "PUT", "PATCH"):
            self._connection.putheader("Content-Length", "0")
        self._connection.endheaders(body)
        response = self._connection.getresponse()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
