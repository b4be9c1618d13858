#!/usr/bin/env bash
# streamlink 8.6.3 and an MPD whose <Location> is relative
#
# Input: a live MPD (ISO/IEC 23009-1) with <Location>again/live.mpd</Location> and addresses of segments that are relative to
# the MPD. Both forms are valid: Location is an xs:anyURI, and 5.6.5 resolves it as every other address.
#
# Guessed: streamlink resolves Location against the address of the MPD, asks for /again/live.mpd at the next update, and loads
# the header meanwhile.
# Seen: it takes the unresolved text for the base of all addresses, of which the text itself is a part twice, and loads nothing:
#     Invalid URL 'again/again/init.mp4': No scheme supplied.
# An absolute Location, or none, plays.
set -euo pipefail

work=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check streamlink==8.6.3

# mpd LOCATION: one video track, segments of two seconds by number
mpd() {
  cat <<MPD
<?xml version="1.0"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011" type="dynamic" minBufferTime="PT2S"
  availabilityStartTime="2020-01-01T00:00:00Z" publishTime="2020-01-01T00:00:00Z" minimumUpdatePeriod="PT2S" timeShiftBufferDepth="PT20S">
  $1
  <Period id="1" start="PT0S"><AdaptationSet mimeType="video/mp4"><SegmentTemplate timescale="1" duration="2" startNumber="1"
    initialization="again/init.mp4" media="again/\$Number\$.m4s"/><Representation id="v" bandwidth="100000" codecs="avc1.64001f"/>
  </AdaptationSet></Period>
</MPD>
MPD
}
mpd '<Location>again/live.mpd</Location>' >"$work/relative.mpd"
mpd '' >"$work/none.mpd"

cat >"$work/serve.py" <<'PYTHON'
"""Serves the descriptions in a folder, and one byte for everything else; lists what was asked for."""
import http.server
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with open(folder / "asked", "a") as asked:
            asked.write(self.path + "\n")
        file = folder / self.path.rsplit("/", 1)[-1]
        body = file.read_bytes() if file.suffix == ".mpd" and file.exists() else b"x"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
(folder / "port").write_text(str(server.server_port))
server.serve_forever()
PYTHON
python3 "$work/serve.py" "$work" &
server=$!
for _ in $(seq 50); do [ -s "$work/port" ] && break; sleep 0.1; done

# play NAME: what was asked for, and what streamlink said
play() {
  : >"$work/asked"
  timeout 8 "$work/venv/bin/streamlink" --loglevel debug --stdout "dash://http://127.0.0.1:$(<"$work/port")/$1.mpd" best \
    >/dev/null 2>"$work/said" || true
  cat "$work/said" >>"$work/all"
}

"$work/venv/bin/streamlink" --version
play none
grep -q '^/again/init.mp4$' "$work/asked" || { echo "CHANGED: without a Location the header was not asked for"; exit 1; }
play relative
cat "$work/said" "$work/asked" | sed 's/^/    /' | grep -v '^    $' | tail -15
if grep -q 'init.mp4' "$work/asked"; then
  echo "CHANGED: with a relative Location the header was asked for"
  exit 1
fi
grep -q 'No scheme supplied' "$work/said" "$work/all" || { echo "CHANGED: it does not complain of an address without a scheme"; exit 1; }
echo "as described"
