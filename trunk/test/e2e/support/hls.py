"""A plain player of HLS, and the playlists that it reads: each is checked by the rules of hls_rules.py."""

import re
import time
import urllib.error
import urllib.parse
import urllib.request

import hls_rules


class Media(hls_rules.MediaPlaylist):
    """A media playlist that keeps the rules. `delta`: a delta update was asked for."""

    def __init__(self, data, delta=False):
        super().__init__(data, hls_rules.Report(), delta)
        assert not self.report.errors(), (self.report.errors(), self.text)

    def check_follows(self, earlier):
        self.follows(earlier)
        assert not self.report.errors(), (self.report.errors(), earlier.text, self.text)


class Multivariant(hls_rules.Multivariant):
    """A multivariant playlist that keeps the rules."""

    def __init__(self, data):
        super().__init__(data, hls_rules.Report())
        assert not self.report.errors(), (self.report.errors(), self.text)


def fetch(url, seconds=20, **headers):
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=seconds)


def status_of(url, seconds=20, **headers):
    try:
        with fetch(url, seconds, **headers) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        return refused.code


class Viewer:
    """Begins with the multivariant playlist; reads and checks media playlists."""

    def __init__(self, url, seconds=20, variant=0):
        with fetch(url, seconds) as answer:
            assert answer.headers["Content-Type"] == "application/vnd.apple.mpegurl"
            self.multivariant = Multivariant(answer.read())
        self.list_url = urllib.parse.urljoin(url, self.multivariant.variants[variant][1])
        self.playlist = None

    def reload(self, **query):
        url = self.list_url
        for name, value in query.items():
            url += ("&" if "?" in url else "?") + f"{name}={value}"
        with fetch(url) as answer:
            playlist = Media(answer.read(), delta="_HLS_skip" in query)
        if self.playlist is not None:
            playlist.check_follows(self.playlist)
        self.playlist = playlist
        return playlist

    def get(self, uri):
        with fetch(urllib.parse.urljoin(self.list_url, uri)) as answer:
            return answer.read()

    def record(self, path, seconds, parts=False):
        """Reads segments, or parts as low-latency players do, one behind the other, until it has so much media, or for so long; the
        file begins with the header. Some seconds more where someone stood still and too little media has come."""
        playlist = self.reload()
        deadline, seen, delays, media = time.monotonic() + seconds, set(), [], 0.0
        least, most = (0.8 if parts else 0.5) * seconds, float("inf") if parts else seconds  # whole segments come late
        with open(path, "wb") as out:
            header = None
            while (now := time.monotonic()) < deadline and media < most or now < deadline + 5 and media < least:
                every = [*playlist.segments, *([playlist.open] if parts else [])]
                for segment in every:
                    if segment.uri in seen:  # all of its parts were read, which it may have lost now
                        continue
                    for piece in segment.parts if parts and segment.parts else [segment]:
                        uri = piece.uri
                        if uri is None or uri in seen:
                            continue
                        name = segment.map or (playlist.segments[-1].map if playlist.segments else None)
                        if name and name != header:
                            header = name
                            out.write(self.get(name))
                        seen.add(uri)
                        out.write(self.get(uri))
                        media += piece.duration
                    seen.update([segment.uri] if segment.uri else [])
                if parts:
                    number, part = re.match(r"(\d+)\.(\d+)\.", playlist.hint).groups()
                    asked = time.monotonic()
                    playlist = self.reload(_HLS_msn=number, _HLS_part=part)
                    delays.append(time.monotonic() - asked)
                else:
                    time.sleep(0.1)
                    playlist = self.reload()
        return delays
