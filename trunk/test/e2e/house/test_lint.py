"""scripts/lint: what it finds in functions and in includes."""

import sys

from weir import TOP

sys.path.insert(0, str(TOP / "scripts" / "lib"))
import std_names  # noqa: E402
from functions import functions  # noqa: E402
from sources import code_only, includes  # noqa: E402

CODE = """#include <map>
namespace weir {
class Counter {
  public:
    Counter(int begin, std::map<int, int> marks) : at_(begin), marks_(std::move(marks)) {}
    int next() const { return at_; }
};
constexpr int kTable[] = {1, 2};

Result<int> Counter::count(const std::function<int(int, int)>& step,
                           int most) {
    for (int i = 0; i < most; ++i) {
        if (i == 3) {
            run([&] { return step(i, 1); });
        }
    }
    return "}";
}
}  // namespace weir
"""


def test_functions_are_found_with_their_size():
    assert list(functions(code_only(CODE))) == [
        (5, "Counter", 1, 0, 2),
        (6, "next", 1, 0, 0),
        (11, "Counter::count", 8, 3, 2),
    ]


def missing(**files):
    text_of = {f"{name}.h": text for name, text in files.items()}
    return [found[:1] + found[2:] for found in std_names.missing(text_of, lambda name: name, includes, code_only)]


def test_a_name_without_its_header_is_found():
    assert missing(one="std::map<int, int> all;") == [("one.h", "map", "std::map")]
    assert missing(one='#include <map>\nstd::map<int, int> all;  // std::vector\nconst char* a = "std::span";') == []


def test_a_header_counts_that_another_header_of_ours_includes():
    assert missing(one='#include "two.h"\nstd::map<int, int> all;', two="#include <map>") == []


def test_every_precompiled_header_has_names():
    headers = std_names.precompiled((TOP / "trunk" / "cmake" / "pch.cmake").read_text())
    assert set(headers) == set(std_names.NAMES)
