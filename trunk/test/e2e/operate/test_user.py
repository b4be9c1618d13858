"""`user NAME;`: root opens the ports, somebody else serves. Holds for root and for others who run the suite."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from weir import BINARY, Weir, wait_until

ROOT = os.geteuid() == 0
NOBODY = pwd.getpwnam("nobody")
OWNER = NOBODY.pw_uid if ROOT else os.geteuid()  # of what a server with `user nobody;` writes


def give_to_nobody(path):
    if ROOT:
        os.chown(path, NOBODY.pw_uid, NOBODY.pw_gid)


@pytest.fixture
def place():
    """A folder that every user may enter, wherever the checkout stands."""
    path = Path(tempfile.mkdtemp(prefix="weir-user-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def start(place):
    made = []

    def run(extra):
        server = Weir(place, extra)
        made.append(server)
        server.start()
        started(server)
        return server

    yield run
    for server in made:
        try:
            server.stop()
        finally:
            server.kill()


def started(server):
    """The log is written by a thread of its own."""
    wait_until(lambda: " ready\n" in server.log(), 20, "the log of the start")


def threads(server):
    """Of each thread: its user ids, group ids and other groups."""
    found = []
    for task in Path(f"/proc/{server.process.pid}/task").iterdir():
        fields = dict(line.split(":", 1) for line in (task / "status").read_text().splitlines() if ":" in line)
        found.append((fields["Uid"].split(), fields["Gid"].split(), fields["Groups"].split(), fields["NoNewPrivs"].split()))
    return found


def reload(server):
    """The log that a SIGHUP gives."""
    before = len(server.log())
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: any(word in server.log()[before:] for word in ("reloaded by", "reload refused")), 20, "a reload")
    return server.log()[before:]


def test_the_process_serves_as_that_user(place, start):
    if not ROOT:
        other = "daemon" if os.geteuid() == NOBODY.pw_uid else "nobody"
        server = start(f"user {other};")
        assert f"user {other} has no effect: only a process that root started" in server.log()
        assert threads(server)[0][0] == [str(os.geteuid())] * 4
        return
    server = start(f"user nobody; pid {place}/weir.pid; worker_threads 3;")
    uid, gid = str(NOBODY.pw_uid), str(NOBODY.pw_gid)
    all_threads = threads(server)
    assert len(all_threads) >= 5
    for user, group, groups, no_new in all_threads:
        assert user == [uid] * 4 and group == [gid] * 4 and groups in ([gid], []) and no_new == ["1"], all_threads
    assert f"runs as user=nobody uid={uid} gid={gid}" in server.log()
    # Files of a process belong to its user as long as it may leave a core file.
    assert os.stat(f"/proc/{server.process.pid}/environ").st_uid == NOBODY.pw_uid
    log = server.log()
    assert log.index("runs as user=nobody") < log.index("ready")
    assert server.api("/api/v1/summaries")["code"] == 0
    assert (place / "weir.pid").stat().st_uid == NOBODY.pw_uid
    assert (place / "weir.pid").read_text() == f"{server.process.pid}\n"
    pid_file = place / "weir.pid"
    server.stop()
    assert not pid_file.exists() or pid_file.read_text() == "", "no number of a process that is gone"


def test_what_a_reload_cannot_do_as_that_user_is_said(place, start):
    server = start("user nobody;")
    config = server.config_path.read_text()
    server.config_path.write_text(config + "max_connections 77;\n")
    assert "reloaded by" in reload(server)
    first = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")
    if first.exists() and int(first.read_text()) > 80 and ROOT:
        server.config_path.write_text(config.replace("user nobody;", "user nobody; listen 127.0.0.1:80;"))
        said = reload(server)
        assert "reload refused" in said and "ports below 1024 can only be opened by root" in said, said
    if ROOT:
        server.config_path.chmod(0o600)
        said = reload(server)
        assert "reload refused" in said and "cannot be opened: Permission denied" in said, said


@pytest.mark.parametrize("line, words", [
    ("user nobody-here;", "user nobody-here: there is no such user"),
    ("user nobody no-group-here;", "user nobody no-group-here: there is no such group"),
])
def test_a_user_who_is_not_there(place, line, words):
    path = place / "a.conf"
    path.write_text(f"listen 127.0.0.1:1;\n{line}\n")
    done = subprocess.run([BINARY, "-t", "-c", path], capture_output=True, text=True, timeout=20)
    if ROOT:
        assert done.returncode == 1 and words in done.stderr, done.stderr
    else:
        assert done.returncode == 0, done.stderr


def test_root_is_warned_of(place, start):
    server = start("")
    assert ("runs as root" in server.log()) == ROOT
    server.stop()
    if not ROOT:
        return
    server.config_path.write_text(server.config_path.read_text() + "user root;\n")
    server.log_path.unlink()
    server.start()
    started(server)
    assert "runs as root" not in server.log(), "the operator said so"


@pytest.mark.parametrize("line", ["log_file d/weir.log;", "pid d/weir.pid;"])
@pytest.mark.parametrize("make", [os.symlink, os.link])
def test_root_writes_to_no_file_that_the_user_chose(place, line, make):
    """The folder is the user's, who may put a link to a file of root's there."""
    theirs, target = place / "d", place / "roots"
    target.write_text("kept")
    theirs.mkdir()
    make(target, theirs / line.split("/")[1].rstrip(";"))
    give_to_nobody(theirs)
    path = place / "a.conf"
    path.write_text(f"listen 127.0.0.1:0;\nhttp_server {{ enabled off; }} http_api {{ enabled off; }}\nuser nobody;\n{line}\n")
    if not ROOT:  # by its own rights, and they are its own links
        done = subprocess.run([BINARY, "-t", "-c", path], capture_output=True, text=True, timeout=20)
        assert done.returncode == 0 and "follows no link" not in done.stderr, done.stderr
        assert target.read_text() == "kept"
        return
    for option in ("-t", None):
        done = subprocess.run([BINARY, *filter(None, [option]), "-c", path], capture_output=True, text=True, timeout=20)
        assert done.returncode == 1 and "root follows no link" in done.stderr, (option, done.stderr)
        assert target.read_text() == "kept" and target.stat().st_uid == 0, option


def test_logs_in_a_folder_of_root_are_given_to_the_user(place, start):
    log, pid = place / "other.log", place / "d" / "weir.pid"
    pid.parent.mkdir()
    give_to_nobody(pid.parent)
    server = Weir(place, f"user nobody; log_file {log}; pid {pid};")
    server.start()
    try:
        wait_until(lambda: log.exists() and " ready\n" in log.read_text(), 20, "the log of the start")
        assert log.stat().st_uid == OWNER and pid.stat().st_uid == OWNER
        assert pid.read_text() == f"{server.process.pid}\n"
    finally:
        server.stop()
        server.kill()
    assert not pid.exists()


@pytest.mark.parametrize("section", ["security {{ publish_key file:{0}; }}", "security {{ publish_user a file:{0}; }}",
                                     "security {{ jwt_secret file:{0}; }}", "http_hooks {{ secret file:{0}; }}",
                                     "vhost v {{ application a {{ security {{ play_key file:{0}; }} }} }}"])
def test_a_secret_that_the_user_may_not_read_is_warned_of(place, start, section):
    secret = place / "secret"
    secret.write_text("a-secret-of-thirty-two-characters\n")
    secret.chmod(0o600)
    words = f"user nobody: may not read {secret}: a reload will fail"
    server = start("user nobody; " + section.format(secret))
    assert (words in server.log()) == ROOT
    check = [BINARY, "-t", "-c", server.config_path]
    done = subprocess.run(check, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0 and (words in done.stderr) == ROOT, done.stderr
    give_to_nobody(secret)
    assert "may not read" not in subprocess.run(check, capture_output=True, text=True, timeout=20).stderr
