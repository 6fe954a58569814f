"""What the proxy takes: time of a small call, and time and memory of large results."""

import json
import statistics
import subprocess
import time
from pathlib import Path

from common import IS_DEBUG, TOOLSTUB, done, fake, fake_over_http, is_stub, proxied, ref_of, same
from fake import text
from wire import Wire

# In milliseconds: what a small call may take more. A build for debugging is let take more.
OVERHEAD = 1.5 if IS_DEBUG else 0.2
# In seconds: what 60 MB may take.
TIME = 30 if IS_DEBUG else 3


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
        pairs = [[call(process) for process in processes] for _ in range(400)][100:]
        medians.append((statistics.median(through - direct for direct, through in pairs),
                        statistics.median(direct for direct, _ in pairs)))
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
    wire = Wire(proxied(upstream), is_modern)
    wire.open()
    begun = time.monotonic()
    ids = [wire.begin("tools/call", {"name": tool, "arguments": {"length": size}}) for _ in range(at_once)]
    stubs = {json.loads(wire.answer_to(id, 300))["result"]["content"][0]["text"] for id in ids}
    taken, held = time.monotonic() - begun, peak(wire)
    for stub in stubs:
        assert is_stub(stub) and f"\noriginal_chars: {size}\n" in stub, stub[:500]
    end = wire.call("openviking_tool_result_read", {"ref": ref_of(stub), "offset": size - 100, "limit": -1})
    same(end["content"][0]["text"], text(size)[-100:], "the end of the original")
    wire.process.kill()
    assert held <= memory, f"{name}: {held} MB"
    assert taken <= TIME * max(1, size * at_once / 60_000_000), f"{name}: {taken} s"
    done(f"{name}: {at_once} x {size / 1e6:.0f} million characters in {taken:.2f} s, with {held:.0f} MB")


overhead()
large("streams", fake(), "error", 60_000_000, 1, 999)
large("streams, said twice", fake(), "rows", 60_000_000, 1, 999)
large("streams, many", fake(), "error", 10_000_000, 16, 999)
for is_modern in (False, True):
    era = "later" if is_modern else "earlier"
    with fake_over_http(f"logs/load-{era}") as url:
        large(f"HTTP, {era}", [url], "error", 60_000_000, 1, 999, is_modern)
        large(f"HTTP, {era}, many", [url], "error", 10_000_000, 16, 999, is_modern)
