"""scripts/reach: how many sources a change of a header compiles, and which headers reach too many."""

import subprocess
import sys

from weir import TOP

sys.path.insert(0, str(TOP / "scripts" / "lib"))
from reach import MOST, reaches, too_far  # noqa: E402
from sources import includes  # noqa: E402


def tree(sources, header="net/hub.h"):
    """So many sources that include the header by another one."""
    text_of = {header: "", "net/user.h": f'#include "{header}"\n'}
    return text_of | {f"net/{number}.cc": '#include "net/user.h"\n' for number in range(sources)}


def test_direct_and_indirect_includes_count_once():
    text_of = tree(2)
    text_of["net/0.cc"] += '#include "net/hub.h"\n#include <vector>\n'
    text_of["net/alone.h"] = ""
    assert reaches(text_of, includes) == [(2, "net/hub.h"), (2, "net/user.h"), (0, "net/alone.h")]


def test_headers_that_include_each_other_end():
    text_of = {"net/a.h": '#include "net/b.h"\n', "net/b.h": '#include "net/a.h"\n', "net/a.cc": '#include "net/a.h"\n'}
    assert reaches(text_of, includes) == [(1, "net/a.h"), (1, "net/b.h")]


def test_a_header_over_the_limit_is_named():
    found = dict(too_far(reaches(tree(MOST + 1), includes)))
    assert set(found) == {"net/hub.h", "net/user.h"}
    assert f"compiles {MOST + 1} sources, at most {MOST}" in found["net/hub.h"]


def test_a_header_at_the_limit_passes():
    assert list(too_far(reaches(tree(MOST), includes))) == []


def test_the_core_may_reach_any_number():
    found = dict(too_far(reaches(tree(MOST + 1, header="base/error.h"), includes)))
    assert set(found) == {"net/user.h"}


def test_the_script_shows_the_table_and_passes():
    done = subprocess.run([TOP / "scripts" / "reach"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout
    assert " base/" in done.stdout.splitlines()[0]
    assert done.stdout.splitlines()[-1].endswith(": ok")
