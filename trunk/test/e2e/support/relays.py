"""Nodes that bring streams from each other: their configurations, and requests as a node makes them."""

import contextlib
import hashlib
import hmac
import http.client
import re
import time

SECRET = "0123456789abcdef-of-the-tests"


def node(new_weir, name, *origins, more="", linger="1s", input_timeout="5s", hops=2, secret=SECRET, play=""):
    """A server (not started) of the cluster of these tests; `origins`: servers, or URLs of them."""
    lines = "".join(f"origin {each if isinstance(each, str) else f'http://127.0.0.1:{each.http_port}'};\n" for each in origins)
    return new_weir(f"cluster {{ node {name}; secret {secret}; relay_linger {linger}; relay_input_timeout {input_timeout}; "
                    f"relay_hops {hops}; }}\nplay {{ mw_latency 0; {play} }}\n{lines}{more}\n", name)


def add_origin(weir, *origins):
    """For nodes that name each other."""
    with weir.config_path.open("a") as text:
        for each in origins:
            text.write(f"origin http://127.0.0.1:{each.http_port};\n")


def field(target, path=("tester",), epoch=0, secret=SECRET, method="GET", when=None, nonce="0" * 32):
    """Weir-Relay, as doc/cluster.md has it."""
    front = f"v=1;path={','.join(path)};epoch={epoch};time={int((time.time() if when is None else when) * 1000)};nonce={nonce}"
    mac = hmac.new(secret.encode(), f"{method}\n{target}\n{front}".encode(), hashlib.sha256).hexdigest()
    return f"{front};mac={mac}"


def ask(weir, target, value=None, read=False):
    """Status and field Weir-Relay of the answer to a node's request. `read`: some bytes of the body, too."""
    connection = http.client.HTTPConnection("127.0.0.1", weir.http_port, timeout=10)
    with contextlib.closing(connection):
        connection.request("GET", target, headers={} if value is None else {"Weir-Relay": value})
        answer = connection.getresponse()
        got = answer.status, answer.getheader("Weir-Relay")
        return (*got, answer.read(64)) if read else got


def pulls(weir):
    return [each for each in weir.api("/api/v1/sources?count=1000")["sources"] if each["role"] == "pull"]


def pull(weir, name="cam"):
    return next((each for each in pulls(weir) if each["name"] == name), None)


def metric(weir, name):
    """Sum of a series, or of those of its labels that the text of `name` begins."""
    found = [float(line.rsplit(" ", 1)[1]) for line in weir.metrics().splitlines() if re.match(re.escape(name) + r"[{ ,}]", line)]
    assert found, f"there is no series {name}"
    return sum(found)
