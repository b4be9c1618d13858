"""The servers side by side: how each is configured for a policy, started and ended.

A policy is the merge window of writes in milliseconds as text, "0" for every message, or "auto" (Weir only).
"""

import socket
import tempfile
from pathlib import Path

from bench.machine import first_line, package_version
from bench.problem import Problem
from bench.processes import wait_until

START_SECONDS = 10
MAX_PLAYERS = 12000
HLS_FRAGMENT_S = 2  # Weir's default
SIP_RTP_PORTS = "30000-32767"  # below those that the kernel gives to clients
NGINX_MODULE = "usr/lib/nginx/modules/ngx_rtmp_module.so"


class Server:
    """One process. start() returns when it accepts connections."""

    name = ""

    def __init__(self, tools, folder, ports, policy, protocol="rtmp"):
        self.tools, self.folder, self.policy, self.protocol = tools, Path(folder), policy, protocol
        self.flv = protocol in ("flv", "ts", "rtc", "hls", "ll-hls")  # something listens on the HTTP port
        self.rtsp = False                      # it speaks RTSP
        self.ts = False                        # and HTTP-TS
        self.folder.mkdir(parents=True, exist_ok=True)
        self.rtmp_port, self.http_port, self.rtc_port, self.rtsp_port = (ports.take() for _ in range(4))
        self.log = self.folder / f"{self.name}.log"
        self.process = None
        self.extra = ""                        # more lines of Weir's configuration

    def command(self):
        raise NotImplementedError

    def start(self, processes, core):
        self.process = processes.start(self.command(), core, self.log, self.folder)
        wait_until(self.accepts, START_SECONDS, f"{self.name} starts", self.process, self.log)
        return self

    def accepts(self):
        try:
            for port in [self.rtmp_port] + [self.http_port] * self.flv + [self.rtsp_port] * self.rtsp:
                socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        except OSError:
            return False

    @property
    def pid(self):
        return self.process.pid

    def rtmp_url(self, stream):
        return f"rtmp://127.0.0.1:{self.rtmp_port}/live/{stream}"

    def rtsp_url(self, stream):
        return f"rtsp://127.0.0.1:{self.rtsp_port}/live/{stream}"

    def whep_url(self, stream):
        return f"http://127.0.0.1:{self.http_port}/rtc/v1/whep/?app=live&stream={stream}"

    def flv_url(self, stream):
        return f"http://127.0.0.1:{self.http_port}/live/{stream}.flv"

    def hls_url(self, stream):
        return f"http://127.0.0.1:{self.http_port}/live/{stream}.m3u8"

    def ts_url(self, stream):
        return f"http://127.0.0.1:{self.http_port}/live/{stream}.ts"


class Weir(Server):
    name = "weir"

    def __init__(self, tools, folder, ports, policy, protocol="rtmp"):
        super().__init__(tools, folder, ports, policy, protocol)
        self.rtsp = protocol.startswith("rtsp")
        self.ts = True

    def command(self):
        config = self.folder / "weir.conf"
        window = self.policy if self.policy == "auto" else f"{self.policy}ms"
        rtc = (f"rtc_server {{ enabled on; listen 127.0.0.1:{self.rtc_port}; candidate 127.0.0.1; }}\n"
               if self.protocol == "rtc" else "")
        # The port of WebRTC and the next one are free as UDP ports.
        rtsp = (f"rtsp_server {{ listen 127.0.0.1:{self.rtsp_port}; rtp_listen 127.0.0.1:{self.rtc_port}; }}\n"
                if self.rtsp else "")
        jitter = "on" if self.protocol == "sip-jitter" else "off"
        sip = (f"sip_server {{ listen 127.0.0.1:{self.rtsp_port}; rtp_ports {SIP_RTP_PORTS}; trunk 127.0.0.1; "
               f"jitter_buffer {jitter}; }}\n" if self.protocol.startswith("sip") else "")
        config.write_text(
            f"listen 127.0.0.1:{self.rtmp_port};\n"
            f"max_connections {MAX_PLAYERS};\n{rtc}{rtsp}{sip}{self.extra}"
            f'http_server {{ listen 127.0.0.1:{self.http_port}; dir "{self.folder}"; }}\n'
            + ("" if "http_api" in self.extra else "http_api { enabled off; }\n") +
            f"vhost __defaultVhost__ {{\n"
            f"    play {{ mw_latency {window}; }}\n"
            f"    publish {{ normal_timeout 10m; }}\n"  # for the cases with a silent publisher
            f"}}\n")
        return [self.program(), "-c", config]

    def program(self):
        return self.tools.weir


class Before(Weir):
    """An older build of Weir, to see what changed."""

    name = "before"

    def program(self):
        return self.tools.before


