"""The table of outputs."""

from zoo.dash import Dash
from zoo.hls import Hls
from zoo.readers import Kept, Played, Recorded
from zoo.whep import Whep

# The applications of the server: one stream has one container of HLS and one format of recordings.
LIVE, SECOND, THIRD = "live", "second", "third"

OUTPUTS = {
    # name: (application, make(server, path, folder, name, clip))
    "rtmp": (LIVE, lambda *words: Played(*words, url=lambda server, path: server.rtmp(path))),
    "flv": (LIVE, lambda *words: Kept(*words, suffix="flv")),
    "ts": (LIVE, lambda *words: Kept(*words, suffix="ts")),
    "rtsp": (LIVE, lambda *words: Played(*words, url=lambda server, path: server.rtsp(path), before=("-rtsp_transport", "tcp"),
                                         # Until the first sender report of each track ffmpeg has other times.
                                         settles=1.5)),
    "hls": (LIVE, Hls),
    "hls-ts": (SECOND, lambda *words: Played(*words, url=lambda server, path: server.http(f"/{path}.m3u8"), before=("-live_start_index", "0"),
                                             late=True, grace=15)),
    "dash": (LIVE, Dash),
    "whep": (LIVE, Whep),
    "mp4-file": (LIVE, lambda *words: Recorded(*words, suffix="mp4")),
    "ts-file": (SECOND, lambda *words: Recorded(*words, suffix="ts")),
    "flv-file": (THIRD, lambda *words: Recorded(*words, suffix="flv")),
}
