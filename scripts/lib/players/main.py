"""Measures web players in headless Chromium against a Weir, one after the other, and prints a table.

A row is a case, a player and a format. Times are in seconds.
  cold     from load() to the first decoded frame, on a stream that nobody watched
  behind   since the shown frame arrived at the server, when the player has settled; HTTP-FLV: received and not yet shown
  target   the delay that the playlist asks for
  stalls   their number, and their length together
  skips    jumps in the player's time
  refused  answers with status 400 and above

The exit code is 1 if a player shows no video, has no audio, stalls, or is further behind than --limit allows.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
STREAMS = 8  # of a case at least: one that was watched rests before it counts as not watched again
EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130


def words(text):
    return [word for word in text.replace(",", " ").split() if word]


def parse(arguments, players, formats, cases):
    parser = argparse.ArgumentParser(prog="scripts/web-players", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--players", type=words, default=list(players), metavar="A,B", help=f"of {', '.join(players)}")
    parser.add_argument("--formats", type=words, default=list(formats), metavar="A,B", help=f"of {', '.join(formats)}")
    parser.add_argument("--cases", type=words, default=list(cases), metavar="A,B", help=f"of {', '.join(cases)}")
    parser.add_argument("--seconds", type=float, default=30, help="that each row plays [30]; 600 shows what drifts")
    parser.add_argument("--cold", type=int, default=10, metavar="N", help="cold starts for each row [10]")
    parser.add_argument("--sessions", choices=("on", "off"), default="on", help="hls { sessions } [on]")
    parser.add_argument("--hls", default="", metavar="TEXT", help="more of the block hls { }: 'part 300ms;'")
    parser.add_argument("--set", action="append", default=[], metavar="PLAYER=JSON", help="settings of a player: 'shaka={\"streaming\":{}}'")
    parser.add_argument("--limit", type=float, default=0.3, metavar="SECONDS",
                        help="how far behind the target the median may be [0.3], plus a segment for plain HLS")
    parser.add_argument("--weir", type=Path, metavar="BINARY", help="the server [objs/weir]")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes all rows with every sample")
    parser.add_argument("--list", action="store_true", help="shows players, formats and cases")
    args = parser.parse_args(arguments)
    for option, known in (("players", players), ("formats", formats), ("cases", cases)):
        for name in getattr(args, option):
            if name not in known:
                parser.error(f"--{option}: '{name}' is none of {', '.join(known)}")
    if args.seconds < 4 or args.cold < 1:
        parser.error("--seconds must be at least 4, --cold at least 1")
    try:
        args.set = {name: json.loads(text) for name, _, text in (each.partition("=") for each in args.set)}
    except ValueError as error:
        parser.error(f"--set: {error}")
    return args


def show_list(players, cases, version):
    from .cases import CANNOT
    for name, (formats, _) in players.items():
        print(f"{name:<12} {version(name):<8} {', '.join(formats)}")
    for name, case in cases.items():
        print(f"{name:<12} {case.title}: {', '.join(case.formats)}")
    for (name, _), why in CANNOT.items():
        print(f"left out of {name}: {why}")


def measure(args, cases, folder, rows):
    """Appends to the rows, one by one. Each case has its own server."""
    from browser import Browser
    from media import modern_ffmpeg
    from weir import Weir
    from web_players import PlayerPage, site

    from . import report
    from .runs import Run, Streams, plan
    planned = plan(args, cases)
    for name in dict.fromkeys(each for each, _, _ in planned):
        case, place = cases[name], folder / name
        place.mkdir()
        server = Weir(place, f"hls {{ sessions {args.sessions}; {case.settings} {args.hls} }}")
        try:
            server.start()
            count = max(args.cold + 2, STREAMS) if case.cold else 2
            with Streams(case, server, place, count, modern_ffmpeg()) as streams, site() as address, Browser(place) as browser:
                run = Run(PlayerPage(browser, address), streams, args)
                for _, player, form in (each for each in planned if each[0] == name):
                    row = {"case": name, **run.row(player, form)}
                    row["figures"] = report.figures(row, case)
                    row["problems"] = report.problems(row, case, args.limit)
                    rows.append(row)
                    print(f"web-players: {len(rows)}/{len(planned)}  {name} {player} {form}: {'; '.join(row['problems']) or 'good'}",
                          file=sys.stderr, flush=True)
            server.stop()
        finally:
            server.kill()


def main(arguments=None):
    # The helpers read the name of the server when they are imported.
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    early.add_argument("--weir", type=Path)
    if weir := early.parse_known_args(arguments)[0].weir:
        os.environ["WEIR_BIN"] = str(weir.resolve())
    try:
        from weir import BINARY
        from web_players import PLAYERS, SUFFIX, version

        from .cases import CASES
    except ImportError as error:
        print(f"web-players: {error}; run scripts/install-deps.sh --web-players", file=sys.stderr)
        return EXIT_USAGE
    args = parse(arguments, PLAYERS, SUFFIX, CASES)
    if args.list:
        show_list(PLAYERS, CASES, version)
        return EXIT_OK
    from . import report
    folder, rows, interrupted = Path(tempfile.mkdtemp(prefix="weir-web-players-")), [], False
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        measure(args, CASES, folder, rows)
    except KeyboardInterrupt:
        interrupted = True
    except (AssertionError, OSError) as error:
        print(f"web-players: {error}\nlogs are in {folder}", file=sys.stderr)
        return EXIT_USAGE
    shutil.rmtree(folder)
    print(f"{BINARY}, sessions {args.sessions}, {args.seconds:g} s, {args.cold} cold starts, {time.strftime('%Y-%m-%d %H:%M')}; "
          + ", ".join(f"{name} {version(name)}" for name in args.players))
    print(report.table(rows))
    print("\n".join(report.notes(rows)))
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))
    if interrupted:
        return EXIT_INTERRUPTED
    return EXIT_FAILED if any(row["problems"] for row in rows) else EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
