"""The report of a hunt as one HTML page that needs nothing else: memory over time as SVG, findings, checks, objects."""

from html import escape

from hunt.judge import frame_text, record_title

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 900, 300, 70, 60, 20, 50
COLOURS = {"warm up": "#f4ecd8", "load": "#e3eefb", "settle": "#eef7ea", "check": "#f7e6ee"}
STYLE = """body{font:15px/1.45 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse}td,th{padding:.15em .8em;text-align:right;border-bottom:1px solid #ddd}
td:first-child,th:first-child{text-align:left}pre{background:#f6f6f6;padding:.6em;overflow-x:auto}
.clean{color:#1a7f37}.leaking,.growing{color:#b3261e}svg text{font:11px sans-serif;fill:#444}"""


def nice_step(span, parts):
    """A step of 1, 2 or 5 times a power of ten that divides the span into about so many parts."""
    raw = max(span / parts, 1e-9)
    power = 1.0
    while power * 10 <= raw:
        power *= 10
    while power > raw:
        power /= 10
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw)


def memory_plot(samples, heap, phases):
    """`samples`: (seconds, private KiB); `heap`: (seconds, bytes in use) of settled states; `phases`: (begin, end, name)."""
    if len(samples) < 2:
        return "<p>Too short for a plot.</p>"
    last = samples[-1][0]
    most = max(kib for _, kib in samples) / 1024 * 1.1
    x = lambda seconds: LEFT + seconds / last * (WIDTH - LEFT - RIGHT)  # noqa: E731
    y = lambda mib: HEIGHT - BOTTOM - mib / most * (HEIGHT - TOP - BOTTOM)  # noqa: E731
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
             f'aria-label="memory over time">']
    for begin, end, name in phases:
        colour = COLOURS.get(name.split(":")[0], "#eee")
        parts.append(f'<rect x="{x(begin):.1f}" y="{TOP}" width="{max(0, x(min(end, last)) - x(begin)):.1f}" '
                     f'height="{HEIGHT - TOP - BOTTOM}" fill="{colour}"><title>{escape(name)}</title></rect>')
    step, tick = nice_step(most, 5), 0.0
    while tick <= most:
        parts.append(f'<path d="M{LEFT} {y(tick):.1f}H{WIDTH - RIGHT}" stroke="#ccc"/>'
                     f'<text x="{LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
        tick += step
    step, tick = nice_step(last, 8), 0.0
    while tick <= last:
        parts.append(f'<text x="{x(tick):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{tick:g} s</text>')
        tick += step
    line = " ".join(f"{x(seconds):.1f},{y(kib / 1024):.1f}" for seconds, kib in samples)
    parts.append(f'<polyline points="{line}" fill="none" stroke="#c0392b" stroke-width="1.6"/>')
    # The heap has a scale of its own, on the right: it is a small part of what a tool's build takes.
    heap_most = max((used for _, used in heap), default=0) / 1024 * 1.1
    heap_y = lambda kib: HEIGHT - BOTTOM - kib / heap_most * (HEIGHT - TOP - BOTTOM)  # noqa: E731
    parts += [f'<circle cx="{x(seconds):.1f}" cy="{heap_y(used / 1024):.1f}" r="4" fill="#1f618d"><title>heap in use: '
              f'{used:,} bytes</title></circle>' for seconds, used in heap]
    step, tick = nice_step(heap_most, 5), 0.0
    while heap and tick <= heap_most:
        parts.append(f'<text x="{WIDTH - RIGHT + 6}" y="{heap_y(tick) + 4:.1f}" style="fill:#1f618d">{tick:g}</text>')
        tick += step
    left = LEFT
    for colour, text in [("#c0392b", "private memory, MiB"), ("#1f618d", "heap in use, KiB (right)")] + \
            [(colour, name) for name, colour in COLOURS.items()]:
        parts.append(f'<rect x="{left}" y="{HEIGHT - 20}" width="12" height="12" fill="{colour}" stroke="#bbb"/>'
                     f'<text x="{left + 17}" y="{HEIGHT - 10}">{text}</text>')
        left += 40 + 6.2 * len(text)
    return "".join(parts) + "</svg>"


def stack_text(stack):
    return "\n".join(f"  {line}" for line in stack)


def findings_part(findings):
    if not findings:
        return "<p>Nothing stayed.</p>"
    return "".join(f"<h3 class={finding['kind']}>{escape(finding['kind'])}: {escape(finding['what'])}</h3>"
                   + (f"<pre>{escape(stack_text(finding['stack']))}</pre>" if finding["stack"] else "")
                   for finding in findings)


def amount(total):
    """What the tool cannot tell is a dash."""
    return "-" if total.get("bytes") is None else f"{total['bytes']:,} ({total['bytes_delta']:,})"


def checks_part(checks):
    """`checks`: (when, the check's data)."""
    if not checks:
        return "<p>This build has no tool that looks for lost blocks; objects and heap were compared.</p>"
    rows = []
    for when, check in checks:
        cells = "".join(f"<td>{amount(check.get(kind) or {})}</td>"
                        for kind in ("definitely", "indirectly", "possibly", "reachable"))
        rows.append(f"<tr><td>{escape(when)}</td>{cells}<td>{escape(check['verdict'])}</td></tr>")
    records = [record for _, check in checks[-1:] for record in check.get("records", [])]
    details = "".join(f"<h4>{escape(record_title(record))}</h4><pre>"
                      f"{escape(stack_text(map(frame_text, record['stack'])))}</pre>" for record in records)
    return ("<table><tr><th>after</th><th>definitely lost (delta)</th><th>indirectly</th><th>possibly</th>"
            f"<th>reachable</th><th>verdict</th></tr>{''.join(rows)}</table><h3>Records of the last check</h3>"
            f"{details or '<p>None.</p>'}")


def objects_part(before, after):
    rows = [f"<tr><td>{escape(row['subsystem'])}: {escape(name)}</td><td>{before.get(name, {}).get('live', 0):,}</td>"
            f"<td>{row['live']:,}</td><td>{row['bytes']:,}</td><td>{row['high_water']:,}</td><td>{row['made']:,}</td></tr>"
            for name, row in after.items()]
    return ("<table><tr><th>class</th><th>live before the load</th><th>after</th><th>bytes</th><th>the most at once</th>"
            f"<th>made</th></tr>{''.join(rows)}</table>")


def page(hunt):
    """`hunt`: what main.Hunt gathered."""
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Leak hunt: {escape(hunt.verdict)}</title><style>{STYLE}</style></head><body>
<h1>Leak hunt: <span class="{hunt.verdict}">{escape(hunt.verdict)}</span></h1>
<p>{escape(hunt.about())}</p>
<h2>Memory over time</h2>
{memory_plot(hunt.samples, hunt.heap_points, hunt.phases)}
<h2>Findings</h2>
{findings_part(hunt.findings)}
<h2>Leak checks</h2>
{checks_part(hunt.checks)}
<h2>Objects</h2>
{objects_part(hunt.objects_before, hunt.objects_after)}
</body></html>
"""
