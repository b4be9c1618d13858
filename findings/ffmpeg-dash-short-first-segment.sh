#!/usr/bin/env bash
# ffmpeg's DASH reader, and a live stream whose first segment is short
#
# Input: a live MPD (ISO/IEC 23009-1) with a SegmentTimeline: the first segment has 0.2 s, the others have 2 s; a new one is
# listed each 2 s. Segments may have any length (5.3.9.6).
#
# Guessed: ffmpeg reads one segment after the other.
# Seen (imageio-ffmpeg 0.8.1): it asks for the first segment again and again, 2,500 times in 7 s. At an update of the MPD it
# looks for its place by the whole second in which its segment begins, and the first and the second segment begin in the same
# one. With a first segment of 2 s it asks once.
#
# Needs ffmpeg to make the segments.
set -euo pipefail

work=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check imageio-ffmpeg==0.8.1
reader=$("$work/venv/bin/python" -c 'import imageio_ffmpeg; print(imageio_ffmpeg.get_ffmpeg_exe())')

# segments FOLDER FIRST: a header and segments, the first of FIRST seconds
segments() {
  mkdir "$work/$1"
  ffmpeg -v error -f lavfi -i testsrc2=size=320x180:rate=25 -t 21 -c:v libx264 -preset ultrafast -pix_fmt yuv420p -g 1000 -bf 0 \
    -force_key_frames "expr:gte(t,n_forced*2-if(gt(n_forced,0),2-$2,0))" -f hls -hls_time 0.1 -hls_list_size 0 -hls_segment_type fmp4 \
    -hls_segment_filename "$work/$1/%d.m4s" "$work/$1/all.m3u8"
  echo "$2" >"$work/$1/first"
}
segments short 0.2
segments long 2

cat >"$work/serve.py" <<'PYTHON'
"""Serves segments below /FOLDER/, and an MPD that lists those that are due; writes down what is asked for."""
import datetime
import http.server
import pathlib
import sys
import time

folder = pathlib.Path(sys.argv[1])
began = time.time() - 2.5  # when the first segment began


class Handler(http.server.BaseHTTPRequestHandler):
    def mpd(self, name):
        first = int(float((folder / name / "first").read_text()) * 1000)
        begins, lines = 0, []
        for number in range(10):
            length = first if number == 0 else 2000
            if began + (begins + length) / 1000 > time.time():
                break
            lines.append(f'<S t="{begins}" d="{length}"/>')
            begins += length
        start = datetime.datetime.fromtimestamp(began, datetime.timezone.utc).isoformat().replace("+00:00", "Z")
        return f"""<?xml version="1.0"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011" type="dynamic" minBufferTime="PT2S"
  availabilityStartTime="{start}" publishTime="{start}" minimumUpdatePeriod="PT1S" timeShiftBufferDepth="PT60S">
<Period id="1" start="PT0S"><AdaptationSet mimeType="video/mp4"><SegmentTemplate timescale="1000" startNumber="0"
  initialization="init.mp4" media="$Number$.m4s"><SegmentTimeline>{"".join(lines)}</SegmentTimeline></SegmentTemplate>
<Representation id="v" bandwidth="100000" codecs="avc1.42c00d" width="320" height="180"/></AdaptationSet></Period>
</MPD>""".encode()

    def do_GET(self):
        with open(folder / "asked", "a") as asked:
            asked.write(self.path + "\n")
        _, name, file = self.path.split("/")
        path = folder / name / file
        body = self.mpd(name) if file == "live.mpd" else path.read_bytes() if path.exists() else None
        self.send_response(200 if body else 404)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
(folder / "port").write_text(str(server.server_port))
server.serve_forever()
PYTHON

# asks FOLDER: how often the first segment was asked for
asks() {
  : >"$work/asked"
  rm -f "$work/port"
  python3 "$work/serve.py" "$work" &
  server=$!
  for _ in $(seq 50); do [ -s "$work/port" ] && break; sleep 0.1; done
  timeout 7 "$reader" -v warning -i "http://127.0.0.1:$(<"$work/port")/$1/live.mpd" -c copy -f null - >"$work/said" 2>&1 </dev/null || true
  kill "$server"
  grep -c "/$1/0.m4s" "$work/asked" || true
}

"$reader" -version | head -1
short=$(asks short)
echo "    first segment of 0.2 s: asked for $short times"
long=$(asks long)
echo "    first segment of 2 s: asked for $long times"
[ "$long" -le 3 ] || { echo "CHANGED: a long first segment is asked for $long times"; exit 1; }
[ "$short" -ge 20 ] || { echo "CHANGED: a short first segment is asked for $short times"; exit 1; }
echo "as described"
