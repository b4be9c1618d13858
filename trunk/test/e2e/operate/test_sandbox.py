"""In a sandbox that forbids what large writes to players want, they are copied, and all else is as before. The sandbox of the
systemd unit forbids nothing that is needed."""

import re
import sys

import pytest

from hostile import bench
from media import check_frames, play_ffmpeg, publisher
from weir import SUPPORT, TOP, wait_until

UNIT = TOP / "packaging/weir.service"
# What the unit takes out of @system-service, as systemd 252 has it (systemd-analyze syscall-filter).
GROUPS = {
    "@ipc": """ipc memfd_create mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd pipe
        pipe2 process_madvise process_vm_readv process_vm_writev semctl semget semop semtimedop shmat shmctl shmdt shmget""",
    "@keyring": "add_key keyctl request_key",
    "@privileged": """_sysctl acct adjtimex bpf capset chown chroot clock_adjtime clock_settime delete_module fanotify_init
        fanotify_mark fchown fchownat finit_module init_module ioperm iopl kexec_file_load kexec_load lchown nfsservctl
        open_by_handle_at pivot_root quotactl quotactl_fd reboot setdomainname setfsuid setgroups sethostname setresuid setreuid
        settimeofday setuid swapoff swapon vhangup""",
}
DENY = SUPPORT / "deny_calls.py"
WINDOW = "vhost __defaultVhost__ { play { mw_latency 300ms; } }"
PLAYERS = 20


def play(weir, folder):
    """How many of the players' writes, of 75 KB and more, went by sendfile. The first 64 are copied."""
    options = ["--clients", PLAYERS, "--publish", "2M", "--duration", "3s", "--stall", "5s", "--behind", "5s"]
    report = bench("rtmp-play", "--url", weir.rtmp(), *options, folder=folder)
    assert report["exit_code"] == 0, report["text"]
    media = report["media"]
    assert (media["lost"], media["corrupted"], media["reordered"], media["duplicated"]) == (0, 0, 0, 0)
    assert media["bits_per_second"] > PLAYERS * 500_000
    return int(re.search(r"^weir_player_file_writes_total (\d+)$", weir.metrics(), re.MULTILINE).group(1))


def sends_files(weir):
    return weir.api("/api/v1/features")["data"]["features"]["sendfile"]


def test_large_writes_go_by_sendfile(new_weir, folder):
    weir = new_weir(WINDOW).start()
    assert sends_files(weir)
    assert play(weir, folder) > PLAYERS
    assert sends_files(weir)
    assert "sendfile is not allowed" not in weir.log()


@pytest.mark.parametrize("call", ["sendfile", "memfd_create"])
def test_a_sandbox_that_forbids_it_costs_nothing_but_time(new_weir, folder, call):
    weir = new_weir(WINDOW)
    weir.wrapper = [sys.executable, DENY, call]
    weir.start()
    assert play(weir, folder) == 0
    assert not sends_files(weir)
    assert weir.log().count(f"{call} is not allowed here") == 1


def test_it_can_be_switched_off(new_weir, folder):
    weir = new_weir(WINDOW + " sendfile off;").start()
    assert play(weir, folder) == 0
    assert not sends_files(weir)


def denied_by_the_unit():
    """The first line says what is allowed, the others take away from it (~) and add to it, in their order."""
    first, *others = re.findall(r"^SystemCallFilter=(.*)$", UNIT.read_text(), re.MULTILINE)
    assert first == "@system-service"
    denied = set()
    for line in others:
        names = {name for word in line.lstrip("~").split() for name in GROUPS.get(word, word).split()}
        denied = denied | names if line.startswith("~") else denied - names
    assert not any(name.startswith("@") for name in denied), "GROUPS lacks one"
    return denied


def test_the_sandbox_of_the_unit_lets_all_work(new_weir, folder):
    weir = new_weir("play { mw_latency 300ms; }")
    base = f"rtmp://127.0.0.1:{weir.rtmp_port}"
    program = f'exec_push ffmpeg -v error -nostdin -i {base}/$app/$name -map 0:v -map 0:a -c copy -f flv "{base}/copies/${{name}}";'
    weir.config_path.write_text(f"{weir.config_path.read_text()}application cameras {{ {program} }}\n")
    weir.wrapper = [sys.executable, DENY, ",".join(sorted(denied_by_the_unit()))]
    weir.start()
    with publisher(weir.rtmp("cameras/one"), folder):
        wait_until(lambda: any(each["name"] == "one" and each["app"] == "copies" for each in weir.streams()), 20, "ffmpeg publishes")
        check_frames(play_ffmpeg(weir.rtmp("copies/one"), folder))
    assert play(weir, folder) > PLAYERS
    assert "not allowed" not in weir.log() and "cannot be started" not in weir.log()
