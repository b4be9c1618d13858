"""Runs cells: one server, all publishers and readers in real time side by side, then the judge."""

import time
from concurrent.futures import ThreadPoolExecutor

from weir import Weir, free_port, wait_until
from zoo.cells import clip_of
from zoo.chosen import reason_of
from zoo.judge import problems
from zoo.outputs import LIVE, OUTPUTS, SECOND, THIRD
from zoo.readers import Recorded
from zoo.row import Row
from zoo.senders import KINDS

CONFIG = """
play {{ wait_publisher 1s; mw_latency 0; }}
rtsp_server {{ listen 127.0.0.1:{rtsp}; rtp_listen 127.0.0.1:{rtp}; enabled on; }}
rtc_server {{ enabled on; listen 127.0.0.1:{rtc}; candidate 127.0.0.1; }}
srt_server {{ listen 127.0.0.1:{srt}; }}
hls {{ fragment 1s; window 60; always on; }}
record {{ enabled on; path "{recordings}"; name "{{app}}/{{stream}}/{{time}}"; }}
vhost __defaultVhost__ {{
    application second {{ hls {{ container ts; }} record {{ format ts; }} }}
    application third {{ record {{ format flv; }} }}
}}
"""
JOIN_SECONDS = 0.4     # readers come so long after the publisher is live
LATE_SECONDS = 1.5     # those that read playlists come so long before the end


def make_server(folder):
    server = Weir(folder, "")
    place = folder / "recordings"
    place.mkdir(exist_ok=True)
    ports = {"rtsp": free_port(), "rtp": free_port(3) + 1 & ~1, "rtc": free_port(), "srt": free_port()}
    with open(server.config_path, "a") as config:
        config.write(CONFIG.format(recordings=place, **ports))
    for name, port in ports.items():
        setattr(server, f"{name}_port", port)
    server.rtsp = lambda path: f"rtsp://127.0.0.1:{ports['rtsp']}/{path}"
    return server.start()


def is_live(server, app, name):
    return any(stream["name"] == name and stream["app"] == app and stream.get("publish", {}).get("active")
               and (stream.get("video") or stream.get("audio")) for stream in server.streams())


def prepare(server, row, folder):
    row.clip = clip_of(row.deformation, row.input)
    apps = {OUTPUTS[output][0] for output in row.outputs}
    row.publishers = [KINDS[row.input](row.clip, server, f"{app}/{row.name}", folder) for app in (LIVE, SECOND, THIRD) if app in apps]
    for output in row.outputs:
        app, make = OUTPUTS[output]
        row.readers[output] = make(server, f"{app}/{row.name}", folder, f"{row.name}-{output}", row.clip)


def play(server, row):
    """The whole life of a row, in a thread of its own."""
    for publisher in row.publishers:
        publisher.connect()
    begin = time.monotonic() + 0.05
    for publisher in row.publishers:
        publisher.start(begin)
    try:
        for publisher in row.publishers:
            wait_until(lambda: is_live(server, publisher.app, publisher.stream) or not publisher.thread.is_alive(), 10, "is live")
        time.sleep(max(JOIN_SECONDS, begin + row.clip.expected.join - time.monotonic()))
        for reader in row.readers.values():
            if not reader.late:
                reader.start()
        time.sleep(max(0.0, begin + row.clip.seconds() - LATE_SECONDS - time.monotonic()))
        for reader in row.readers.values():
            if reader.late:
                reader.start()
    finally:
        errors = [error for error in [publisher.end() for publisher in row.publishers] if error]
        with ThreadPoolExecutor(len(row.readers)) as pool:
            list(pool.map(lambda reader: reader.stop(), row.readers.values()))
    return errors


def whole_life(server, row, folder):
    """Plays and judges a row; what failed beside the cells is a problem of each."""
    try:
        errors = play(server, row)
    except Exception as error:  # lint: of one row, not of the others
        errors = [f"{type(error).__name__}: {error}"]
    try:
        stream = row.publishers[0].stream
        wait_until(lambda: not any(each["stream"].endswith(f"/{stream}") for each in recordings(server)), 20, "recordings end")
    except AssertionError as error:
        errors.append(error)
    for output in row.outputs:
        reader = row.readers[output]
        try:
            row.found[output] = problems(row.clip, reader.got(), isinstance(reader, Recorded), reader.settles)
        except Exception as error:
            row.found[output] = [f"{type(error).__name__}: {error}"]
        if errors:
            row.found[output].append(f"publisher: {errors[0]}")


def recordings(server):
    return server.api("/api/v1/recordings?state=recording&count=1000")["recordings"]


def run_rows(rows, folder, together=6, done=lambda row: None):
    """Fills in what was found; `done` is told of each row."""
    server = make_server(folder)

    def work(row):
        prepare(server, row, folder)
        whole_life(server, row, folder)
        row.publishers, row.readers, row.clip = [], {}, None
        done(row)

    try:
        with ThreadPoolExecutor(together) as pool:
            list(pool.map(work, rows))
    finally:
        assert server.process and server.process.poll() is None, f"the server ended by itself:\n{server.log()[-3000:]}"
        server.stop(seconds=10)


def run_again(rows, folder, known, most=60):
    """Cells that are wrong and not known to be run once more with less beside them: readers and publishers are real-time programs."""
    second = [Row(row.deformation, row.input, [output for output, found in row.found.items() if found and not reason_of(row.cell(output), known)])
              for row in rows]
    count = sum(len(row.outputs) for row in second)
    if not 0 < count <= most:
        return
    place = folder / "again"
    place.mkdir()
    run_rows([row for row in second if row.outputs], place, together=2)
    for row, other in zip(rows, second):
        for output, found in other.found.items():
            if not found:
                row.found[output] = []
                row.again.append(output)
