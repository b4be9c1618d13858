"""Checks the pages of the repository: links, anchors, and pages that other files name. scripts/lint calls it."""

import re

from sources import TOP, TRUNK

FENCE = re.compile(r"^\s*```")
LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.*?)#*$")
MENTION = re.compile(r"(?<![\w$/}.-])doc/([A-Za-z0-9_/.-]+\.(?:md|svg|png|json|yml|flv))(#[\w-]+)?")
INSTALLED = re.compile(r"share/doc/weir/([A-Za-z0-9_/-]+\.md)")
DECISION = re.compile(r"\badr/(\d{4})(?!\d)")

# Files that may name a page: folders with what their files end in, and single files.
NAMING = ["trunk/src", "trunk/test", "trunk/bench", "trunk/fuzz", "trunk/cmake", "trunk/www", "scripts", "conf", "packaging",
          "doc", ".ci", "README.md", "Makefile", "Dockerfile", "configure", "trunk/CMakeLists.txt"]
INVENTED = {"test_docs.py"}  # names pages that are not there, on purpose
BINARY = {".png", ".flv", ".pyc", ".ico", ".woff2"}


def pages():
    return [TOP / "README.md", *sorted((TOP / "doc").rglob("*.md")), *sorted((TRUNK / "test").rglob("*.md"))]


def text_lines(page):
    """(number, line) of a page without its code blocks: fenced ones, and those indented by four spaces."""
    fenced = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            yield number, line


def anchors(page):
    """What a link to a heading of the page may say behind '#', by the rule that GitHub and GitLab follow."""
    found = {}
    for _, line in text_lines(page):
        match = HEADING.match(line)
        if match:
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1].strip())
            slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            found[slug] = found.get(slug, -1) + 1
    return {slug if not count else f"{slug}-{count}" for slug, most in found.items() for count in range(most + 1)}


def check_links(report):
    known = {}
    for page in pages():
        for number, line in text_lines(page):
            for target in LINK.findall(re.sub(r"`[^`]*`", "``", line)):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                to = (page.parent / path).resolve() if path else page
                if not to.exists():
                    report.add(page, number, f"the link to {target} leads nowhere")
                elif anchor and to.suffix == ".md":
                    if anchor not in known.setdefault(to, anchors(to)):
                        report.add(page, number, f"the link to {target}: {to.name} has no such heading")


def check_mentions(report):
    """Every doc/PAGE that a source, a script, a configuration or a manual page names is there."""
    decisions = {path.name[:4] for path in (TOP / "doc" / "adr").glob("*.md")}
    for place in NAMING:
        top = TOP / place
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if not path.is_file() or path.suffix in BINARY or path.name in INVENTED or "__pycache__" in path.parts:
                continue
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                if path.suffix == ".md":
                    line = LINK.sub("", line)  # check_links has those
                named = [(name, anchor[1:]) for name, anchor in MENTION.findall(line)]
                for name, anchor in named + [(name, "") for name in INSTALLED.findall(line)]:
                    page = TOP / "doc" / name
                    if not page.exists():
                        report.add(path, number, f"names doc/{name}, which is not there")
                    elif anchor and page.suffix == ".md" and anchor not in anchors(page):
                        report.add(path, number, f"names doc/{name}#{anchor}, which has no such heading")
                for decision in DECISION.findall(line):
                    if decision not in decisions:
                        report.add(path, number, f"names adr/{decision}, which is not there")


def check_docs(report):
    check_links(report)
    check_mentions(report)
