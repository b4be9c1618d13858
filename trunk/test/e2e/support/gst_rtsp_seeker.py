"""GStreamer's RTSP client: plays a second of H.264, seeks, pauses, and plays to the end. Run by Debian's Python, which has its bindings:

    /usr/bin/python3 gst_rtsp_seeker.py URL tcp|udp SECONDS

Prints where it was a second after the seek to SECONDS, how long the recording is, and where the last frame was, in seconds.
"""

import sys
import time

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst  # noqa: E402  the version comes first


def main(url, protocol, seconds):
    Gst.init(None)
    pipeline = Gst.parse_launch(f"rtspsrc name=s location={url} protocols={protocol} latency=200 ! rtph264depay ! h264parse !"
                                " identity name=i ! fakesink sync=true")
    loop = GLib.MainLoop()
    facts = {"last": 0, "failed": None}

    def note(_, message):
        if message.type == Gst.MessageType.ERROR:
            facts["failed"] = message.parse_error()
        if message.type in (Gst.MessageType.ERROR, Gst.MessageType.EOS):
            loop.quit()

    def position():
        return pipeline.query_position(Gst.Format.TIME)[1] / Gst.SECOND

    def frame(_pad, info):
        facts.setdefault("began", time.monotonic())
        event = info.get_buffer()
        facts["last"] = max(facts["last"], event.pts / Gst.SECOND if event.pts != Gst.CLOCK_TIME_NONE else 0)
        return Gst.PadProbeReturn.OK

    def seek():
        if time.monotonic() - facts.get("began", float("inf")) < 1:
            return True  # later
        facts["duration"] = pipeline.query_duration(Gst.Format.TIME)[1] / Gst.SECOND
        pipeline.seek_simple(Gst.Format.TIME, Gst.SeekFlags.FLUSH, int(seconds) * Gst.SECOND)
        facts["seek"] = time.monotonic()
        GLib.timeout_add(1200, pause)
        return False

    def pause():
        now, late = position(), max(time.monotonic() - facts["seek"] - 1.2, 0)
        facts["position"] = max(now - late, min(now, int(seconds)))  # this program may have stood still
        pipeline.set_state(Gst.State.PAUSED)
        GLib.timeout_add(600, lambda: pipeline.set_state(Gst.State.PLAYING) and False)

    bus = pipeline.get_bus()
    bus.add_signal_watch()
    bus.connect("message", note)
    pipeline.get_by_name("i").get_static_pad("src").add_probe(Gst.PadProbeType.BUFFER, frame)
    pipeline.set_state(Gst.State.PLAYING)
    GLib.timeout_add(100, seek)
    GLib.timeout_add(25_000, loop.quit)
    loop.run()
    facts["end"] = position()
    pipeline.set_state(Gst.State.NULL)
    if facts["failed"]:
        sys.exit(f"{facts['failed'].err.message}: {facts['failed'].debug}")
    print(facts["position"], facts["duration"], max(facts["end"], facts["last"]))


main(*sys.argv[1:])
