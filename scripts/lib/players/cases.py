"""The cases: what is published, and how long a player may stall there."""

from dataclasses import dataclass

from media import encoded

HLS_AND_DASH = ("ll-hls", "hls", "dash")
CLIP_SECONDS = 64  # 32 GOPs. The clip is played in a loop, with a small jump at each end
AWAY_SECONDS = 1.5

AAC = ("-c:a", "aac", "-b:a", "96k")
H264 = ("-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-g", "50")


def clip(*output, size="640x360", suffix="mkv"):
    """A test pattern and a tone."""
    return encoded(*output, suffix=suffix, inputs=(
        "-t", CLIP_SECONDS, "-f", "lavfi", "-i", f"testsrc2=size={size}:rate=25", "-t", CLIP_SECONDS, "-f", "lavfi", "-i", "sine=sample_rate=48000"))


def h264(size, rate):
    return clip(*H264, "-b:v", rate, *AAC, size=size)


@dataclass(frozen=True)
class Case:
    title: str
    sources: object  # gives the clips
    formats: tuple = (*HLS_AND_DASH, "flv")
    video: bool = True
    settings: str = ""  # of hls { }
    cold: bool = True  # whether cold starts are measured
    allowed_stall_s: float = 0.0

    def suffixes(self):
        """What follows the name in the names of the qualities. Players get the address of the first."""
        return ("", "_low") if self.settings else ("",)


CASES = {
    "h264": Case("H.264, key frames each 2 s, AAC", lambda: [h264("640x360", "800k")]),
    "av1": Case("AV1, key frames each 2 s, AAC", lambda: [clip("-c:v", "libsvtav1", "-preset", "12", "-g", "50", "-b:v", "600k", *AAC)]),
    "opus": Case("H.264, Opus", lambda: [clip(*H264, "-b:v", "800k", "-c:a", "libopus")], formats=HLS_AND_DASH),
    "audio": Case("AAC alone", lambda: [clip("-vn", *AAC, suffix="m4a")], video=False),
    "republish": Case(f"the publisher leaves for {AWAY_SECONDS} s, and comes back with another size",
                      lambda: [h264("640x360", "800k"), h264("320x180", "300k")], cold=False,
                      allowed_stall_s=AWAY_SECONDS + 2, formats=HLS_AND_DASH),
    "ladder": Case("two qualities; the player is told to change in the middle",
                   lambda: [h264("640x360", "800k"), h264("320x180", "300k")], formats=HLS_AND_DASH,
                   settings="variants [app]/[stream]_low;"),
}

# Left out, because the reason is in the player.
CANNOT = {
    ("av1", "xgplayer"): "xgplayer-flv has no AV1",
    ("av1", "mpegts.js"): "mpegts.js misreads the sequence header that SVT-AV1 writes (ExpGolomb: readBits() bits exceeded)",
}
