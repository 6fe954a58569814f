#!/usr/bin/env python3
"""Everything here that needs no other service: `run.py target/release/toolstub`.

Starts the service twice in a fresh folder, without keys and with one, and puts it beside the recorded answers; then
the foreign client, where it is installed. Exit: 0 all as told, 1 not, 2 usage; 77 all as told, but no client was there.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
START_SECONDS = 30


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def served(program: str, store: str, key: str | None) -> Iterator[str]:
    """A service that runs, by its URL; stopped at the end."""
    url = f"http://127.0.0.1:{free_port()}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TOOLSTUB_")}
    if key:
        environment["TOOLSTUB_API_KEY"] = key
    command = [program, "serve", "--listen", url.removeprefix("http://"), "--store", store]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        until = time.monotonic() + START_SECONDS
        while True:
            with contextlib.suppress(urllib.error.URLError, OSError):
                urllib.request.urlopen(f"{url}/health", timeout=1).close()
                break
            if process.poll() is not None or time.monotonic() > until:
                process.kill()
                raise SystemExit(f"{' '.join(command)} did not start: {process.communicate()[1]}")
            time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.communicate(timeout=START_SECONDS)


def run(script: str, *arguments: str) -> int:
    """One of the scripts beside this one."""
    print(f"== {script} {' '.join(arguments)}", flush=True)
    return subprocess.run([sys.executable, HERE / script, *arguments], check=False).returncode


def main() -> int:
    """Runs all."""
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_file():
        print(__doc__, file=sys.stderr)
        return 2
    codes = [run("explain.py", "--check")]
    for key in (None, secrets.token_hex(16)):
        with tempfile.TemporaryDirectory() as store, served(sys.argv[1], store, key) as url:
            codes.append(run("side_by_side.py", "--ours", url, *(("--ours-key", key) if key else ())))
            codes.append(run("sdk.py", "--url", url, *(("--key", key) if key else ())))
    if any(code not in (0, 77) for code in codes):
        return 1
    return 77 if 77 in codes else 0


if __name__ == "__main__":
    sys.exit(main())
