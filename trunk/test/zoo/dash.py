"""A reader of DASH: it keeps each segment of a live description (ISO/IEC 23009-1), and ffmpeg decodes the tracks of each period.

ffmpeg's own player of DASH begins at the live edge and reads a segment again where the list does not have the next one.
"""

import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as xml

from zoo.readers import Got, Reader, moved_by

NAMESPACE = {"d": "urn:mpeg:dash:schema:mpd:2011"}
END_SECONDS = 3  # it reads on for so long after the end of the publisher


def seconds_of(duration):
    """An xs:duration of hours, minutes and seconds."""
    parts = re.fullmatch(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?", duration or "PT0S").groups()
    return sum(float(part or 0) * scale for part, scale in zip(parts, (86400, 3600, 60, 1)))


class Dash(Reader):
    late = True

    def __init__(self, *words):
        super().__init__(*words)
        self.url = self.server.http(f"/{self.path}.mpd")
        self.tracks = {}  # (period, initialization): [kind, offset, bytes, set of begins]
        self.ending = threading.Event()
        self.errors = []
        self.thread = threading.Thread(target=self.follow, daemon=True)

    def start(self):
        self.thread.start()

    def stop(self):
        time.sleep(END_SECONDS)
        self.ending.set()
        self.thread.join(10)

    def fetch(self, url):
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.read()

    def follow(self):
        while not self.ending.wait(0.5):
            try:
                self.look()
            except (OSError, xml.ParseError) as error:
                if not (isinstance(error, urllib.error.HTTPError) and error.code == 404):
                    self.errors.append(f"[error] {error}")

    def look(self):
        for period in xml.fromstring(self.fetch(self.url)).iterfind("d:Period", NAMESPACE):
            for template in period.iterfind(".//d:SegmentTemplate", NAMESPACE):
                if re.search(r"\.(video|audio)\.", template.get("media")):  # of several audio tracks the default one
                    self.take(period, template)

    def take(self, period, template):
        init, scale = template.get("initialization"), int(template.get("timescale", 1))
        key = period.get("id"), init
        if key not in self.tracks:
            kind = re.search(r"\.(video|audio)\.", template.get("media"))[1]
            offset = seconds_of(period.get("start")) - int(template.get("presentationTimeOffset", 0)) / scale
            self.tracks[key] = [kind, offset, self.fetch(urllib.parse.urljoin(self.url, init)), set()]
        track, begin = self.tracks[key], 0
        for line in template.iterfind(".//d:S", NAMESPACE):
            begin = int(line.get("t", begin))
            for _ in range(int(line.get("r", 0)) + 1):
                if begin not in track[3]:
                    track[2] += self.fetch(urllib.parse.urljoin(self.url, template.get("media").replace("$Time$", str(begin))))
                    track[3].add(begin)
                begin += int(line.get("d"))

    def got(self):
        whole = Got(errors=list(self.errors))
        for number, (kind, offset, data, _) in enumerate(self.tracks.values()):
            path = self.folder / f"{self.name}-{number}.mp4"
            path.write_bytes(data)
            part = self.analysed(path)
            for name in ("video", "audio"):
                getattr(whole, name).extend(moved_by(offset, getattr(part, name)))
            whole.pictures += [(pts + offset, digest) for pts, digest in part.pictures]
            whole.beeps += [beep + offset for beep in part.beeps]
            whole.audio_seconds += part.audio_seconds
            whole.errors += part.errors
        return whole
