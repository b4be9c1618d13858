"""Redis for tests: Debian's redis-server as a child of the test, on loopback, with nothing on disk that matters. No service of
the system is used."""

import contextlib
import signal
import socket
import subprocess
import threading

from weir import accepts, free_port, wait_end, wait_until

START_SECONDS = 20


class RedisError(Exception):
    """What Redis answers with '-'."""


class Redis:
    """One server; `args` are directives as options."""

    def __init__(self, folder, *args, port=None, name="redis", password=None):
        self.folder = folder / name
        self.folder.mkdir(exist_ok=True)
        self.port = port or free_port()
        self.args = [str(arg) for arg in args]
        self.password = password
        self.process = None

    def start(self):
        plain = [] if "--port" in self.args else ["--port", str(self.port)]
        with open(self.folder / "redis.log", "ab") as log:
            self.process = subprocess.Popen(
                ["redis-server", *plain, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", self.folder,
                 *(["--requirepass", self.password] if self.password else []), *self.args],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        wait_until(self.answers, START_SECONDS, f"Redis answers on {self.port}")
        return self

    def answers(self):
        assert self.process.poll() is None, (self.folder / "redis.log").read_text()
        with contextlib.suppress(OSError, RedisError):
            return accepts(self.port) if "--tls-port" in self.args else self.command("PING") == "PONG"
        return False

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            wait_end(self.process, 5)
        self.process = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.end()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def command(self, *words):
        """One command, and its reply."""
        with socket.create_connection(("127.0.0.1", self.port), 5) as connection:
            stream = connection.makefile("rwb")
            if self.password:
                self.say(stream, "AUTH", self.password)
            return self.say(stream, *words)

    @classmethod
    def say(cls, stream, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        stream.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        stream.flush()
        return cls.reply(stream)

    @classmethod
    def reply(cls, stream):
        line = stream.readline()
        if not line:
            raise OSError("Redis has closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RedisError(rest.decode())
        if kind == b"+":
            return rest.decode()
        if kind == b":":
            return int(rest)
        if int(rest) < 0:
            return None
        if kind == b"$":
            return stream.read(int(rest) + 2)[:-2]
        return [cls.reply(stream) for _ in range(int(rest))]

    def copy(self):
        """What it has, for fail_over_to()."""
        return [(key, self.command("GET", key), self.command("PTTL", key)) for key in self.command("KEYS", "*")]

    def fail_over_to(self, copy):
        """As after a failover to a replica that was behind: it has what it had then, and all connections are new."""
        for kind in ("normal", "pubsub"):
            self.command("CLIENT", "KILL", "TYPE", kind)
        self.command("FLUSHALL")
        for key, value, life in copy:
            if value is not None and life > 0:
                self.command("SET", key, value, "PX", life)

    def records(self):
        """The streams: {name: (node, boot, epoch)}. What is no record is left out."""
        found = {}
        for key in self.command("KEYS", "{weir}:s:*"):
            with contextlib.suppress(RedisError, ValueError, AttributeError):
                node, boot, epoch, _ = self.command("GET", key).decode().split()
                found[key.decode().split("/", 1)[1]] = (node, boot, int(epoch))
        return found

    def nodes(self):
        return {key.decode().rpartition(":")[2] for key in self.command("KEYS", "{weir}:n:*")}


class Path:
    """A TCP relay to a server, which can be cut: then what is connected stands still and nobody else is let in."""

    def __init__(self, port):
        self.target = port
        self.port = free_port()
        self.cut_now = threading.Event()
        self.ended = threading.Event()
        self.open = []
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.listener.settimeout(0.1)
        self.threads = [threading.Thread(target=self.accept, daemon=True)]
        self.threads[0].start()

    def accept(self):
        while not self.ended.is_set():
            try:
                near, _ = self.listener.accept()
            except OSError:
                continue
            if self.cut_now.is_set():
                near.close()
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self.target), 5)
            except OSError:  # nobody is there at present
                near.close()
                continue
            self.open += [near, far]
            for one, other in ((near, far), (far, near)):
                self.threads.append(threading.Thread(target=self.carry, args=(one, other), daemon=True))
                self.threads[-1].start()

    def carry(self, one, other):
        one.settimeout(None)
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                if self.cut_now.is_set():
                    break  # lost
                other.sendall(data)
        for each in (one, other):
            with contextlib.suppress(OSError):
                if not self.cut_now.is_set():
                    each.shutdown(socket.SHUT_RDWR)

    def cut(self):
        self.cut_now.set()

    def heal(self):
        for each in self.open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self.open = []
        self.cut_now.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.heal()
        for thread in self.threads:
            thread.join(2)
        self.listener.close()


def stopped(redis, seconds):
    """Redis does nothing for so long."""
    redis.signal(signal.SIGSTOP)
    try:
        threading.Event().wait(seconds)
    finally:
        redis.signal(signal.SIGCONT)
