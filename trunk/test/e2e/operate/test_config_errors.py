"""`weir -t` on a file with errors of ten kinds: all of them, each with its place, what is wrong and what to do."""

import re
import subprocess

import pytest

from weir import BINARY

FILE = """\
listne 1936;
listen 127.0.0.1:21935;
write_stall_timeout 20x;
max_connections 0;
log_level debug
pid weir.pid;
pid other.pid;
publish_conflict maybe;
include missing.conf;
http_server {
    listen 127.0.0.1:21935;
    play { queue_length 2s; }
}
vhost a.example {
    security { allow publish 10.0.0.0/99; }
}
"""

# kind: line and column, what is wrong, what to do
ERRORS = {
    "unknown directive": ("1:1", "unknown directive 'listne'", "did you mean 'listen'?"),
    "bad unit": ("3:21", "found '20x'", "expected a duration from 1s to 10m (with ms, s, m or h"),
    "out of range": ("4:17", "found '0'", "expected a number from 1 to 1000000"),
    "missing semicolon": ("5:16", "found 'pid' on line 6", "expected ';' at the end of 'log_level'"),
    "duplicate": ("7:1", "found a second pid, the first one is on line 6", "keep one"),
    "unknown value": ("8:18", "found 'maybe'", "expected refuse or takeover"),
    "missing file": ("9:9", "missing.conf: cannot be opened: No such file or directory", "correct the path"),
    "conflicting listeners": ("11:12", "found 127.0.0.1:21935, which listen in", "choose another port"),
    "wrong context": ("12:5", "found 'play' in http_server", "it belongs in the top level or vhost"),
    "bad CIDR": ("15:30", "found '10.0.0.0/99'", "ADDRESS/BITS (up to /32 and /128)"),
}


@pytest.fixture
def said(folder):
    path = folder / "ten.conf"
    path.write_text(FILE)
    done = subprocess.run([BINARY, "-t", "-c", path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stdout == "", (done.returncode, done.stdout)
    return done.stderr


def test_ten_errors_are_ten_lines_in_the_order_of_the_file(folder, said):
    lines = said.splitlines()
    assert lines[-1] == f"weir: {folder}/ten.conf: 10 errors"
    places = [re.match(re.escape(f"{folder}/ten.conf") + r":(\d+):\d+: ", line) for line in lines[:-1]]
    assert all(places) and len(places) == 10, said
    numbers = [int(place[1]) for place in places]
    assert numbers == sorted(numbers), said
    assert max(map(len, lines)) < len(str(folder)) * 2 + 160, "a line that nobody reads"


@pytest.mark.parametrize("kind", ERRORS)
def test_each_says_where_what_is_wrong_and_what_to_do(said, kind):
    place, wrong, advice = ERRORS[kind]
    line = next((line for line in said.splitlines() if f"ten.conf:{place}: " in line), "")
    assert wrong in line and advice in line, said
