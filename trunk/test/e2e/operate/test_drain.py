"""`weir --drain`: what a hook before the end of a container or of a service runs."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import pytest

from flv import HttpFlv
from media import publisher
from test_life import health, wait_end
from weir import BINARY, is_late, wait_until
from weir import wait_end as wait_process

NOT_RUNNING, DENIED, GOES_ON = 2, 3, 4


def drain(*words, **options):
    """(exit code, all that it printed)"""
    done = subprocess.run([BINARY, "--drain", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=30, **options)
    return done.returncode, done.stdout


@pytest.fixture
def named(new_weir, folder):
    """A server with a pid file."""
    return new_weir(f'pid "{folder}/weir.pid";').start()


@pytest.mark.smoke
def test_it_waits_until_the_last_client_has_left(named, folder):
    with publisher(named.rtmp(), folder):
        named.wait_live()
        with HttpFlv(named.http_port) as player:
            reader = player.reader()
            reader.tags_until(lambda tag: tag.is_key_frame())
            command = subprocess.Popen([BINARY, "--drain", "-c", named.config_path, "--timeout", "30"], stdout=subprocess.PIPE, text=True)
            try:
                wait_until(lambda: health(named.api_port, "/readyz")[0] == 503, 10, "no balancer sends anybody")
                assert command.stdout.readline() == f"weir: process {named.process.pid} drains\n"
                report = command.stdout.readline()
                assert report.startswith("weir: draining publishers=1 players=1 others=0 remaining=2 pid="), report
                reader.tags_until(lambda tag: tag.is_key_frame())  # it still plays
                assert command.poll() is None and health(named.api_port) == (200, "ok\n")
            finally:
                if command.poll() is None and named.process.poll() is not None:
                    command.kill()
    try:
        assert wait_process(command, 10) == 0
        assert command.stdout.read() == f"weir: process {named.process.pid} has ended\n"
    finally:
        command.kill()
        command.wait()
    assert wait_end(named, 10) == 0


def test_its_time_is_bounded_and_the_drain_goes_on(named, folder):
    with publisher(named.rtmp(), folder):
        named.wait_live()
        started = time.monotonic()
        code, text = drain("-c", named.config_path, "--timeout", "1")
        assert code == GOES_ON and "still drains after 1 s" in text, text
        assert not is_late(started, 10) and named.process.poll() is None
    assert wait_end(named, 10) == 0


def test_a_process_can_be_named(weir):
    code, text = drain(weir.process.pid, "-c", weir.config_path)
    assert code == 0 and text.endswith("has ended\n"), text
    assert wait_end(weir, 10) == 0


def test_it_says_that_no_server_runs(new_weir, folder):
    weir = new_weir(f'pid "{folder}/weir.pid";')
    code, text = drain("-c", weir.config_path)
    assert code == NOT_RUNNING and "no server runs" in text and "weir.pid" in text, text
    (folder / "weir.pid").write_text("")  # as a server leaves it that may not remove it
    code, text = drain("-c", weir.config_path)
    assert code == NOT_RUNNING and "holds no process id" in text, text


def test_it_leaves_a_stranger_alone_that_has_the_number_now(new_weir, folder):
    weir = new_weir(f'pid "{folder}/weir.pid";')
    stranger = subprocess.Popen(["sleep", "60"])
    try:
        (folder / "weir.pid").write_text(f"{stranger.pid}\n")
        code, text = drain("-c", weir.config_path)
        assert code == NOT_RUNNING and "is no weir: it is sleep" in text, text
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()
    code, text = drain(stranger.pid)
    assert code == NOT_RUNNING and "does not run" in text, text


def test_only_its_user_may(weir):
    if os.getuid() != 0:
        return  # then there is nobody else to be; root's runs look
    with tempfile.TemporaryDirectory() as readable:
        os.chmod(readable, 0o755)
        shutil.copy(BINARY, f"{readable}/weir")
        done = subprocess.run([f"{readable}/weir", "--drain", str(weir.process.pid)], user=65534, group=65534, extra_groups=[], cwd="/",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30)
    assert done.returncode == DENIED and "belongs to another user" in done.stdout, done.stdout
    assert health(weir.api_port, "/readyz") == (200, "ok\n")


def test_what_cannot_be_meant_is_explained(weir, folder):
    code, text = drain("-c", weir.config_path)
    assert code == 1 and "no directive pid" in text, text
    (folder / "bad.conf").write_text("lissten 1;")
    code, text = drain("-c", folder / "bad.conf")
    assert code == 1 and "lissten" in text and "weir --drain PID" in text, text
    code, text = drain("--timeout", "soon")
    assert code == 1 and "usage: weir" in text, text
    assert health(weir.api_port, "/readyz")[0] == 200


def test_the_api_begins_a_drain_too(new_weir, folder):
    weir = new_weir()
    weir.config_path.write_text(weir.config_path.read_text().replace("http_api {", "http_api { token admin long-secret; token read other;"))
    weir.start()

    def ask(token):
        request = urllib.request.Request(f"http://127.0.0.1:{weir.api_port}/api/v1/drain", method="POST",
                                         headers={"Authorization": f"Bearer {token}"})
        try:
            return urllib.request.urlopen(request, timeout=5).status
        except urllib.error.HTTPError as error:
            return error.code
    with publisher(weir.rtmp(), folder):
        wait_until(lambda: re.search(r"publish stream=", weir.log()), 8, "somebody publishes")
        assert ask("other") == 403 and health(weir.api_port, "/readyz")[0] == 200
        assert ask("long-secret") == 202
        wait_until(lambda: health(weir.api_port, "/readyz")[0] == 503, 10, "no balancer sends anybody")
        assert weir.process.poll() is None
    assert wait_end(weir, 10) == 0


def test_a_node_of_a_cluster_still_answers_other_nodes(new_weir, folder):
    weir = new_weir("cluster { node a; secret 0123456789abcdef; }").start()

    def ask(path, **fields):
        try:
            return urllib.request.urlopen(urllib.request.Request(weir.http(path), headers=fields), timeout=5).status
        except urllib.error.HTTPError as error:
            return error.code
    with publisher(weir.rtmp(), folder):
        weir.wait_live()
        assert ask("/live.json") == 200
        weir.process.send_signal(signal.SIGQUIT)
        wait_until(lambda: health(weir.http_port, "/readyz")[0] == 503, 10, "no balancer sends anybody")
        assert health(weir.http_port) == (200, "ok\n")
        assert ask("/live/livestream.flv") == 503 and ask("/live.json") == 503, "clients are sent elsewhere"
        assert ask("/live.json", **{"Weir-Relay": "1"}) == 503
        assert ask("/live/livestream.flv?relay=1", **{"Weir-Relay": "1"}) == 403, "another node's request is judged as ever"
    assert wait_end(weir, 10) == 0
