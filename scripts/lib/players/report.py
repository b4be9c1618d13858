"""The figures of a row, what is wrong with it, and the table."""

import statistics

HEAD = ("case", "player", "format", "cold p50", "worst", "behind p50", "worst", "target", "stalls", "skips", "errors", "refused",
        "frames", "dropped", "audio", "sizes")


def figures(row, case):
    """What the table shows of a row, by name."""
    state, found = row["state"], {}
    found["cold_p50_ms"] = statistics.median(row["cold_ms"]) if row["cold_ms"] and case.cold else None
    found["cold_worst_ms"] = max(row["cold_ms"]) if row["cold_ms"] and case.cold else None
    behind = [ms for at, ms in state["samples"] if at >= row.get("settled_ms", 0)]
    found["behind_p50_ms"] = statistics.median(behind) if behind else None
    found["behind_worst_ms"] = max(behind, default=None)
    found["stalls"] = len(state["stalls"])
    found["stalled_s"] = sum(stall["seconds"] for stall in state["stalls"])
    found["has_audio"] = state["audio_bytes"] > row.get("audio_bytes_before", 0) > 0
    return found


def problems(row, case, limit):
    """Sentences; none if the row is good."""
    found, said = row["figures"], []
    if row["failed_starts"]:
        tried = len(row["cold_ms"]) + row["failed_starts"]
        said.append(f"no {'video' if case.video else 'audio'} in {row['failed_starts']} of {tried} starts")
    if row["state"]["first_ms"] is None:
        return said
    if found["stalled_s"] > case.allowed_stall_s:
        said.append(f"{found['stalls']} stalls, {found['stalled_s']:.1f} s")
    if not found["has_audio"]:
        said.append("no audio at the end")
    if case.settings and row["levels"] < 2:
        said.append("has one quality only")
    elif case.settings and len(row["state"]["sizes"]) < 2:
        said.append("does not change the quality")
    if row["target_s"] is not None:
        most = row["target_s"] + row["step_s"] + limit
        if found["behind_p50_ms"] is None:
            said.append("the delay is not known")
        elif found["behind_p50_ms"] / 1000 > most:
            said.append(f"{found['behind_p50_ms'] / 1000:.2f} s behind, more than {most:.2f} s")
    return said


def seconds(ms):
    return "-" if ms is None else f"{ms / 1000:.2f}"


def cells(row):
    state, found = row["state"], row["figures"]
    stalls = f"{found['stalls']} ({found['stalled_s']:.1f})" if found["stalls"] else "0"
    return (row["case"], row["player"], row["format"], seconds(found["cold_p50_ms"]), seconds(found["cold_worst_ms"]),
            seconds(found["behind_p50_ms"]), seconds(found["behind_worst_ms"]),
            "-" if row["target_s"] is None else f"{row['target_s']:.2f}", stalls, str(state["skips"]), str(len(state["errors"])),
            str(len(state["refused"])), str(state["frames"]), str(state["dropped"]), "yes" if found["has_audio"] else "no",
            " ".join(state["sizes"]) or "-")


def table(rows):
    """Text. Times are in seconds."""
    lines = [HEAD, *(cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def notes(rows):
    """Lines: what is wrong, the errors that players reported, the answers with status 400 and above."""
    said = []
    for row in rows:
        name = f"{row['case']} {row['player']} {row['format']}"
        said += [f"WRONG {name}: {problem}" for problem in row["problems"]]
        for what in ("errors", "refused"):
            found = row["state"][what]
            said += [f"{what} {name}: {found.count(each)} x {each}" for each in dict.fromkeys(found)]
    return said
