"""Runs programs: their output in a file, a limit on their time, and the processor time that they took."""

import os
import subprocess
import threading
from typing import NamedTuple

from suite import places


class Done(NamedTuple):
    code: int | None  # null: it took too long
    text: str
    cpu: float = 0.0  # seconds of processor time, with that of its children


def run(command, log, limit, env=None):
    """Runs a program in a session of its own, and ends what it leaves there."""
    path = places.LOGS / log
    path.parent.mkdir(parents=True, exist_ok=True)
    late = threading.Event()
    with open(path, "wb") as out:
        process = subprocess.Popen(command, cwd=places.TOP, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   env={**os.environ, **(env or {})}, start_new_session=True)

        def end():
            late.set()
            kill_session(process.pid)

        timer = threading.Timer(limit, end)
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        finally:
            timer.cancel()
            kill_session(process.pid)
            if process.returncode is None:  # interrupted
                process.wait()
    return Done(None if late.is_set() else process.returncode, path.read_text(errors="replace"), usage.ru_utime + usage.ru_stime)


def kill_session(leader):
    try:
        os.killpg(leader, 9)
    except ProcessLookupError:
        pass


def tail(text, lines=15):
    return "\n".join(text.strip().splitlines()[-lines:])


def how(code, limit):
    if code is None:
        return f"was not done after {limit} s"
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"


def shell(command, env=None):
    prefix = "".join(f"{name}={value} " for name, value in (env or {}).items())
    return prefix + " ".join(str(word) for word in command)


SANITIZER_ENV = {
    "ASAN_OPTIONS": "halt_on_error=1:detect_stack_use_after_return=1:detect_leaks=1:leak_check_at_exit=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}


def environment(variant):
    return SANITIZER_ENV if variant == "sanitizer" else {}
