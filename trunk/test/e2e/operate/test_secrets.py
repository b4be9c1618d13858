"""No secret of the configuration is shown anywhere. test/data/secrets has one with MARK in it at each place where the table of
directives has a secret (config_secrets_test.cc sees to that)."""

import json
import re
import subprocess
import urllib.error
import urllib.request

import pytest

from media import publisher
from test_diagnose import diagnose
from tls import certificate
from weir import BINARY, TOP, Weir, free_port

MARK = "MARK"
ADMIN = "MARK-api-token"
PAGES = ["/", "/publish.html", "/phone.html", "/live.json", "/playlist.m3u", "/epg.xml", "/live/livestream.m3u8"]


class Search:
    """Looks for markers in texts, and counts these."""

    def __init__(self, also=()):
        self.pattern = re.compile("|".join([MARK, *map(re.escape, also)]))
        self.texts = self.bytes = 0
        self.found = []

    def look(self, text, where):
        self.texts += 1
        self.bytes += len(text)
        self.found += [f"{where}: {text[max(0, at.start() - 60):at.end() + 40]!r}" for at in self.pattern.finditer(text)]


def get(url):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {ADMIN}"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return f"{answer.headers}\n{answer.read().decode(errors='replace')}"
    except urllib.error.HTTPError as error:
        return f"{error.headers}\n{error.read().decode(errors='replace')}"


def paths_of_the_api():
    document = json.loads((TOP / "trunk" / "src" / "app" / "api" / "openapi.json").read_text())
    slow = ("profile", "leaks", "heap")  # measurements
    return sorted(path for path, methods in document["paths"].items()
                  if "get" in methods and "{" not in path and not any(word in path for word in slow))


class MarkedWeir(Weir):
    """A server with one of the marked configurations, on ports that are free."""

    def __init__(self, folder, name):
        super().__init__(folder)
        text = (TOP / "trunk" / "test" / "data" / "secrets" / f"{name}.conf").read_text()
        for port in (self.rtmp_port, self.http_port, self.api_port):
            text = text.replace("listen 127.0.0.1:0;", f"listen 127.0.0.1:{port};", 1)
        while "listen 127.0.0.1:0" in text:
            text = text.replace("listen 127.0.0.1:0", f"listen 127.0.0.1:{free_port()}", 1)
        self.config_path.write_text(text)
        self.secrets = len(re.findall(MARK, text))
        self.also = []  # other texts that are secret
        if "ssl_certificate_key" in text:
            certificate(folder)
            self.also = (folder / "server.key").read_text().splitlines()[1:-1]
        for file in re.findall(r"file:(\w+)", text):
            (folder / file).write_text({"admin": ADMIN, "publish_key": "MARK-publish-key"}.get(file, f"MARK-{file}-0123456789-0123456789-01") + "\n")
            (folder / file).chmod(0o600)
            self.secrets += 1


@pytest.fixture(params=["all", "registry_password", "files"])
def marked(request, folder):
    server = MarkedWeir(folder, request.param)
    try:
        yield server.start()
        server.stop()
    finally:
        server.kill()


def test_no_secret_is_in_the_report_the_dump_the_api_the_log_and_the_pages(marked, folder):
    search = Search(marked.also)
    with publisher(marked.rtmp("live?key=MARK-publish-key/livestream"), folder):
        marked.wait_log("publish stream=")
        if marked.config_path.read_text().count("exec_push"):
            marked.wait_log("echo: ")
        for path in paths_of_the_api() + ["/metrics", "/"]:
            search.look(get(f"http://127.0.0.1:{marked.api_port}{path}"), f"API {path}")
        for path in PAGES:
            search.look(get(f"http://127.0.0.1:{marked.http_port}{path}"), f"page {path}")
        said, parts = diagnose(folder, "--pid", str(marked.process.pid), "--api", f"127.0.0.1:{marked.api_port}")
    for part, text in parts.items():
        search.look(text, f"report {part}")
    search.look(said, "what diagnose says")
    assert "(secret)" in parts["weir.conf"] or "file:" in parts["weir.conf"]

#Changed secrets, in a report of a reload.
    marked.config_path.write_text(marked.config_path.read_text().replace("MARK", "MARKED").replace("MARKED-api-token", ADMIN)
                                  .replace("file:play_key", "MARKED-no-file"))
    request = urllib.request.Request(f"http://127.0.0.1:{marked.api_port}/api/v1/reload", method="POST",
                                     headers={"Authorization": f"Bearer {ADMIN}"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        report = answer.read().decode()
    assert json.loads(report)["data"]["changes"], report
    search.look(report, "API reload")

    for option in ("-t", "--dump-config"):
        done = subprocess.run([BINARY, option, "-c", marked.config_path], capture_output=True, text=True, timeout=20)
        assert done.returncode == 0, done.stderr
        search.look(done.stdout + done.stderr, option)
    search.look(marked.log(), "log")
    print(f"{marked.secrets} secrets looked for in {search.texts} texts of {search.bytes} bytes")
    assert search.texts >= 60 and search.bytes > 100_000, "there were more places"
    assert not search.found, "\n".join(search.found)


def test_a_full_disk_is_said_and_is_no_success(marked):
    for option in ("--dump-config", "--print-secrets", "-t", "-h"):
        with open("/dev/full", "w") as full:
            done = subprocess.run([BINARY, option, "-c", marked.config_path], stdout=full, stderr=subprocess.PIPE, text=True, timeout=20)
        assert done.returncode == 1 and "cannot write the output: No space left on device" in done.stderr, (option, done.stderr)
        assert MARK not in done.stderr
