"""One server of several processes, when something is wrong: strangers on the machine, sources that fail, starts that fail, a drain."""

import contextlib
import hashlib
import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from media import SAMPLE, publisher
from processes import COUNT, all_run, kill, pids, process_of, start
from relays import field
from rtmp import RtmpPlayer
from weir import BINARY, wait_end, wait_until


@pytest.fixture
def many(new_weir):
    return start(new_weir)


def publish(many, name="cam"):
    client = RtmpPlayer(many.rtmp_port, play=False, timeout=20)
    client.command("publish", 3, None, name, "live", stream=1)
    while True:
        kind, _, payload, _ = client.message()
        if kind == RtmpPlayer.COMMAND and b"NetStream.Publish" in payload:
            assert b"NetStream.Publish.Start" in payload
            return client


def get(port, path, headers=()):
    """Status and the beginning of the body."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=dict(headers))
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read(100)
    except urllib.error.HTTPError as error:
        return error.code, error.read(100)


def abstract_names(many):
    """What any user of the machine sees of the processes' sockets."""
    own = set()
    for pid in pids(many).values():
        for each in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                own.add(os.readlink(each))
    lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()]
    return {words[7] for words in lines if len(words) == 8 and words[7].startswith("@weir-") and f"socket:[{words[6]}]" in own}


# ---- other users of the machine ----


def test_what_every_user_sees_opens_no_stream(new_weir, folder):
    many = start(new_weir, "security { allow publish all; deny play all; }")
    names = abstract_names(many)
    assert len(names) == 4 * COUNT, names
    with publisher(many.rtmp("live/cam"), folder):
        many.wait_live("cam")
        target = "/live/cam.flv?relay=1"
        for secret in {word for name in names for word in name.split("-")} | names:
            for _ in range(2 * COUNT):
                status, _ = get(many.http_port, target, {"Weir-Relay": field(target, secret=secret)})
                assert status == 403, secret


def test_who_takes_the_name_of_a_process_that_ended_keeps_it_from_nothing(many):
    names = [name for name in abstract_names(many) if re.search(r"-0(-|$)", name)]
    kill(many, 0)
    with contextlib.ExitStack() as taken:
        for name in names:
            for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
                squatter = taken.enter_context(socket.socket(socket.AF_UNIX, kind))

                def take(squatter=squatter, name=name):
                    with contextlib.suppress(OSError):
                        squatter.bind("\0" + name[1:])
                        return True
                    return False

                wait_until(take, 20, "the name is free")
        wait_until(lambda: "it begins again" in many.log() and all_run(many), 20, "it is there again")
        assert not abstract_names(many) & set(names)
        assert many.log().count("it begins again") == 1


# ---- proofs that a client brings by a new connection ----


def test_a_login_of_rtmp_that_comes_to_several_processes(new_weir, folder):
    many = start(new_weir, 'security { publish_user studio "pass word"; }')
    for i in range(6):
        done = subprocess.run(["ffmpeg", "-hide_banner", "-loglevel", "warning", "-nostdin", "-i", str(SAMPLE), "-t", "1", "-c", "copy",
                               "-f", "flv", f"rtmp://studio:pass word@127.0.0.1:{many.rtmp_port}/live/s{i}"],
                              capture_output=True, timeout=30, cwd=folder)
        assert done.returncode == 0, done.stderr.decode(errors="replace")


SDP = "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\nm=audio 0 RTP/AVP 0\r\na=control:0\r\n"


