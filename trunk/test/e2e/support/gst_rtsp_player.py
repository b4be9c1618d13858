"""GStreamer's RTSP client, H.264 and AAC into a Matroska file until SIGINT. Run by Debian's Python, which has its bindings:

    /usr/bin/python3 gst_rtsp_player.py URL FILE [PROPERTY=VALUE ...]

The properties are those of rtspsrc. gst-launch cannot do this for sure: the two pads of rtspsrc come from two threads, each takes itself
for the one that links to whatever comes, and one of the branches may get nothing for ever.
"""

import signal
import sys

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst  # noqa: E402  the version comes first

BRANCHES = {"video": "rtph264depay ! h264parse", "audio": "rtpmp4gdepay ! aacparse"}


def main(url, file, *properties):
    Gst.init(None)
    branches = " ".join(f"{elements.replace(' !', f' name={kind} !', 1)} ! queue ! m." for kind, elements in BRANCHES.items())
    pipeline = Gst.parse_launch(f"rtspsrc name=s matroskamux name=m ! filesink name=f buffer-mode=unbuffered {branches}")
    source = pipeline.get_by_name("s")
    source.set_property("location", url)
    pipeline.get_by_name("f").set_property("location", file)
    for each in properties:
        name, _, value = each.partition("=")
        Gst.util_set_object_arg(source, name, value)

    def link(_, pad):
        kind = pad.get_current_caps().get_structure(0).get_string("media")
        linked = pad.link(pipeline.get_by_name(kind).get_static_pad("sink"))
        if linked != Gst.PadLinkReturn.OK:
            print(f"{kind}: not linked: {linked.value_nick}", file=sys.stderr, flush=True)
    source.connect("pad-added", link)

    loop = GLib.MainLoop()
    trouble = []

    def note(_, message):
        if message.type == Gst.MessageType.ERROR:
            trouble.append(message.parse_error())
        if message.type in (Gst.MessageType.ERROR, Gst.MessageType.EOS):
            loop.quit()
    bus = pipeline.get_bus()
    bus.add_signal_watch()
    bus.connect("message", note)
    GLib.unix_signal_add(GLib.PRIORITY_HIGH, signal.SIGINT, lambda: pipeline.send_event(Gst.Event.new_eos()))
    pipeline.set_state(Gst.State.PLAYING)
    loop.run()
    pipeline.set_state(Gst.State.NULL)
    if trouble:
        sys.exit(f"{trouble[0].err.message}: {trouble[0].debug}")


main(*sys.argv[1:])
