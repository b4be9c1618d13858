"""Finds the functions of a C++ file by their braces, as far as scripts/lint needs it for the limits of their size: those that
are not inside another one. What a macro or a constructor with braces in its list of members hides is not found."""

import re

TAIL = re.compile(r"\)\s*(?:const|noexcept|override|final|&&?|->[^{]*|:\s.*)*$")
NO_FUNCTION = re.compile(r"(?:if|for|while|switch|else|do|catch)\b|.*\b(?:namespace|class|struct|enum|union)\b[^()]*$")
LAMBDA = re.compile(r"\[[^\]]*\]\s*(?:\([^()]*\))?[^()]*$")


def functions(code):
    """(line, name, lines, nesting, parameters) of each; `code` is without comments and literals. Nesting counts what is in
    braces inside: blocks, lambdas, lists."""
    code = re.sub(r"^[ \t]*#.*$", lambda match: " " * len(match[0]), code, flags=re.M)
    opened, found, begin = [], [], 0
    for at, char in enumerate(code):
        if char == "{":
            opened.append((at, " ".join(code[begin:at].split())))
        elif char == "}" and opened:
            start, head = opened.pop()
            if is_function(head):
                found.append((start, at, head))
        if char in "{};":
            begin = at + 1
    end = -1
    for start, stop, head in sorted(found):
        if start > end:
            end = stop
            body = code[start:stop + 1]
            name = re.search(r"([\w:~]+|operator\S+) ?\(", head)
            yield (code.count("\n", 0, start) + 1, name[1] if name else head, body.count("\n") + 1, nesting(body),
                   parameters(head))


def is_function(head):
    head = re.sub(r"^(?:public|private|protected) ?: ?", "", head)
    return bool("(" in head and TAIL.search(head) and not NO_FUNCTION.match(head) and not LAMBDA.search(head)
                and "=" not in head.split("(")[0])


def nesting(body):
    depth = most = -1  # the braces of the function itself
    for char in body:
        depth += (char == "{") - (char == "}")
        most = max(most, depth)
    return most


def parameters(head):
    text = head[head.index("(") + 1:]
    depth = count = 0
    for at, char in enumerate(text):
        if char == ")" and depth == 0:
            return count + 1 if text[:at].strip() else 0
        depth += (char in "(<[") - (char in ")>]")
        count += char == "," and depth == 0
    return count + 1