def announce(port, url, field=""):
    with socket.create_connection(("127.0.0.1", port), 20) as peer:
        peer.sendall(f"ANNOUNCE {url} RTSP/1.0\r\nCSeq: 1\r\n{field}Content-Type: application/sdp\r\n"
                     f"Content-Length: {len(SDP)}\r\n\r\n{SDP}".encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            more = peer.recv(4096)
            assert more, answer
            answer += more
    return int(answer.split()[1]), answer.decode()


def test_a_nonce_of_rtsp_is_good_in_every_process(new_weir):
    many = start(new_weir, "security { publish_user studio wonderland; }")
    md5 = lambda text: hashlib.md5(text.encode()).hexdigest()  # noqa: E731
    url = f"rtsp://127.0.0.1:{many.rtsp_port}/live/s"
    status, asked = announce(many.rtsp_port, url)
    assert status == 401
    nonce = re.search(r'nonce="([^"]+)"', asked).group(1)
    for i in range(8):
        response = md5(f"{md5('studio:weir:wonderland')}:{nonce}:{md5(f'ANNOUNCE:{url}{i}')}")
        status, said = announce(many.rtsp_port, f"{url}{i}", f'Authorization: Digest username="studio", realm="weir", nonce="{nonce}", '
                                                             f'uri="{url}{i}", response="{response}"\r\n')
        assert status == 200, said


# ---- sources ----


class Closing:
    """A server that ends every connection at once, and counts them."""

    def __enter__(self):
        self.count = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        return self

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self.listener.accept()
                self.count += 1
                peer.close()

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(5)


def test_a_source_that_fails_waits_longer_each_time(new_weir):
    with Closing() as origin:
        start(new_weir, f"source rtmp://127.0.0.1:{origin.port}/live/cam {{ stream live/cam; }}")
        wait_until(lambda: origin.count > 0, 20, "it is tried")
        before = origin.count
        time.sleep(4)  # what is looked at is how much happens in a time
        assert origin.count - before <= 6


def test_viewers_of_a_publisher_who_leaves_get_the_source_at_the_home_of_the_stream(new_weir, folder):
    origin = new_weir().start()
    names = [f"s{i}" for i in range(6)]
    sources = "".join(f"source rtmp://127.0.0.1:{origin.rtmp_port}/live/cam {{ stream live/{name}; on_demand on; }}\n" for name in names)
    many = start(new_weir, sources)
    with publisher(origin.rtmp("live/cam"), folder), contextlib.ExitStack() as viewers:
        origin.wait_live("cam")
        publishers = [publish(many, name) for name in names]
        players = [viewers.enter_context(RtmpPlayer(many.rtmp_port, stream=name, timeout=30)) for name in names]
        wait_until(lambda: len([c for c in many.clients() if c["role"] == "player"]) == len(names), 20, "all watch")
        assert not any(each["state"] == "live" for each in many.api("/api/v1/sources")["sources"])
        for each in publishers:
            each.socket.close()
        for player in players:
            while player.message()[0] != player.VIDEO:
                pass


def test_a_process_that_does_not_come_up_takes_no_source_with_it(new_weir, folder):
    origin = new_weir(name="origin").start()
    with publisher(origin.rtmp("live/cam"), folder):
        origin.wait_live("cam")
        many = start(new_weir, f"source {origin.rtmp('live/cam')} {{ stream live/cam; }}")

        def at():
            return [stream["process"] for stream in many.streams() if stream["name"] == "cam" and stream["publish"]["active"]]

        wait_until(lambda: len(at()) == 1, 20, "it is brought")
        home = at()[0]
        text = many.config_path.read_text()
        many.config_path.write_text(text + "nonsense on;\n")
        kill(many, home)
        many.wait_log(f"process {home} does not come up", 30)
        assert re.search(rf"process {home} cannot start: .*nonsense", many.log())
        wait_until(lambda: at() == [(home + 1) % COUNT], 20, "the next one brings it")
        many.config_path.write_text(text)
        wait_until(lambda: all_run(many), 20, "it is there again")
        wait_until(lambda: at() == [home], 20, "its home brings it")


# ---- signals ----


def test_a_signal_reaches_a_process_that_has_just_been_started(many):
    children = Path(f"/proc/{many.process.pid}/task/{many.process.pid}/children")
    before = set(children.read_text().split())
    kill(many, 1)
    until = time.monotonic() + 20
    while not (new := set(children.read_text().split()) - before):
        assert time.monotonic() < until, "it is started again"
    new = int(new.pop())
    os.kill(new, signal.SIGSTOP)  # at once, so it has not come far
    many.process.send_signal(signal.SIGHUP)
    wait_until(lambda: many.log().count("reloaded by=SIGHUP") == COUNT - 1, 20, "the others have it")
    os.kill(new, signal.SIGCONT)
    wait_until(lambda: many.log().count("reloaded by=SIGHUP") == COUNT, 20, "all have it")


# ---- who is there, and the end ----


def test_whichever_process_is_asked_counts_the_clients_of_all(many):
    clients = [publish(many, f"s{i}") for i in range(5)]
    try:
        def counts():
            return {many.api("/api/v1/health")["data"]["publishers"] for _ in range(8)}

        wait_until(lambda: counts() == {5}, 20, "all are counted by all")
        each = [many.api(f"/api/v1/health?process={i}")["data"]["publishers"] for i in range(COUNT)]
        assert sum(each) == 5, each
        many.process.send_signal(signal.SIGQUIT)
    finally:
        for client in clients:
            client.socket.close()
    assert wait_end(many.process, 20) == 0
    many.process = None


def test_while_one_process_drains_every_request_is_answered(many):
    client = publish(many)
    try:
        at = process_of(many, "publisher")[0]
        many.process.send_signal(signal.SIGQUIT)
        wait_until(lambda: list(pids(many)) == [at], 20, "the others have ended")
        wait_until(lambda: many.log().count("ended with code 0") == COUNT - 1, 20, "and the supervisor knows")
        for _ in range(30):
            assert get(many.api_port, "/healthz") == (200, b"ok\n")
        assert get(many.api_port, "/readyz")[0] == 503
    finally:
        client.socket.close()
    assert wait_end(many.process, 20) == 0
    many.process = None


def test_drain_says_who_is_there(many):
    client = publish(many)
    wait_until(lambda: {many.api("/api/v1/health")["data"]["publishers"] for _ in range(8)} == {1}, 20, "it is counted by all")
    command = subprocess.Popen([BINARY, "--drain", str(many.process.pid), "-c", many.config_path, "--timeout", "30"],
                               stdout=subprocess.PIPE, text=True)
    try:
        assert command.stdout.readline() == f"weir: process {many.process.pid} drains\n"
        report = command.stdout.readline()
        assert report.startswith("weir: draining publishers=1 players=0 others=0 remaining=1 pid="), report
    finally:
        client.socket.close()
    assert wait_end(many.process, 20) == 0
    many.process = None
    assert command.wait(20) == 0
    assert command.stdout.read().endswith("has ended\n")
