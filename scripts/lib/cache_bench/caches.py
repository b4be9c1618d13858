"""The caches: how each is started with the configuration of the documentation, in a folder of its own, in the foreground.

Nothing of the system's own instance of a cache is read or written, except the configuration of Traffic Server as Debian ships it.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from bench.machine import first_line

from .recipes import recipe

TOP = Path(__file__).resolve().parents[3]
NOBODY = 65534


class Cache:
    """One process that listens on 127.0.0.1:`port` and asks 127.0.0.1:`origin`. `folder` must exist and be empty."""

    title = ""    # of its section in the documentation
    package = ""  # Debian's
    program = ""
    version_option = "-v"

    def __init__(self, folder, port, origin):
        self.folder, self.port, self.origin = Path(folder), port, origin

    @classmethod
    def path(cls):
        """The program, or None if it is not installed. scripts/install-deps.sh unpacks some into objs/tools/."""
        unpacked = f"{TOP}/objs/tools/{cls.package}/usr/sbin"
        return shutil.which(cls.program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:{unpacked}")

    @classmethod
    def version(cls):
        found = re.search(r"\d+(\.\d+)+", first_line([cls.path(), cls.version_option]))
        return found[0] if found else "?"

    def recipe(self, **replacements):
        return recipe(self.title, {**{"127.0.0.1:8080": f"127.0.0.1:{self.origin}"}, **replacements})

    def write(self):
        """Writes the configuration."""
        raise NotImplementedError

    def command(self):
        raise NotImplementedError

    def check(self):
        """The command by which the cache checks what write() has written."""
        raise NotImplementedError


class Nginx(Cache):
    title = package = program = "nginx"

    def write(self):
        block, = self.recipe(**{"listen 80;": f"listen 127.0.0.1:{self.port};", "/var/cache/nginx/weir": f"{self.folder}/cache"})
        temporary = " ".join(f"{kind}_temp_path {self.folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (self.folder / "nginx.conf").write_text(
            f"daemon off;\nmaster_process off;\npid {self.folder}/nginx.pid;\nerror_log {self.folder}/nginx-error.log;\n"
            f"worker_rlimit_nofile 4096;\nevents {{ worker_connections 2048; }}\nhttp {{ access_log off; {temporary}\n{block} }}\n")

    def command(self):
        return [self.path(), "-p", self.folder, "-c", self.folder / "nginx.conf", "-e", self.folder / "nginx-error.log"]

    def check(self):
        return [*self.command(), "-t"]


class Varnish(Cache):
    title = "Varnish"
    package, program, version_option = "varnish", "varnishd", "-V"

    def write(self):
        block, = recipe(self.title, {'"8080"': f'"{self.origin}"'})
        (self.folder / "weir.vcl").write_text(block)

    def options(self):
        return [self.path(), "-j", "none", "-n", self.folder / "work", "-f", self.folder / "weir.vcl"]

    def command(self):
        return [*self.options(), "-F", "-a", f"127.0.0.1:{self.port}", "-s", "malloc,256m", "-T", "none"]

    def check(self):
        return [*self.options(), "-C"]


class TrafficServer(Cache):
    title = "Traffic Server"
    package, program, version_option = "trafficserver", "traffic_server", "-V"
    shipped = Path("/etc/trafficserver")

    def write(self):
        records, remap = self.recipe(**{"STRING 80 80:ipv6": f"STRING {self.port}", "http://tv.example/": f"http://127.0.0.1:{self.port}/"})
        etc = self.folder / "etc"
        shutil.copytree(self.shipped, etc)
        changed = f"{records}CONFIG proxy.config.admin.user_id STRING #-1\nCONFIG proxy.config.crash_log_helper STRING NULL\n"
        names = "|".join(re.escape(line.split()[1]) for line in changed.splitlines())
        kept = re.sub(rf"^CONFIG ({names}) .*\n", "", (etc / "records.config").read_text(), flags=re.M)
        (etc / "records.config").write_text(kept + changed)
        with open(etc / "remap.config", "a") as file:
            file.write(remap)
        (etc / "storage.config").write_text(f"{self.folder}/cache 256M\n")
        for name in ("cache", "log", "run"):
            (self.folder / name).mkdir()
        places = {"prefix": self.folder, "exec_prefix": "/usr", "bindir": "/usr/bin", "sbindir": "/usr/sbin", "sysconfdir": etc,
                  "datadir": self.folder, "includedir": "/usr/include", "libdir": "/usr/lib", "libexecdir": self.folder,
                  "localstatedir": self.folder, "runtimedir": self.folder / "run", "logdir": self.folder / "log",
                  "mandir": "/usr/share/man", "infodir": "/usr/share/info", "cachedir": self.folder / "cache"}
        (self.folder / "runroot.yaml").write_text("".join(f"{name}: {place}\n" for name, place in places.items()))

    def command(self):
        return [self.path(), f"--run-root={self.folder}/runroot.yaml"]

    def check(self):
        return [*self.command(), "-C", "verify_config"]


class Squid(Cache):
    title = "Squid"
    package = program = "squid"

    def write(self):
        block, = recipe(self.title, {"http_port 80": f"http_port 127.0.0.1:{self.port}", "parent 8080": f"parent {self.origin}"})
        (self.folder / "squid.conf").write_text(
            f"{block}pid_filename none\naccess_log none\ncache_log {self.folder}/cache.log\ncoredump_dir {self.folder}\n"
            "pinger_enable off\nshutdown_lifetime 1 seconds\n")

    def command(self):
        return [self.path(), "-N", "-f", self.folder / "squid.conf"]

    def check(self):
        return [self.path(), "-k", "parse", "-f", self.folder / "squid.conf"]


CACHES = {cache.program: cache for cache in (Nginx, Varnish, TrafficServer, Squid)}


def is_valid(cache):
    """(whether the cache accepts its configuration, what it prints)"""
    done = subprocess.run([str(word) for word in cache.check()], stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=60)
    return done.returncode == 0, done.stdout + done.stderr


def without_privileges(command, folder):
    """The command as the user nobody, to whom the folder is given; as it is if we are not root. Caches that root starts change
    their user, each in its own way."""
    if os.geteuid() != 0:
        return command
    for place in (folder, *folder.rglob("*")):
        os.chown(place, NOBODY, NOBODY)
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--pdeathsig", "KILL", *command]
