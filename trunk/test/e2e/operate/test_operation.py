"""The process: signals, ports, configuration, command line."""

import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from flv import HttpFlv
from media import play_curl, publisher
from weir import BINARY, STOP_SECONDS_ALONE, TOP, accepts, free_port, wait_until


def call(*arguments, seconds=15):
    done = subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.smoke
@pytest.mark.alone
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_it_in_under_a_second_with_clients_attached(weir, folder, number):
    with publisher(weir.rtmp(), folder):
        weir.wait_live()
        with HttpFlv(weir.http_port) as player:
            player.reader().tags_until(lambda tag: tag.is_key_frame())
            weir.stop(number, STOP_SECONDS_ALONE)  # checks the time and the exit code


def test_version_is_printed():
    code, said = call("-v")
    assert code == 0 and re.search(r"\d+\.\d+", said), said


def test_good_configuration_passes_the_test():
    code, said = call("-t", "-c", TOP / "conf" / "weir.conf")
    assert code == 0, said


@pytest.mark.parametrize("text, place, words", [
    ("listen 1935;\nlisten_backlogg 3;\n", ":2:1", []),
    ("listne 1935;\n", ":1:1", ["listne", "listen"]),
    ("max_connections lots;\n", ":1:17", ["lots"]),
    ("http_server {\n  listen 8080;\n", None, []),
    ("listen 1935\nchunk_size 4096;\n", None, []),
    ("play { queue_length 10 parsecs; }\n", ":1:", []),
])
def test_bad_configuration_is_explained(folder, text, place, words):
    path = folder / "bad.conf"
    path.write_text(text)
    code, said = call("-t", "-c", path)
    assert code != 0
    assert f"bad.conf{place or ':'}" in said, said
    for word in words:
        assert word in said, said


def test_missing_configuration_is_named(folder):
    code, said = call("-c", folder / "nowhere.conf")
    assert code != 0 and "nowhere.conf" in said, said


def test_unknown_option_is_refused():
    code, said = call("--frobnicate")
    assert code != 0 and "frobnicate" in said, said


@pytest.mark.parametrize("which", ["rtmp_port", "http_port", "api_port"])
def test_port_in_use_says_which_directive_and_who(new_weir, which):
    holder = new_weir().start()
    second = new_weir(name="second")
    text = second.config_path.read_text()
    second.config_path.write_text(text.replace(str(getattr(second, which)), str(getattr(holder, which))))
    code, said = call("-c", second.config_path)
    assert code != 0
    assert "in use" in said and str(getattr(holder, which)) in said and "listen" in said, said
    assert f"{holder.process.pid}" in said, f"the message names who holds the port: {said}"


def test_start_prints_addresses_to_click(weir):
    log = weir.log()
    assert f":{weir.rtmp_port}" in log and "rtmp://" in log, log
    assert f":{weir.http_port}" in log and "http://" in log, log


def test_one_summary_line_when_a_client_leaves(weir, folder):
    with publisher(weir.rtmp(), folder):
        weir.wait_live()
        play_curl(weir.http(), folder, 1)

    def summaries(role):
        return [line for line in weir.log().splitlines() if role in line and "bytes" in line and "reason" in line]
    for role in ("player", "publisher"):
        wait_until(lambda role=role: summaries(role), 20, f"a summary of the {role}")
        assert len(summaries(role)) == 1, weir.log()


def test_listens_on_ipv6_and_several_addresses(new_weir):
    extra = free_port()
    server = new_weir(f"listen [::1]:{extra};").start()
    assert accepts(server.rtmp_port)
    socket.create_connection(("::1", extra), 10).close()


def test_idle_process_is_small_and_quiet(weir):
    time.sleep(1)
    status = Path(f"/proc/{weir.process.pid}/status").read_text()
    resident_kib, own_kib = (int(re.search(rf"{name}:\s+(\d+)", status)[1]) for name in ("VmRSS", "RssAnon"))
    # Nearly all of it are pages of the program and its libraries, which other processes share and the kernel may drop; how many of
    # them it maps at once depends on what is in its cache.
    assert resident_kib < 16 * 1024 and own_kib < 2 * 1024, f"{resident_kib} KiB resident, {own_kib} of its own"

    def wakeups():
        text = Path(f"/proc/{weir.process.pid}/task/{weir.process.pid}/status").read_text()
        return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", text, re.M)[1])
    before = wakeups()
    time.sleep(2)
    assert (wakeups() - before) / 2 < 30
