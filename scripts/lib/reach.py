"""The reach of a header: how many sources include it, directly or through other headers. A change of it compiles all of them."""

MOST = 150
# The layers whose types everything else is made of: their headers may reach any number.
CORE = ("base/", "media/", "stream/")


def reaches(text_of, includes):
    """[(reach, header)], the largest first. `text_of`: path below trunk/src -> text, of all sources and headers."""
    included = {name: [path for _, kind, path in includes(text) if kind == '"'] for name, text in text_of.items()}
    count = {name: 0 for name in text_of if name.endswith(".h")}
    for source in text_of:
        if not source.endswith(".cc"):
            continue
        todo, seen = [source], set()
        while todo:
            for name in included.get(todo.pop(), ()):
                if name in count and name not in seen:
                    seen.add(name)
                    todo.append(name)
        for name in seen:
            count[name] += 1
    return sorted(((reach, name) for name, reach in count.items()), key=lambda row: (-row[0], row[1]))


def too_far(rows):
    """(header, sentence) of each header that reaches more sources than it may."""
    for reach, name in rows:
        if reach > MOST and not name.startswith(CORE):
            yield name, f"a change compiles {reach} sources, at most {MOST}: forward-declare in the headers that include it, or split it"
