"""A hook server in the test's own process: writes down what it hears and answers as it is told."""

import contextlib
import http.server
import json
import os
import socket
import ssl
import threading

from weir import free_port

ACTIONS = ("on_connect", "on_close", "on_publish", "on_unpublish", "on_play", "on_stop")
CLOSING = {"on_connect": "on_close", "on_publish": "on_unpublish", "on_play": "on_stop"}


class HookServer:
    """`mode`: "allow", "refuse", "hang", "garbage", "error", "missing" (the page is not there); may be changed at any time."""

    def __init__(self, mode="allow", certificate=None):
        self.certificate = certificate  # (file, file of its key): https
        self.mode, self.events, self.headers, self.connections = mode, [], [], []
        self.lock, self.go_on = threading.Lock(), threading.Event()
        self.port = free_port()
        self.server = None
        self.start()

    def start(self):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self):
                super().setup()
                outer.connections.append(self.connection)

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with outer.lock:
                    outer.events.append(json.loads(body))
                    outer.headers.append((dict(self.headers), body))
                mode = outer.mode
                if mode == "hang":
                    outer.go_on.wait(60)
                elif mode == "garbage":
                    self.wfile.write(b"\x16\x03\x01 what?\r\n" * 100)
                    self.close_connection = True
                    return
                answer = {"refuse": b'{"code":1,"msg":"not on the list"}', "missing": b"<html>"}.get(mode, b"0")
                self.send_response({"error": 500, "missing": 404}.get(mode, 200))
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 512

            def handle_error(self, *_):  # a peer that gave up
                pass

        self.server = Server(("127.0.0.1", self.port), Handler)
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.server.daemon_threads = True
        self.server.block_on_close = False
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.go_on.set()
        if self.server:
            self.server.shutdown()
            self.server.server_close()
            for connection in self.connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            self.server = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def url(self, host="127.0.0.1"):
        return f"http{'s' if self.certificate else ''}://{host}:{self.port}/hook"

    def config(self, more="", actions=ACTIONS, host="127.0.0.1"):
        return "http_hooks { " + " ".join(f"{action} {self.url(host)};" for action in actions) + f" {more} }}"

    def heard(self):
        with self.lock:
            return list(self.events)

    def count(self, action):
        return sum(event["action"] == action for event in self.heard())

    def by_client(self):
        clients = {}
        for event in self.heard():
            clients.setdefault(event["client_id"], []).append(event)
        return clients


def check_pairs(hooks):
    """Each client's events are in order, and what began has ended exactly once."""
    for client, events in hooks.by_client().items():
        open_ones, seen = [], [event["action"] for event in events]
        for event in events:
            action = event["action"]
            if action in CLOSING:
                assert action != "on_connect" or not open_ones, (client, seen)
                open_ones.append(action)
                continue
            begun = next(key for key, value in CLOSING.items() if value == action)
            assert open_ones and open_ones[-1] == begun, (client, seen)
            open_ones.pop()
            assert event["duration_ms"] >= 0 and event["bytes"] >= 0 and event["reason"], event
        assert not open_ones, (client, seen)
    ids = [event["event_id"] for event in hooks.heard()]
    assert len(set(ids)) == len(ids), "an event came twice"


class SilentNames:
    """Looking up a name without a dot hangs as with a name server that never answers, for a program run by `wrapper`.

    Without any rights: the system's resolver reads the file of aliases that HOSTALIASES names first, and this one is a
    FIFO to which nobody writes.
    """

    def __init__(self, folder):
        self.aliases = folder / "aliases"
        os.mkfifo(self.aliases)
        self.wrapper = ["env", f"HOSTALIASES={self.aliases}"]

    def was_asked(self):
        """Whether a look-up hangs in it now."""
        try:
            os.close(os.open(self.aliases, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            return False
        return True