class Nginx(Server):
    """nginx-rtmp: one process, every message is written at once, no HTTP-FLV. HLS: the module writes files into memory, and
    nginx serves them."""

    name = "nginx"

    def hls(self):
        """The lines of an application, and those of HTTP."""
        if self.protocol != "hls":
            return "", ""
        self.files = tempfile.TemporaryDirectory(prefix="weir-bench-", dir="/dev/shm")
        # Its own for what it does not even use: the system's may not be there.
        temporary = " ".join(f"{kind}_temp_path {self.folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return (f"hls on; hls_path {self.files.name}/live; hls_fragment {HLS_FRAGMENT_S}s; hls_playlist_length {4 * HLS_FRAGMENT_S}s;",
                f"http {{\n    {temporary}\n    access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000;\n"
                f"    types {{ application/vnd.apple.mpegurl m3u8; video/mp2t ts; }}\n"
                f"    server {{ listen 127.0.0.1:{self.http_port}; root {self.files.name}; }}\n}}\n")

    def command(self):
        config = self.folder / "nginx.conf"
        live, http = self.hls()
        config.write_text(
            f"load_module {self.tools.nginx_module};\n"
            f"daemon off;\nmaster_process off;\nworker_processes 1;\n"
            f"worker_rlimit_nofile {MAX_PLAYERS + 256};\n"
            f"pid {self.folder}/nginx.pid;\nerror_log {self.log} warn;\n"
            f"events {{ worker_connections {MAX_PLAYERS + 128}; }}\n"
            f"rtmp {{\n    access_log off;\n"
            f"    server {{\n        listen 127.0.0.1:{self.rtmp_port};\n        chunk_size 4096;\n"
            f"        application live {{ live on; {live} }}\n    }}\n}}\n{http}")
        # -p and -e: not a file of the system's nginx is read or written.
        return [self.tools.nginx, "-p", self.folder, "-e", self.log, "-c", config]


class Floor(Server):
    """The reference program of trunk/bench/floor."""

    name = "floor"

    fault = None  # that it commits on every 20th video message, to see it found

    def command(self):
        return [self.tools.floor, "-p", self.rtmp_port, "-w", self.policy, *(["-H", self.http_port] if self.flv else []),
                *(["-F", self.fault, "-E", "20"] if self.fault else [])]


KINDS = {kind.name: kind for kind in (Weir, Before, Nginx, Floor)}


class Tools:
    """Where the programs are."""

    def __init__(self, top, weir=None, client=None, floor=None, before=None):
        self.weir = Path(weir or top / "objs/weir").resolve()
        self.before = Path(before).resolve() if before else None
        self.client = Path(client or top / "objs/weir-bench").resolve()
        self.micro = self.client.parent / "weir-micro"
        self.floor = Path(floor or top / "objs/bench/floor").resolve()
        self.udp_floor = self.floor.parent / "udp_floor"
        self.mcast_floor = self.floor.parent / "mcast_floor"
        # Debian's as it is installed, or else as scripts/install-deps.sh --bench unpacks it.
        self.nginx, self.nginx_module = next(
            ((root / "usr/sbin/nginx", root / NGINX_MODULE) for root in (Path("/"), top / "objs/tools/nginx")
             if (root / "usr/sbin/nginx").exists() and (root / NGINX_MODULE).exists()), (None, None))

    def missing(self, servers):
        """Raises a Problem for the first program that is needed and not there."""
        if self.before and not self.before.exists():
            raise Problem(f"--before: there is no {self.before}")
        for what, path in (("weir", self.weir), ("weir-bench", self.client), ("floor", self.floor)):
            if (what in servers or what == "weir-bench") and not path.exists():
                raise Problem(f"{what} is not built ({path.name} is looked for in {path.parent.name}/); `make bench` "
                              f"builds it")
        if "nginx" in servers:
            if self.nginx is None or not first_line([self.nginx, "-v"]):
                raise Problem("nginx with its RTMP module is not there; scripts/install-deps.sh --bench installs it, "
                              "or leave it out with SERVERS=weir,floor")

    def versions(self, servers):
        found = {"weir": first_line([self.weir, "-v"])}
        if self.before:
            found["before"] = first_line([self.before, "-v"])
        if "nginx" in servers:
            module = package_version("libnginx-mod-rtmp")
            found["nginx"] = first_line([self.nginx, "-v"]).split(":")[-1].strip() + (
                f" with libnginx-mod-rtmp {module}" if module else " with nginx-rtmp")
        if "floor" in servers:
            found["floor"] = f"trunk/bench/floor, {first_line(['cc', '--version'])}, -O2"
        return found
