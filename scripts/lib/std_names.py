"""Names of the headers in trunk/cmake/pch.cmake. A precompiled header would hide that a file does not include what it uses;
scripts/lint looks for these names in files that reach the header neither themselves nor through headers of ours."""

import re

NAMES = {
    "algorithm": r"std::(?:ranges::)?(?:adjacent_find|all_of|any_of|binary_search|clamp|copy(?:_if|_n)?|count(?:_if)?|equal|"
                 r"fill(?:_n)?|find(?:_if|_if_not)?|for_each|generate|is_sorted|lower_bound|max|max_element|min|min_element|minmax|"
                 r"mismatch|none_of|nth_element|remove_if|replace|reverse|rotate|search|shuffle|sort|stable_sort|transform|"
                 r"unique|upper_bound)\b",
    "array": r"std::(?:array|to_array)\b",
    "atomic": r"std::(?:atomic(?:_\w+)?|memory_order\w*)\b",
    "charconv": r"std::(?:from_chars|to_chars)\b",
    "chrono": r"std::chrono\b",
    "cstddef": r"\bstd::(?:byte|nullptr_t|ptrdiff_t|size_t)\b",
    "cstdint": r"\bu?int(?:8|16|32|64)_t\b",
    "cstring": r"\b(?:memchr|memcmp|memcpy|memmove|memset|strchr|strcmp|strerror|strlen|strncmp)\s*\(",
    "deque": r"std::deque\b",
    "functional": r"std::(?:bind|function|greater|hash|invoke|less|plus|ref|reference_wrapper)\b",
    "list": r"std::list\b",
    "map": r"std::(?:multi)?map\b",
    "memory": r"std::(?:make_shared|make_unique|shared_ptr|unique_ptr|weak_ptr)\b",
    "optional": r"std::(?:make_optional|nullopt|optional)\b",
    "set": r"std::(?:multi)?set\b",
    "span": r"std::(?:as_bytes|span)\b",
    "string": r"std::(?:getline|sto[a-z]+|string|to_string)\b",
    "string_view": r"std::string_view\b",
    "tuple": r"std::(?:apply|forward_as_tuple|make_tuple|tie|tuple)\b",
    "unordered_map": r"std::unordered_(?:multi)?map\b",
    "unordered_set": r"std::unordered_(?:multi)?set\b",
    "utility": r"std::(?:as_const|cmp_\w+|exchange|forward|in_range|index_sequence|make_pair|move|pair|swap)\b",
    "variant": r"std::(?:get_if|holds_alternative|monostate|variant|visit)\b",
    "vector": r"std::vector\b",
    "fmt/format.h": r"\bfmt::",
    "gmock/gmock.h": r"\b(?:ASSERT_THAT|EXPECT_CALL|EXPECT_THAT|MOCK_METHOD|ON_CALL)\(",
    "gtest/gtest.h": r"\b(?:ASSERT|EXPECT)_(?:EQ|FALSE|GE|GT|LE|LT|NE|TRUE)\(|\bTEST(?:_F|_P)?\(",
}


def precompiled(pch_cmake):
    """The headers that the build precompiles."""
    return re.findall(r"<([\w./]+)>", pch_cmake)


def missing(text_of, resolve, includes_of, code_of):
    """(file, header, name) of each name that a file uses without its header. `text_of`: file -> text, all files of ours."""
    included = {path: list(includes_of(text)) for path, text in text_of.items()}
    for path, text in text_of.items():
        todo, seen, reached = [path], set(), set()
        while todo:
            one = todo.pop()
            if one in seen:
                continue
            seen.add(one)
            for _, kind, name in included[one]:
                found = resolve(name) if kind == '"' else None
                if found in text_of:
                    todo.append(found)
                elif kind == "<":
                    reached.add(name)
        code = code_of(text)
        for header, names in NAMES.items():
            match = None if header in reached else re.search(names, code)
            if match:
                yield path, code.count("\n", 0, match.start()) + 1, header, match[0]
