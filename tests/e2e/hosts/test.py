"""What enters the context of real hosts, and what their models read back."""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import traceback
from pathlib import Path
from types import SimpleNamespace

from hosts import HOSTS
from lines import lines
from model import Model

WORK = Path.cwd()
HOME, REPOSITORY, GIVEN = WORK / "home", WORK / "repository", WORK / "given"
STORE = HOME / ".local/share/toolstub"
SECONDS = 120
SMALL, MIDDLE, LARGE = 20, 900, 12000
READ, SEARCH = "openviking_tool_result_read", "openviking_tool_result_search"
failed = []


def check(what, holds, seen=""):
    print(f"ok  {what}" if holds else f"BAD {what}: {str(seen)[:600]!r}", flush=True)
    if not holds:
        failed.append(what)


def same(what, seen, expected):
    at = next((n for n, (left, right) in enumerate(zip(seen, expected)) if left != right), min(len(seen), len(expected)))
    check(what, seen == expected, f"at {at} of {len(seen)} and {len(expected)}: {seen[at:at + 80]!r}, not {expected[at:at + 80]!r}")


def environment(host):
    # A proxy that is not there: nothing leaves this machine.
    nowhere = {name: "http://127.0.0.1:9" for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")}
    here = {name: "127.0.0.1,localhost" for name in ("NO_PROXY", "no_proxy")}
    path = f"{WORK}/bin:{WORK}/node_modules/.bin:{os.environ['PATH']}"
    return {"HOME": str(HOME), "PATH": path, "LANG": "C.UTF-8", "TERM": "dumb", **nowhere, **here, **host.environment}


def toolstub(host, *words):
    done = subprocess.run(
        [WORK / "bin/toolstub", *words], env=environment(host), cwd=REPOSITORY, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, f"toolstub {words}: {done.stderr}"
    return done.stdout


def play(host, model, script, is_resumed=False):
    """Runs the host until it ends; its model does what the script says."""
    model.play(script)
    process = subprocess.Popen(
        host.command(is_resumed), env=environment(host), cwd=REPOSITORY, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        said = f"not done in {SECONDS} seconds"
    finally:
        # Whatever it has started goes with it.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    if model.fault:
        raise model.fault
    assert model.is_done and process.returncode == 0, f"exit code {process.returncode}: {said[-1500:]}"


def plain(host, seen, *servers):
    """Results that stay: a small one, and long ones where toolstub is not there or cannot work."""

    def script():
        seen.small, = yield [host.shell("small", SMALL)]
        seen.middle, = yield [host.shell("middle", MIDDLE)]
        for server in servers:
            result, = yield [host.tool(server, "lines", name="served", count=MIDDLE)]
            setattr(seen, server, result)

    return script


def reading(host, server, ref, query):
    """Searches, reads what was found, and reads all, page by page, with no limit named."""
    answer = SimpleNamespace()
    found, = yield [host.tool(server, SEARCH, tool_output_ref=ref, query=query)]
    answer.search = host.of_server(found.text)
    match = re.search(r"offset (\d+)", answer.search)
    assert match, f"nothing was found: {answer.search[:300]}"
    piece, = yield [host.tool(server, READ, tool_output_ref=ref, offset=int(match[1]), limit=len(query))]
    answer.found = re.sub(r"\n\[next_offset: \d+ of \d+\]\Z", "", host.of_server(piece.text))
    offset, pieces = 0, []
    while offset is not None:
        piece, = yield [host.tool(server, READ, tool_output_ref=ref, offset=offset)]
        text = host.of_server(piece.text)
        assert not piece.failed, f"an error: {text[:300]}"
        end = re.search(r"\n\[next_offset: (\d+) of \d+\]\Z", text)
        pieces.append(text[: end.start()] if end else text)
        offset = int(end[1]) if end else None
    answer.text, answer.pages = "".join(pieces), len(pieces)
    return answer


def ref_of(host, result):
    text = host.of_server(result.text)
    ref = re.search(r"^ref: (\S+)$", text, re.M)
    assert ref, f"no ref in {text[:300]}"
    return ref[1]


def working(host, seen, elsewhere):
    def script():
        seen.small, = yield [host.shell("small", SMALL)]
        # Two of a turn, twice.
        seen.middle, seen.lines = yield [host.shell("middle", MIDDLE), host.tool("lines", "lines", name="proxied", count=MIDDLE)]
        seen.direct, seen.large = yield [host.tool("direct", "lines", name="served", count=MIDDLE), host.shell("large", LARGE)]
        seen.read = {}
        for name, server, query in (
            ("middle", "toolstub", f"middle {MIDDLE // 2}: é 🦀"),
            ("lines", "lines", f"proxied {MIDDLE // 2}: é 🦀"),
            ("direct", "toolstub", f"served {MIDDLE // 2}: é 🦀"),
            ("large", "toolstub", f"large {LARGE - 99}: é 🦀"),
        ):
            seen.read[name] = yield from reading(host, server, ref_of(host, getattr(seen, name)), query)
            seen.read[name].query = query
        seen.elsewhere = yield from reading(host, "toolstub", elsewhere, "é 🦀")

    return script


def is_stub(host, what, result, bulk):
    """A short text with a ref and nothing of the middle, and no error."""
    text = host.of_server(result.text)
    good = text.startswith("[tool result externalized: ") and len(result.text) < 2500 and bulk not in text
    check(f"{what} entered as a stub of {len(result.text)} characters", good and not result.failed, result.raw)


def given():
    """What the hooks of Codex were given, as a hook of the user's own kept it."""
    return [json.loads(path.read_text())["tool_response"] for path in sorted(GIVEN.iterdir())]


def contents(host):
    return {path: (HOME / path).read_bytes() if (HOME / path).exists() else None for path in host.changed}


def work(host, model, elsewhere):
    """Everything of one host; returns a ref, and the text behind it."""
    name = host.name
    for path, text in host.files(model.url).items():
        (HOME / path).parent.mkdir(parents=True, exist_ok=True)
        (HOME / path).write_text(text)
    if name == "opencode":
        shutil.copytree(WORK / "plugin", HOME / ".config/opencode", symlinks=True, dirs_exist_ok=True)

    without = SimpleNamespace()
    play(host, model, plain(host, without, "direct"))
    check(f"{name}: without toolstub a long output enters whole", lines("middle", MIDDLE) in without.middle.text, without.middle.raw)
    check(f"{name}: and so does what a server returns", lines("served", MIDDLE) in without.direct.text, without.direct.raw)

    before = contents(host)
    toolstub(host, "init", *host.init)
    configured = contents(host)
    check(f"{name}: init changes {', '.join(host.changed)}", all(configured[path] != before[path] for path in host.changed))
    toolstub(host, "init", *host.init)
    check(f"{name}: a second init changes nothing", contents(host) == configured)
    toolstub(host, "init", *host.init, "--uninstall")
    check(f"{name}: --uninstall gives the files back to the byte", contents(host) == before, contents(host))
    toolstub(host, "init", *host.init)
    check(f"{name}: init writes the same again", contents(host) == configured)

    without_store(host, model, without)
    for path in GIVEN.iterdir():
        path.unlink()
    seen = SimpleNamespace()
    play(host, model, working(host, seen, elsewhere[0]))
    same(f"{name}: a short output enters as it was", host.of_command(seen.small.text), host.of_command(without.small.text))
    for part, text in (
        ("middle", host.before + lines("middle", MIDDLE) + host.behind),
        ("lines", lines("proxied", MIDDLE)),
        ("direct", lines("served", MIDDLE)),
        ("large", host.before + lines("large", LARGE) + host.behind),
    ):
        result, read = getattr(seen, part), seen.read[part]
        what = f"{name}: {HEADINGS[part]}"
        is_stub(host, what, result, read.query)
        incomplete = "original incomplete" in result.text
        if part == "large" and host.cuts:
            check(f"{what}: the stub says that the original is incomplete", incomplete, result.raw)
            check(f"{what}: what the hook was given reads back, in {read.pages} pages", read.text in given(), read.text[:300])
        else:
            check(f"{what}: the stub does not call the original incomplete", not incomplete, result.raw)
            same(f"{what}: reads back exactly, in {read.pages} pages", host.of_command(read.text), text)
        same(f"{what}: a search finds its place", read.found, read.query)
        digest = re.search(r"^sha256: (\w+)$", host.of_server(result.text), re.M)
        same(f"{what}: the digest is that of what was read", digest[1], hashlib.sha256(read.text.encode()).hexdigest()[: len(digest[1])])
    same(f"{name}: what was stored elsewhere reads back exactly", seen.elsewhere.text, elsewhere[1])

    resumed(host, model)
    if host.cuts:
        cut(host, model)
    uninstalled(host, before)
    return ref_of(host, seen.middle), seen.read["middle"].text


def without_store(host, model, without):
    """A file stands in the place of the store."""
    aside, broken = STORE.with_name("aside"), SimpleNamespace()
    STORE.rename(aside)
    STORE.write_text("not a store")
    try:
        play(host, model, plain(host, broken, "direct"))
        for part in ("small", "middle"):
            seen, expected = getattr(broken, part), getattr(without, part)
            same(f"{host.name}: with a broken store the {part} output is what it was", host.of_command(seen.text), host.of_command(expected.text))
        same(f"{host.name}: and what a server returns", host.of_server(broken.direct.text), host.of_server(without.direct.text))
        check(f"{host.name}: and nothing is marked as an error", not any(part.failed for part in vars(broken).values()), broken)
        with reported(f"{host.name}: with a broken store the proxy lets through what its server returns"):
            play(host, model, plain(host, broken, "lines"))
            same(f"{host.name}: with a broken store the proxy changes nothing", host.of_server(broken.lines.text), host.of_server(without.direct.text))
        same(f"{host.name}: what stands in the store's place stays", STORE.read_text(), "not a store")
    finally:
        STORE.unlink()
        aside.rename(STORE)


@contextlib.contextmanager
def reported(what):
    """What is done in it ends without a fault; else that is a fact that does not hold."""
    try:
        yield
    except Exception as fault:
        traceback.print_exc(file=sys.stdout)
        check(what, False, fault)
    else:
        check(what, True)


def resumed(host, model):
    """A conversation that ended, and is taken up by another process."""
    first, then = SimpleNamespace(), SimpleNamespace()

    def begin():
        first.middle, = yield [host.shell("resumed", MIDDLE)]

    def go_on():
        then.read = yield from reading(host, "toolstub", ref_of(host, first.middle), f"resumed {MIDDLE // 2}: ")

    play(host, model, begin)
    play(host, model, go_on, is_resumed=True)
    earlier = [result.text for result in model.earlier]
    check(f"{host.name}: a resumed conversation holds the stub", first.middle.text in earlier, earlier)
    same(f"{host.name}: and reads the original", host.of_command(then.read.text), host.before + lines("resumed", MIDDLE) + host.behind)


def cut(host, model):
    """What the host cuts, by its default, before the hook sees it."""
    host.limit, seen = [], SimpleNamespace()

    def script():
        seen.middle, = yield [host.shell("middle", LARGE)]
        seen.read = yield from reading(host, "toolstub", ref_of(host, seen.middle), f'"{(LARGE - 1) * 7919 % 10007}"')

    play(host, model, script)
    what = f"{host.name}: an output that it cuts by default"
    is_stub(host, what, seen.middle, f"middle {LARGE // 4}: ")
    check(f"{what}: the stub says that the original is incomplete", "original incomplete" in seen.middle.text, seen.middle.raw)
    check(f"{what}: what the hook was given ({len(seen.read.text)} characters) reads back", seen.read.text in given(), seen.read.text[:300])


def uninstalled(host, before):
    """Takes toolstub out after all that the host has done."""
    used = contents(host)
    toolstub(host, "init", *host.init, "--uninstall")
    after = contents(host)
    for path in host.changed:
        if path in host.its_own:
            expected = json.loads(used[path])
            del expected["mcpServers"]["toolstub"]
            check(f"{host.name}: --uninstall takes out of {path}, which the host writes, what is ours", json.loads(after[path]) == expected)
        else:
            check(f"{host.name}: after all, --uninstall gives {path} back to the byte", after[path] == before[path], after[path])
    toolstub(host, "init", *host.init)
    toolstub(host, "init", *host.init, "--uninstall")
    check(f"{host.name}: and once more", contents(host) == after)


HEADINGS = {
    "middle": "a long output",
    "lines": "a long result through the proxy",
    "direct": "a long result of a server",
    "large": "a very long output",
}


def loopback():
    """Brings up the loopback of a network of one's own."""
    request = struct.pack("16sh", b"lo", 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        fcntl.ioctl(handle, 0x8914, request)


def main(words):
    if "--alone" in words:
        loopback()
    names = [word for word in words if word != "--alone"] or [host.name for host in HOSTS]
    unknown = set(names) - {host.name for host in HOSTS}
    assert not unknown, f"no such hosts: {unknown}"
    for folder in (HOME, REPOSITORY, GIVEN):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    subprocess.run(["git", "init", "-q", REPOSITORY], check=True)
    model = Model()
    # Hosts of one user share a store. The first of them reads what the command line put there.
    text = lines("elsewhere", MIDDLE)
    (WORK / "elsewhere.txt").write_text(text, encoding="utf-8", newline="\n")
    stub = toolstub(HOSTS[0], "put", str(WORK / "elsewhere.txt"))
    elsewhere = re.search(r"^ref: (\S+)$", stub, re.M)[1], text
    for host in HOSTS:
        if host.name not in names:
            continue
        print(f"\n== {host.name}", flush=True)
        with reported(f"{host.name}: ran to its end"):
            version = subprocess.run([host.program, "--version"], env=environment(host), capture_output=True, text=True, timeout=SECONDS)
            print(f"    {version.stdout.strip()}", flush=True)
            elsewhere = work(host, model, elsewhere)
    print(f"\n{len(failed)} facts do not hold" if failed else "\nall facts hold")
    return 1 if failed else 0


sys.exit(main(sys.argv[1:]))
