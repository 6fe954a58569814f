"""What the tests share."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

# The clients pass no more of the environment on than they know.
TOOLSTUB = [os.environ["TOOLSTUB"], "--store", os.environ["TOOLSTUB_STORE"]]
# A build of cargo's for debugging is several times slower.
IS_DEBUG = Path(TOOLSTUB[0]).parent.name == "debug"
OURS = [f"openviking_tool_result_{name}" for name in ("read", "search", "list")]
FILES = Path("files").resolve()
REPOSITORY = Path("repository").resolve()
MODULES = Path("node_modules/@modelcontextprotocol").resolve()

EVERYTHING = ["node", f"{MODULES}/server-everything/dist/index.js"]
FILESYSTEM = ["node", f"{MODULES}/server-filesystem/dist/index.js", str(FILES)]
# Each of its processes has a graph of its own.
MEMORY = ["sh", "-c", 'MEMORY_FILE_PATH=$PWD/memory/$$ exec "$@"', "memory", "node",
          f"{MODULES}/server-memory/dist/index.js"]
GIT = ["v2/bin/mcp-server-git", "--repository", str(REPOSITORY)]
TIME = ["v2/bin/mcp-server-time", "--local-timezone=UTC"]
FETCH = ["v2/bin/mcp-server-fetch", "--ignore-robots-txt", "--allow-private-ips"]
SQLITE = ["v1/bin/mcp-server-sqlite", "--db-path", str(FILES / "rows.db")]


def proxied(command, *options):
    """The command with the proxy in front."""
    return [*TOOLSTUB, "proxy", *options, "--", *command]


def fake(*options, log="-"):
    return [sys.executable, "fake.py", str(log), "stdio", *options]


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def listening(command, port, **env):
    """A program, once it listens at its port."""
    process = subprocess.Popen(command, env={**os.environ, **env}, stderr=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(20)


@contextlib.contextmanager
def service():
    """The tools as `toolstub serve` offers them."""
    port = free_port()
    with listening([*TOOLSTUB, "serve", "--listen", f"127.0.0.1:{port}"], port) as url:
        yield url


def fake_over_http(log, *options):
    port = free_port()
    return listening([sys.executable, "fake.py", str(log), "http", str(port), *options], port)


def is_stub(text):
    return text.startswith("[tool result externalized: ")


def ref_of(stub):
    assert is_stub(stub), stub[:300]
    return re.search(r"^ref: (\S+)$", stub, re.M).group(1)


def joined(pieces):
    """The original, from the texts that reading it piece by piece gave."""
    return "".join(re.sub(r"\n\[next_offset: \d+ of \d+\]\Z", "", piece) for piece in pieces)


def next_offset(piece):
    found = re.search(r"\n\[next_offset: (\d+) of \d+\]\Z", piece)
    return int(found.group(1)) if found else None


def same(left, right, what):
    assert left == right, f"{what}: {str(left)[:500]} is not {str(right)[:500]}"


def done(what):
    print(f"ok  {what}", flush=True)
