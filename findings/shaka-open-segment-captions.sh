#!/usr/bin/env bash
# Shaka Player 5.2.12, low-latency HLS, and a playlist whose newest segment has parts only
#
# Input: a multivariant playlist without CLOSED-CAPTIONS, and a live media playlist with one whole segment and one that is
# still open: it has one part (EXT-X-PART) and no address yet. Both are valid (RFC 8216bis 4.4.6.2: the attribute is optional;
# 4.4.4.9: parts of a segment come before it does). So begins every low-latency stream.
#
# Guessed: with lowLatencyMode Shaka begins with the parts.
# Seen: load() fails with "TypeError: Cannot read properties of undefined (reading 'match')", and nothing plays. Shaka looks
# for captions in other segments of the playlist, the open one among them, which has no address to ask for.
# With CLOSED-CAPTIONS=NONE in the multivariant playlist the same media playlist loads.
#
# Needs npm, ffmpeg and chromium.
set -euo pipefail

work=$(mktemp -d)
trap 'kill "${server:-}" "${browser:-}" 2>/dev/null || true; sleep 1; rm -rf "$work"' EXIT
npm install --silent --no-audit --no-fund --prefix "$work" shaka-player@5.2.12
cp "$work/node_modules/shaka-player/dist/shaka-player.compiled.js" "$work/"
ffmpeg -v error -f lavfi -i testsrc2=size=320x180:rate=25 -f lavfi -i sine -t 4 -c:v libx264 -preset ultrafast -profile:v baseline -g 25 \
  -pix_fmt yuv420p -c:a aac -f hls -hls_time 1 -hls_segment_type fmp4 -hls_segment_filename "$work/%d.m4s" "$work/all.m3u8"
cp "$work/0.m4s" "$work/0.0.m4s"
cp "$work/1.m4s" "$work/1.0.m4s"

# multivariant MORE-ATTRIBUTES
multivariant() {
  printf '#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=900000,CODECS="avc1.42c00d,mp4a.40.2",RESOLUTION=320x180%s\nmedia.m3u8\n' "$1"
}
multivariant '' >"$work/unsaid.m3u8"
multivariant ',CLOSED-CAPTIONS=NONE' >"$work/none.m3u8"
cat >"$work/media.m3u8" <<'LIST'
#EXTM3U
#EXT-X-VERSION:6
#EXT-X-TARGETDURATION:1
#EXT-X-SERVER-CONTROL:PART-HOLD-BACK=3
#EXT-X-PART-INF:PART-TARGET=1
#EXT-X-MEDIA-SEQUENCE:0
#EXT-X-MAP:URI="init.mp4"
#EXT-X-PART:DURATION=1,URI="0.0.m4s",INDEPENDENT=YES
#EXTINF:1,
0.m4s
#EXT-X-PART:DURATION=1,URI="1.0.m4s",INDEPENDENT=YES
#EXT-X-PRELOAD-HINT:TYPE=PART,URI="1.1.m4s"
LIST

cat >"$work/page.html" <<'PAGE'
<!DOCTYPE html><video id="video" muted></video><script src="shaka-player.compiled.js"></script><script>
const tell = (text) => fetch('/result', { method: 'POST', body: text });
(async () => {
  const player = new shaka.Player();
  player.configure({ streaming: { lowLatencyMode: true } });
  await player.attach(document.getElementById('video'));
  await player.load(new URLSearchParams(location.search).get('list'));
  tell('loaded');
})().catch((error) => tell(`error ${error.code ?? ''} ${error.message ?? error}`));
</script>
PAGE

cat >"$work/serve.py" <<'PYTHON'
"""Serves a folder, and keeps what is posted."""
import functools
import http.server
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_POST(self):
        (folder / "result").write_bytes(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
(folder / "port").write_text(str(server.server_port))
server.serve_forever()
PYTHON
python3 "$work/serve.py" "$work" &
server=$!
for _ in $(seq 50); do [ -s "$work/port" ] && break; sleep 0.1; done

# load NAME: what the page told
load() {
  rm -f "$work/result"
  chromium --headless=new --no-sandbox --disable-gpu --user-data-dir="$work/profile-$1" \
    "http://127.0.0.1:$(<"$work/port")/page.html?list=$1.m3u8" >/dev/null 2>&1 &
  browser=$!
  for _ in $(seq 300); do [ -s "$work/result" ] && break; sleep 0.1; done
  kill "$browser" 2>/dev/null || true
  wait "$browser" 2>/dev/null || true
  printf '%s: %s\n' "$1" "$(cat "$work/result" 2>/dev/null || echo 'nothing in 30 s')"
}

said=$(load none; load unsaid)
echo "$said" | sed 's/^/    /'
grep -q '^none: loaded' <<<"$said" || { echo "CHANGED: with CLOSED-CAPTIONS=NONE it does not load"; exit 1; }
grep -q "^unsaid: error .*reading 'match'" <<<"$said" || { echo "CHANGED: without the attribute it does not fail that way"; exit 1; }
echo "as described"
