#!/usr/bin/env python3
"""What Redis itself pays for the registry's commands: microseconds of its processor time for each, which simulate.py adds up.

  trunk/bench/scaling/redis_cost.py [--rounds N]

Starts a redis-server (Debian's package) on loopback and ends it. Processor time is counted, not elapsed time, so other programs
disturb little. The scripts are those of the registry in short: claim, renew, lookup.
"""

import argparse
import os
import socket
import subprocess
import time
from pathlib import Path

CLAIM = """local r = redis.call('HMGET', KEYS[1], 'node', 'boot', 'epoch')
local now = redis.call('TIME'); local ms = now[1] * 1000 + math.floor(now[2] / 1000)
if r[1] and r[1] ~= ARGV[1] and redis.call('EXISTS', '{weir}:n:' .. r[1]) == 1 then return {0, r[1], r[3]} end
local epoch = string.format('%.0f', math.max(ms, (tonumber(r[3]) or 0) + 1))
redis.call('HSET', KEYS[1], 'node', ARGV[1], 'boot', ARGV[2], 'epoch', epoch)
redis.call('PEXPIRE', KEYS[1], 60000)
redis.call('PUBLISH', '{weir}:ev', 'claim ' .. KEYS[1] .. ' ' .. epoch)
return {1, ARGV[1], epoch}"""
RENEW = """local r = redis.call('HMGET', KEYS[1], 'boot', 'epoch')
if r[1] == ARGV[1] then redis.call('PEXPIRE', KEYS[1], 60000) return 1 end
if r[2] and tonumber(r[2]) > tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], 'node', ARGV[3], 'boot', ARGV[1], 'epoch', ARGV[2])
redis.call('PEXPIRE', KEYS[1], 60000) return 1"""
LOOKUP = """local r = redis.call('HMGET', KEYS[1], 'node', 'boot', 'epoch')
if not r[1] then return 0 end
return {r[1], r[2], r[3], redis.call('GET', '{weir}:n:' .. r[1])}"""
STREAMS = 20_000
NODE = "http://10.0.0.7:8080 boot=0123456789abcdef state=serving busy=0.42 kbps=1234567 version=0.1.0"


def words(*parts):
    data = [str(part).encode() for part in parts]
    return b"*%d\r\n" % len(data) + b"".join(b"$%d\r\n%s\r\n" % (len(each), each) for each in data)


class Peer:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), 10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def reply(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            return self.file.read(int(rest) + 2)[:-2] if int(rest) >= 0 else None
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        assert kind in b"+:", line
        return rest

    def pipeline(self, commands, depth):
        """So many of them are under way at a time."""
        for begin in range(0, len(commands), depth):
            part = commands[begin:begin + depth]
            self.socket.sendall(b"".join(part))
            for _ in part:
                self.reply()

    def load(self, script):
        self.socket.sendall(words("SCRIPT", "LOAD", script))
        return self.reply().decode()


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(server, peer, name, commands, depth):
    before = processor_seconds(server.pid)
    peer.pipeline(commands, depth)
    cost = (processor_seconds(server.pid) - before) / len(commands) * 1e6
    print(f"{name:44s} {cost:7.2f} us", flush=True)


def fan_out(server, port, peer, subscribers, events):
    """One event to many: the bytes are left in the sockets, which are large enough."""
    listening = [Peer(port) for _ in range(subscribers)]
    for each in listening:
        each.socket.sendall(words("SUBSCRIBE", "{weir}:ev"))
        each.reply()
    command = words("PUBLISH", "{weir}:ev", "claim __defaultVhost__/live/stream-12345 1790000000000 node-123 a")
    before = processor_seconds(server.pid)
    for _ in range(events):
        peer.socket.sendall(command)
        peer.reply()
    cost = (processor_seconds(server.pid) - before) / events / subscribers * 1e6
    print(f"{f'event to each of {subscribers} subscribers':44s} {cost:7.2f} us", flush=True)
    for each in listening:
        each.socket.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="each command for all of the streams so many times")
    args = parser.parse_args()
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    server = subprocess.Popen(["redis-server", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    server.stdin.write(f"port {port}\nbind 127.0.0.1\nsave \"\"\nappendonly no\n".encode())
    server.stdin.close()
    try:
        deadline = time.monotonic() + 10
        while True:
            try:
                peer = Peer(port)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        claim, renew, lookup = (peer.load(script) for script in (CLAIM, RENEW, LOOKUP))
        keys = [f"{{weir}}:s:__defaultVhost__/live/stream-{number}" for number in range(STREAMS)] * args.rounds
        beat = words("SET", "{weir}:n:node-1", NODE, "PX", 5000)
        measure(server, peer, "heartbeat (SET PX), one at a time", [beat] * STREAMS, 1)
        claims = [words("EVALSHA", claim, 1, key, "node-1", "boot-1") for key in keys]
        measure(server, peer, "claim, one at a time", claims[:STREAMS], 1)
        measure(server, peer, "claim, 100 at a time", claims, 100)
        renewals = [words("EVALSHA", renew, 1, key, "boot-1", 1, "node-1") for key in keys]
        measure(server, peer, "renew, 100 at a time", renewals, 100)
        again = [words("EVALSHA", renew, 1, key, "boot-2", "9e15", "node-1") for key in keys[:STREAMS]]
        peer.pipeline([words("FLUSHALL"), *[beat]], 1)
        measure(server, peer, "renew into an empty Redis, 100 at a time", again, 100)
        peer.pipeline([beat], 1)
        lookups = [words("EVALSHA", lookup, 1, key) for key in keys[:STREAMS]]
        measure(server, peer, "lookup, one at a time", lookups, 1)
        measure(server, peer, "lookup, 20 at a time", lookups * args.rounds, 20)
        fan_out(server, port, peer, 10, 5_000)
        fan_out(server, port, peer, 100, 1_000)
        fan_out(server, port, peer, 900, 200)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
