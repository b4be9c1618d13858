"""HLS on disk by several processes: one folder, as a web server knows it, whoever has the publisher."""

import contextlib

from hls import Multivariant
from media import check_frames, play_ffmpeg
from processes import all_run, kill, process_of, publish_elsewhere, start
from test_hls_disk import lists, wait_segments
from weir import wait_until


def serve(new_weir, place, more=""):
    place.mkdir()
    return start(new_weir, f"hls {{ path {place}; fragment 1s; {more} }}", count=2)


def test_each_process_writes_the_streams_of_its_publishers(new_weir, folder):
    place = folder / "hls"
    weir = serve(new_weir, place, "variants live/low live/nobody;")
    with contextlib.ExitStack() as stack:
        program, process = publish_elsewhere(weir, folder, "low", [])
        stack.enter_context(program)
        stack.enter_context(publish_elsewhere(weir, folder, "cam", [process])[0])
        for name in ("cam", "low"):
            wait_segments(place, 2, f"live/{name}")
            # What came of tries in other processes, and the live edge, are pieces of their own.
            check_frames(play_ffmpeg(place / "live" / name / "index.m3u8", folder, seconds=2, name=f"web-{name}"), least=25, most_runs=12)

        def qualities():
            return [uri for _, uri in Multivariant((place / "live/cam.m3u8").read_bytes()).variants]
        wait_until(lambda: qualities() == ["cam/index.m3u8", "low/index.m3u8"], 10, "both qualities")


def test_a_publisher_that_comes_back_to_another_process_takes_its_folder_along(new_weir, folder):
    place = folder / "hls"
    weir = serve(new_weir, place)
    program, first = publish_elsewhere(weir, folder, "cam", [])
    with program:
        before = wait_segments(place, 2, "live/cam")
    wait_until(lambda: not process_of(weir, "publisher"), 10, "it has gone")
    with publish_elsewhere(weir, folder, "cam", [first])[0]:
        now = wait_until(lambda: (found := lists(place, "live/cam")) and found.sequence > before.sequence + 1 and
                         len(found.segments) >= 2 and found, 20, "segments of the other process")
        assert not (place / "live/cam" / before.segments[0].uri).exists(), "what was there has gone"
        kill(weir, first)
        wait_until(lambda: all_run(weir, 2), 20, "it runs again")
        wait_until(lambda: lists(place, "live/cam").sequence > now.sequence + 1, 20, "it goes on")
        assert all((place / "live/cam" / segment.uri).exists() for segment in lists(place, "live/cam").segments)
        assert not lists(place, "live/cam").ended
