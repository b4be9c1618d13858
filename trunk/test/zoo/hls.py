"""A reader of HLS in fragmented MP4: it keeps each segment of a live playlist, and ffmpeg decodes what belongs to one header (EXT-X-MAP).

ffmpeg's own player of HLS reads one header, and takes it for all segments.
"""

import re
import threading
import urllib.error
import urllib.parse
import urllib.request

from zoo.readers import Got, Reader, moved_by

END_SECONDS = 15  # at most, from the end of the publisher to EXT-X-ENDLIST


class Group:
    """Segments with one header; `begin` is the sum of EXTINF before them."""

    def __init__(self, header, begin):
        self.data, self.begin = header, begin


class Hls(Reader):
    late = True

    def __init__(self, *words):
        super().__init__(*words)
        self.groups, self.seen, self.header, self.length = [], set(), None, 0.0
        self.ending, self.ended, self.errors = threading.Event(), threading.Event(), []
        self.thread = threading.Thread(target=self.follow, daemon=True)

    def start(self):
        self.thread.start()

    def stop(self):
        self.ended.wait(END_SECONDS)
        self.ending.set()
        self.thread.join(10)

    def fetch(self, url):
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.read()

    def follow(self):
        url = None
        while not self.ending.wait(0.4):
            try:
                if url is None:
                    first = self.server.http(f"/{self.path}.m3u8")
                    url = urllib.parse.urljoin(first, next(line for line in self.fetch(first).decode().splitlines() if line and line[0] != "#"))
                    url = url.replace(".hls/video/", ".hls/")  # of several audio tracks the default one, beside the video
                if self.look(url):
                    self.ended.set()
                    return
            except (OSError, StopIteration) as error:
                if not (isinstance(error, urllib.error.HTTPError) and error.code in (404, 503)):
                    self.errors.append(f"[error] {error}")

    def look(self, url):
        """Takes what is new; whether it was the last."""
        header, length, discontinuity = None, 0.0, False
        text = self.fetch(url).decode()
        for line in text.splitlines():
            if line.startswith("#EXT-X-MAP"):
                header = re.search(r'URI="([^"]+)"', line)[1]
            elif line.startswith("#EXTINF"):
                length = float(line[8:].split(",")[0])
            elif line == "#EXT-X-DISCONTINUITY":
                discontinuity = True
            elif line and line[0] != "#":
                self.take(url, line, header, length, discontinuity)
                discontinuity = False
        return "#EXT-X-ENDLIST" in text

    def take(self, url, line, header, length, discontinuity):
        if line in self.seen:
            return
        self.seen.add(line)
        if header != self.header or discontinuity or not self.groups:
            self.header = header
            self.groups.append(Group(self.fetch(urllib.parse.urljoin(url, header)), self.length))
        self.groups[-1].data += self.fetch(urllib.parse.urljoin(url, line))
        self.length += length

    def got(self):
        whole, base = Got(errors=list(self.errors)), None
        for number, group in enumerate(self.groups):
            path = self.folder / f"{self.name}-{number}.mp4"
            path.write_bytes(group.data)
            part = self.analysed(path)
            first = next((dts for dts, _ in (*part.video[:1], *part.audio[:1])), 0.0)
            base = first if base is None else base
            # A player puts a group where the one before it ends.
            moved = base + group.begin - first
            whole.video += moved_by(moved, part.video)
            whole.audio += moved_by(moved, part.audio)
            whole.pictures += [(pts + moved, digest) for pts, digest in part.pictures]
            whole.beeps += [beep + moved for beep in part.beeps]
            whole.audio_seconds += part.audio_seconds
            whole.errors += part.errors
        if not self.ended.is_set():
            whole.errors.append("[error] no EXT-X-ENDLIST")
        return whole
