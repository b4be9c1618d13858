"""scripts/gdb/weir.py: coroutines and their stacks, in a running server and in a core file."""

import re
import subprocess

import pytest

from flv import HttpFlv
from hostile import Peer
from media import publisher
from weir import BINARY, TOP

SCRIPT = TOP / "scripts" / "gdb" / "weir.py"


def gdb(*arguments, commands):
    command = ["gdb", "-batch", "-nx", "-x", SCRIPT, *arguments]
    for line in commands:
        command += ["-ex", line]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    if "ptrace: Operation not permitted" in done.stderr:
        pytest.fail("gdb may not attach here: run as root, or `sysctl kernel.yama.ptrace_scope=0`; a container needs "
                    "--cap-add=SYS_PTRACE")
    assert "Python Exception" not in done.stderr and "Traceback" not in done.stderr, done.stderr
    return done.stdout + done.stderr


def stacks(text):
    """name -> the text of its stack (of the last of that name), from `weir bt all`."""
    parts = re.split(r"^coroutine \d+ ", text, flags=re.M)[1:]
    return {re.match(r"(.*) \S+ (?:waiting|ready|running|sleeping|starting)", part)[1]: part for part in parts}


def check(text):
    rows = [line for line in text.splitlines() if re.match(r"\d+ {2,}\S", line)]
    row = {re.split(r" {2,}", line)[1]: line for line in rows}
    assert re.search(r"waiting +a connection, fd \d+ .*Acceptors::accept_loop acceptors\.cc:\d+", row["rtmp accept"])
    # Two: the publisher may be at work when it is stopped, the other one is not. Below 0 where gdb took long.
    idle = r"rtmp +r\w{7} +waiting +bytes of the peer, fd \d+, -?\d+\.\d s left +\d+\.\d/64 KiB"
    assert any(re.search(idle, line) for line in rows), text
    assert re.search(r"^(\d+) coroutines$", text, re.M)[1] == str(len(rows))

    stack = stacks(text)
    assert set(row) == set(stack)
    for name, innermost in (("rtmp accept", "Acceptors::accept_loop"), ("http-accept", "Acceptors::accept_loop"),
                            ("rtmp", "RtmpConnection::converse"), ("pump", "Pump::run"), ("reactor", "Reactor::run")):
        assert innermost in stack[name], stack[name]
        assert "Scheduler::thread_main" in stack[name], f"the stack is whole: {stack[name]}"
    assert re.search(r"\bserve at main\.cc:\d+", stack["main"]), stack["main"]
    assert "TcpListener::accept" in stack["rtmp accept"] and "RtmpConnection::hear_in_turns" in stack["rtmp"]


@pytest.fixture
def busy(weir, folder):
    """A server with a publisher, a player, and somebody who says nothing."""
    with publisher(weir.rtmp(), folder), Peer(weir.rtmp_port):
        weir.wait_live()
        with HttpFlv(weir.http_port) as player:
            reader = player.reader()
            reader.tags_until(lambda tag: tag.is_key_frame())
            yield weir, reader


def test_shows_stacks_of_a_running_server_which_lives_on(busy):
    server, reader = busy
    text = gdb("-p", str(server.process.pid), commands=["weir coroutines", "weir bt all"])
    check(text)
    reader.tags_until(lambda tag: tag.is_key_frame())  # one that is sent after the stop
    assert server.process.poll() is None and {"publisher", "player"} <= {each["role"] for each in server.clients()}


def test_shows_stacks_in_a_core_file(busy, folder):
    server, reader = busy
    pid = server.process.pid
    done = subprocess.run(["gcore", "-o", folder / "core", str(pid)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    reader.tags_until(lambda tag: tag.is_key_frame())
    check(gdb(BINARY, folder / f"core.{pid}", commands=["weir coroutines", "weir bt all"]))


def test_shows_what_a_core_file_that_was_cut_off_still_has(busy, folder):
    server, _ = busy
    pid = server.process.pid
    subprocess.run(["gcore", "-o", folder / "core", str(pid)], capture_output=True, timeout=60, check=True)
    core = folder / f"core.{pid}"
    whole = core.stat().st_size
    for share in (0.75, 0.4):
        with open(core, "r+b") as file:
            file.truncate(int(whole * share))
        text = gdb(BINARY, core, commands=["weir coroutines", "weir bt all", "echo the end\\n"])
        assert "the end" in text and re.search(r"coroutines$|weir: |no process or core file", text, re.M), text


def test_runs_any_command_on_a_coroutine_and_names_what_there_is(weir):
    accepting = re.search(r"^(\d+) +rtmp accept", gdb("-p", str(weir.process.pid), commands=["weir coroutines"]), re.M)[1]
    text = gdb("-p", str(weir.process.pid), commands=[
        "python print('before', hex(gdb.selected_frame().pc()))", f"weir with {accepting} frame", "weir bt nobody",
        "python print('after', hex(gdb.newest_frame().pc()))"])
    assert "accept_loop" in text
    assert re.search(r"no coroutine 'nobody': .*rtmp accept", text)
    assert re.search(r"^before (\S+)$", text, re.M)[1] == re.search(r"^after (\S+)$", text, re.M)[1]


def test_coroutine_that_runs_is_told_from_those_that_wait(busy):
    server, reader = busy
    text = gdb("-p", str(server.process.pid), commands=[
        "tbreak weir::net::Player::flush", "continue", "weir coroutines", "weir bt all"])
    running = re.findall(r"^\d+ {2,}(\S.*?) {2,}\S+ +running +- ", text, re.M)
    assert len(running) == 1 and running[0] in ("pump", "small pumps"), text
    stack = stacks(text)[running[0]]
    assert re.search(r"#0 .* in weir::net::Player::flush", stack) and "Scheduler::thread_main" in stack, stack
    assert "RtmpConnection::converse" in stacks(text)["rtmp"], "the others are found as well"
    reader.tags_until(lambda tag: tag.is_key_frame())
