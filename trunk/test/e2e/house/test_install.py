"""What is installed and packaged: files, unit, manual pages, Debian package."""

import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tarfile

import pytest

from locks import once_per_run
from weir import BINARY, SANITIZED, TOP, free_port

pytestmark = pytest.mark.skipif(SANITIZED, reason="is about the release build")


def run(*command, **variables):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, **variables}, cwd=TOP)
    return done.returncode, done.stdout + done.stderr


def install(root, *arguments, prefix="/usr", **variables):
    code, said = run("scripts/install", *arguments, DESTDIR=str(root), PREFIX=prefix, BUILD=str(BINARY.parent), **variables)
    assert code == 0, said
    return said


def files_of(root):
    return sorted("/" + str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    root = tmp_path_factory.mktemp("root")
    install(root)
    return root


def test_everything_is_where_linux_expects_it(installed):
    found = files_of(installed)
    for path in ("/usr/bin/weir", "/etc/weir/weir.conf", "/etc/logrotate.d/weir", "/usr/lib/systemd/system/weir.service",
                 "/usr/share/man/man1/weir.1", "/usr/share/man/man1/weir-bench.1", "/usr/share/man/man5/weir.conf.5",
                 "/usr/bin/weir-diagnose", "/usr/share/man/man1/weir-diagnose.1",
                 "/usr/share/weir/www/index.html", "/usr/share/weir/conf/full.conf", "/usr/share/doc/weir/LICENSE",
                 "/usr/share/doc/weir/operations.md", "/usr/share/doc/weir/grafana/alerts.yml"):
        assert path in found
    vendor = [path for path in found if "/www/vendor/" in path]
    assert any(path.endswith(".js") for path in vendor) and any("LICEN" in path.upper() for path in vendor), vendor
    assert not [path for path in found if path.endswith("~") or "/." in path], found
    for path in found:
        mode = (installed / path[1:]).stat().st_mode & 0o777
        program = path.startswith("/usr/bin/") or path == "/usr/share/weir/scripts/diagnose"
        assert mode == (0o755 if program else 0o644), path


def test_the_installed_diagnosis_finds_its_parts_and_the_program(installed, tmp_path):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        done = subprocess.run([installed / "usr/bin/weir-diagnose", "--api", f"http://127.0.0.1:{nobody.getsockname()[1]}",
                               "--output", tmp_path / "found.tar.gz"], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    with tarfile.open(tmp_path / "found.tar.gz") as archive:
        version = next(name for name in archive.getnames() if name.endswith("version.txt"))
        text = archive.extractfile(version).read().decode()
    assert f"{installed}/usr/bin/weir -v: " in text and "weir " in text.split(" -v: ")[1], text
    assert not list(installed.rglob("__pycache__")), "nothing is written but the archive"


def test_the_installed_configuration_is_good_and_finds_the_pages(installed):
    text = (installed / "etc/weir/weir.conf").read_text()
    assert "dir /usr/share/weir/www;" in text and "../" not in text
    code, said = run(installed / "usr/bin/weir", "-t", "-c", installed / "etc/weir/weir.conf")
    assert code == 0, said


def test_a_changed_configuration_survives(tmp_path):
    install(tmp_path, prefix="/opt/weir")
    conf = tmp_path / "opt/weir/etc/weir/weir.conf"
    assert "dir /opt/weir/share/weir/www;" in conf.read_text()
    unit = (tmp_path / "opt/weir/lib/systemd/system/weir.service").read_text()
    assert "ExecStart=/opt/weir/bin/weir -c /opt/weir/etc/weir/weir.conf" in unit
    conf.write_text("listen 1936;\n")
    said = install(tmp_path, prefix="/opt/weir")
    assert "stays as it is" in said and conf.read_text() == "listen 1936;\n"
    assert conf.with_name("weir.conf.new").exists()
    install(tmp_path, "--uninstall", prefix="/opt/weir")
    assert files_of(tmp_path) == ["/opt/weir/etc/weir/weir.conf"]


def test_uninstalling_leaves_nothing(tmp_path):
    install(tmp_path)
    install(tmp_path, "--uninstall")
    assert files_of(tmp_path) == []


def test_without_c_the_configuration_beside_the_program_is_found(tmp_path):
    install(tmp_path, prefix="/opt/weir")
    conf = tmp_path / "opt/weir/etc/weir/weir.conf"
    done = subprocess.run([tmp_path / "opt/weir/bin/weir", "-t"], capture_output=True, text=True, cwd=tmp_path, timeout=30)
    assert done.returncode == 0 and str(conf) in done.stdout, done.stdout + done.stderr


def test_the_pages_stay_found_over_a_reload(tmp_path):
    """Those beside the program, where the configured folder is not there."""
    install(tmp_path, prefix="/opt/weir")
    ports = [free_port() for _ in range(3)]
    conf = tmp_path / "weir.conf"
    conf.write_text(f"listen 127.0.0.1:{ports[0]};\nhttp_server {{ listen 127.0.0.1:{ports[1]}; dir nowhere; }}\n"
                    f"http_api {{ listen 127.0.0.1:{ports[2]}; }}\n")
    server = subprocess.Popen([tmp_path / "opt/weir/bin/weir", "-c", conf], stderr=subprocess.PIPE, text=True)

    def wait_for_line(words):
        while words not in (line := server.stderr.readline()):
            assert line, "the server has ended"

    def status(port, path):
        with socket.create_connection(("127.0.0.1", port), 20) as peer:
            peer.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            return b"".join(iter(lambda: peer.recv(65536), b""))

    try:
        wait_for_line(" ready")
        for again in (False, True):
            if again:
                server.send_signal(signal.SIGHUP)
                wait_for_line("reloaded by=")
            assert status(ports[1], "/").startswith(b"HTTP/1.1 200 "), again
            console = status(ports[2], "/console/")
            assert console.startswith(b"HTTP/1.1 200 ") and b"frame-ancestors 'none'" in console, again
    finally:
        server.kill()
        server.wait(10)


# ---- the unit ----


@pytest.fixture(scope="module")
def unit(tmp_path_factory):
    """The unit with a program that is there, in a folder of its own."""
    path = tmp_path_factory.mktemp("unit") / "weir.service"
    text = (TOP / "packaging/weir.service").read_text()
    path.write_text(text.replace("/usr/bin/weir -c /etc/weir/weir.conf", f'"{BINARY}" -c "{TOP}/conf/weir.conf"'))
    return path


def test_systemd_finds_no_fault_in_the_unit(unit):
    code, said = run("systemd-analyze", "verify", "--man=no", unit, SYSTEMD_LOG_LEVEL="warning")
    about = [line for line in said.splitlines() if "weir" in line]
    assert not about and (code == 0 or not said), said


def test_systemd_calls_the_unit_hardened(unit):
    code, said = run("systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=30", unit)
    found = re.search(r"Overall exposure level for weir.service: (\d+\.\d+)", said)
    assert found and float(found[1]) < 3.0 and code == 0, said[-3000:]
    print(f"systemd-analyze security: {found[1]}")


# ---- manual pages ----


@pytest.mark.parametrize("page", ["weir.1", "weir-bench.1", "weir-diagnose.1", "weir.conf.5"])
def test_manual_pages_have_no_faults(page):
    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", TOP / "doc/man" / page],
                          capture_output=True, text=True, timeout=30, env={**os.environ, "MANWIDTH": "100"})
    assert done.returncode == 0 and not done.stderr, done.stderr
    text = re.sub(".\x08", "", done.stdout)
    assert "NAME" in text and "SEE ALSO" in text and len(text.splitlines()) > 20


def test_the_manual_names_every_option():
    code, usage = run(BINARY, "-h")
    page = (TOP / "doc/man/weir.1").read_text().replace("\\", "")
    options = re.findall(r"^  (--?[a-z][a-z-]*)", usage, re.M)
    assert {"-c", "-t", "--dump-config", "--explain"} <= set(options)
    for option in options:
        assert re.search(rf"{option}\b", page), option
    for word in ("SIGTERM", "SIGQUIT", "SIGHUP", "SIGUSR1", "WEIR_CONFIG_FILE", "WEIR_CANDIDATE"):
        assert word in page, word


@pytest.mark.parametrize("arguments, expected, words", [
    (["-h"], 0, "usage: weir"), (["-v"], 0, "weir "), (["--print-full-config"], 0, "listen 1935;"),
    (["-t", "-c", "/nowhere/weir.conf"], 1, "/nowhere/weir.conf: cannot be opened"),
    (["--explain", "/nowhere/srs.conf"], 1, "/nowhere/srs.conf"),
    (["--bad"], 1, "unknown argument '--bad'"), (["-c"], 1, "-c needs a file name"),
    (["--explain=srs"], 1, "--explain=srs needs a file name"),
    (["--explain=other", "x"], 1, "unknown argument '--explain=other'")])
def test_exit_codes_are_those_of_the_manual(arguments, expected, words):
    code, said = run(BINARY, *arguments)
    assert code == expected and words in said, (code, said)


# ---- the Debian package ----


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The package, made twice."""
    def make(folder):
        for number in range(2):
            code, said = run("scripts/package-deb", BUILD=str(BINARY.parent), SOURCE_DATE_EPOCH="1700000000")
            assert code == 0, said
            path = next((TOP / "objs/deb").glob("weir_*.deb"))
            path.rename(folder / f"{number}.deb")
    return sorted(once_per_run(tmp_path_factory, "package-deb", make).glob("*.deb"))


makes_package = pytest.mark.timeout(300)  # or waits until another worker has made it


@makes_package
def test_the_package_is_the_same_each_time(package):
    assert len({hashlib.sha256(path.read_bytes()).hexdigest() for path in package}) == 1


@makes_package
def test_the_package_says_what_it_needs_and_keeps_configuration(package, tmp_path):
    code, control = run("dpkg-deb", "--field", package[0])
    assert code == 0
    for part in ("Package: weir", "libc6 (>=", "libssl3 (>=", "libsrtp2-1", "adduser", "Section: video"):
        assert part in control, control
    subprocess.run(["dpkg-deb", "--raw-extract", package[0], tmp_path / "x"], check=True)
    assert (tmp_path / "x/DEBIAN/conffiles").read_text().split() == ["/etc/logrotate.d/weir", "/etc/weir/weir.conf"]
    listed = {line.split("  ")[1] for line in (tmp_path / "x/DEBIAN/md5sums").read_text().splitlines()}
    shutil.rmtree(tmp_path / "x/DEBIAN")
    assert listed == {path[1:] for path in files_of(tmp_path / "x") if not (tmp_path / "x" / path[1:]).is_symlink()}
    assert "usr/share/weir/scripts/diagnose" in listed
    owners = subprocess.run(["dpkg-deb", "--contents", package[0]], capture_output=True, text=True, check=True).stdout
    assert all(line.split()[1] == "root/root" for line in owners.splitlines())


@makes_package
def test_crash_reports_of_the_package_have_names(package, tmp_path):
    subprocess.run(["dpkg-deb", "--extract", package[0], tmp_path], check=True)
    names = subprocess.run(["nm", "-C", tmp_path / "usr/bin/weir"], capture_output=True, text=True).stdout
    assert "weir::app::Life::run" in names
    sections = subprocess.run(["readelf", "-SW", tmp_path / "usr/bin/weir"], capture_output=True, text=True).stdout
    assert ".debug_info" not in sections
