"""The curve of mw_latency auto as SVG: CPU and p99 delay against players, beside the peers'."""

from math import log10

WIDTH, HEIGHT = 380, 260            # of one plot
LEFT, RIGHT, TOP, BOTTOM = 52, 24, 34, 40
CURVES = [  # policy, server, label, colour, dashes
    ("auto", "weir", "Weir, auto", "#c0392b", ""),
    ("0", "weir", "Weir, every message", "#e59866", "5 3"),
    ("0", "floor", "floor, every message", "#34495e", ""),
    ("0", "nginx", "nginx-rtmp", "#27ae60", ""),
    ("100", "floor", "floor, 100 ms", "#85929e", "5 3"),
]


def points_of(results, cases, policy, server, figure):
    found = [(case.players, results.median(case.name, policy, server, figure)) for case in cases]
    return [(players, value) for players, value in found if value]


def scaled(value, ticks, low_px, high_px):
    """Where a value lies on a logarithmic axis from the first to the last tick."""
    share = (log10(min(max(value, ticks[0]), ticks[-1])) - log10(ticks[0])) / (log10(ticks[-1]) - log10(ticks[0]))
    return low_px + share * (high_px - low_px)


def plot(results, cases, figure, title, ticks, left):
    players = [100, 250, 500, 1000, 2500, 5000, 10000]
    x = lambda value: scaled(value, players, left + LEFT, left + WIDTH - RIGHT)  # noqa: E731
    y = lambda value: scaled(value, ticks, HEIGHT - BOTTOM, TOP)  # noqa: E731
    parts = [f'<text x="{left + LEFT}" y="{TOP - 14}" class="title">{title}</text>']
    for tick in ticks:
        parts.append(f'<path d="M{left + LEFT} {y(tick):.1f}H{left + WIDTH - RIGHT}" class="grid"/>'
                     f'<text x="{left + LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:,}</text>')
    for count in players:
        parts.append(f'<text x="{x(count):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{count:,}</text>')
    for policy, server, label, colour, dashes in CURVES:
        points = points_of(results, cases, policy, server, figure)
        if not points:
            continue
        line = " ".join(f"{x(count):.1f},{y(value):.1f}" for count, value in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2" '
                     f'stroke-dasharray="{dashes}"><title>{label}</title></polyline>')
        parts += [f'<circle cx="{x(count):.1f}" cy="{y(value):.1f}" r="3" fill="{colour}"><title>{label}, {count:,} '
                  f'players: {value:.1f}</title></circle>' for count, value in points]
    return "".join(parts)


def legend(results, cases):
    parts, left = [], LEFT
    for policy, server, label, colour, dashes in CURVES:
        if points_of(results, cases, policy, server, "p99_ms"):
            parts.append(f'<path d="M{left} {HEIGHT + 8}h18" stroke="{colour}" stroke-width="2" '
                         f'stroke-dasharray="{dashes}"/><text x="{left + 23}" y="{HEIGHT + 12}">{label}</text>')
            left += 38 + 6.4 * len(label)
    return "".join(parts)


def curve(results, cases):
    """An SVG document, or nothing when fewer than two numbers of players were measured with auto."""
    if len(points_of(results, cases, "auto", "weir", "p99_ms")) < 2:
        return ""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {HEIGHT + 24}" font-family="sans-serif" '
            f'font-size="11" fill="#222"><style>.grid{{stroke:#ddd}}.title{{font-size:13px;font-weight:bold}}</style>'
            f'<rect width="100%" height="100%" fill="#fff"/>'
            + plot(results, cases, "cpu_percent", "CPU, % of a core, against players", [1, 3, 10, 30, 100], 0)
            + plot(results, cases, "p99_ms", "p99 delay, ms, against players", [1, 10, 100, 1000, 10000], WIDTH)
            + legend(results, cases) + "</svg>\n")
