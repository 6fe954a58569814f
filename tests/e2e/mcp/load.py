"""What the proxy takes: time of a small call, and time and memory of large results."""

import contextlib
import json
import os
import statistics
import subprocess
import time
from pathlib import Path

from common import IS_DEBUG, OURS, done, fake, fake_over_http, is_stub, proxied, ref_of, same
from fake import text
from wire import Wire

# In milliseconds: what a small call may take more. A build for debugging is let take more.
OVERHEAD = 0.5 if IS_DEBUG else 0.2
# In seconds: what 60 MB may take.
TIME = 10 if IS_DEBUG else 3
# So many results of 10 MB at once are more than the proxy may hold.
MANY = 16 if IS_DEBUG else 32
LINE = 'a line of "text", again and again\n'


def overhead():
    """The median of what a small call takes more, over pairs of calls, one after the other."""
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                 for command in (fake(), proxied(fake()))]

    def call(process):
        begun = time.perf_counter()
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/call",'
                            b'"params":{"name":"echo","arguments":{"text":"twenty bytes of text"}}}\n')
        process.stdin.flush()
        line = process.stdout.readline()
        taken = time.perf_counter() - begun
        assert b"twenty bytes of text" in line, line
        return taken * 1000

    medians = []
    # Other work on the machine makes some rounds slow; a slow proxy makes all slow.
    for _ in range(5):
        pairs = []
        for nth in range(400):
            # Each of the two is the first of a pair as often as the other.
            order = processes if nth % 2 else processes[::-1]
            taken = {process: call(process) for process in order}
            pairs.append([taken[process] for process in processes])
        medians.append((statistics.median(through - direct for direct, through in pairs[100:]),
                        statistics.median(direct for direct, _ in pairs[100:])))
        if min(medians)[0] <= OVERHEAD:
            break
    for process in processes:
        process.stdin.close()
        process.wait(10)
    more, direct = min(medians)
    assert more <= OVERHEAD, f"a small call takes {medians} ms more"
    done(f"a small call takes {direct:.3f} ms, through the proxy {more:.3f} ms more")


def peak(wire):
    """The most memory that a process has held, in MB."""
    status = Path(f"/proc/{wire.process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1000


def large(name, upstream, tool, size, at_once, memory, is_modern=False):
    """Results of a size, asked for at once: each leaves a stub, and the proxy stays within the memory."""
    bound = TIME * size * at_once * (2 if tool == "rows" else 1) / 60_000_000
    for _ in range(3):
        wire = Wire(proxied(upstream), is_modern)
        wire.open()
        begun = time.monotonic()
        call = {"name": tool, "arguments": {"length": size, "line": LINE}}
        ids = [wire.begin("tools/call", call) for _ in range(at_once)]
        stubs = [json.loads(wire.answer_to(id, 300))["result"]["content"][0]["text"] for id in ids]
        taken, held = time.monotonic() - begun, peak(wire)
        for stub in stubs:
            assert is_stub(stub) and f"\noriginal_chars: {size}\n" in stub, stub[:500]
        end = wire.call(OURS[0], {"ref": ref_of(stub), "offset": size - 100, "limit": -1})
        same(end["content"][0]["text"], text(size, LINE)[-100:], "the end of the original")
        wire.process.kill()
        wire.process.wait()
        assert held <= memory, f"{name}: {held} MB"
        # Where other work wants the processors too, the share that is left is less.
        most = bound * max(1, os.getloadavg()[0] / os.cpu_count())
        if taken <= most:
            break
    assert taken <= most, f"{name}: {taken} s"
    done(f"{name}: {at_once} x {size / 1e6:.0f} MB in {taken:.2f} s, with {held:.0f} MB of memory")


overhead()
for name, is_modern in (("streams", False), ("HTTP, earlier", False), ("HTTP, later", True)):
    with contextlib.ExitStack() as stack:
        upstream = [stack.enter_context(fake_over_http("-"))] if "HTTP" in name else fake()
        large(name, upstream, "error", 60_000_000, 1, 256, is_modern)
        if name != "HTTP, earlier":
            large(f"{name}, many", upstream, "error", 10_000_000, MANY, 320, is_modern)
        if name == "streams":
            large(f"{name}, said twice", upstream, "rows", 60_000_000, 1, 448, is_modern)
