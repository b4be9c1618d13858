"""The delay that a playlist or an MPD asks its players for."""

import re
import urllib.parse
import urllib.request
from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    seconds: float
    step: float = 0.0  # the edge of a plain playlist moves by whole segments


def read(url):
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.read().decode()


def of_hls(url, low):
    variant = next(line for line in read(url).splitlines() if line and not line.startswith("#"))
    text = read(urllib.parse.urljoin(url, variant))

    def number(pattern):
        found = re.search(pattern, text)
        return float(found[1]) if found else None

    part, longest = number(r"PART-HOLD-BACK=([\d.]+)"), number(r"#EXT-X-TARGETDURATION:(\d+)")
    if low and part is not None:
        return Target(part)
    whole = number(r"[:,]HOLD-BACK=([\d.]+)")
    return Target(3 * longest if whole is None else whole, longest)  # RFC 8216 6.3.3


def of_dash(url):
    text = read(url)
    if latency := re.search(r'<Latency [^>]*target="(\d+)"', text):
        return Target(int(latency[1]) / 1000)
    hours, minutes, seconds = re.search(
        r'suggestedPresentationDelay="PT(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?"', text).groups(default="0")
    return Target(3600 * int(hours) + 60 * int(minutes) + float(seconds))


def target_of(url, form):
    """None for HTTP-FLV, which has none. `url` is without its suffix."""
    if form == "flv":
        return None
    return of_dash(url + ".mpd") if form == "dash" else of_hls(url + ".m3u8", form == "ll-hls")
