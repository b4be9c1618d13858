"""A clock that jumps, forwards and back: recordings and HLS go on as if nothing had been."""

import time

import pytest

from hls_examine import examine
from media import Recording, check_frames, check_rising, publisher, run
from test_record import recordings, short_gops, wait_growing
from weir import SANITIZED, wait_until

pytestmark = pytest.mark.skipif(SANITIZED, reason="the sanitizer has to be the first library")

DAY_S = 86_400
# The wall clock of the server, moved by as many seconds as a file says.
CLOCK = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long moved(void) {
    long seconds = 0;
    FILE* file = fopen(getenv("MOVED_CLOCK"), "r");
    if (file) {
        if (fscanf(file, "%ld", &seconds) != 1) seconds = 0;
        fclose(file);
    }
    return seconds;
}

int clock_gettime(clockid_t id, struct timespec* out) {
    int result = (int)syscall(SYS_clock_gettime, id, out);
    if (id == CLOCK_REALTIME) out->tv_sec += moved();
    return result;
}

time_t time(time_t* out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval* out, void* zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}
"""


def test_a_clock_that_jumps_costs_nothing(new_weir, folder):
    place, moved, library = folder / "recordings", folder / "moved", folder / "clock.so"
    place.mkdir()
    moved.write_text("0")
    (folder / "clock.c").write_text(CLOCK)
    run(["cc", "-shared", "-fPIC", "-O1", "-o", library, folder / "clock.c"])
    server = new_weir(f"hls {{ fragment 1s; }}\nrecord {{ enabled on; path {place}; keep 30d; }}")
    server.wrapper = ["env", f"LD_PRELOAD={library}", f"MOVED_CLOCK={moved}"]
    server.start()
    source = short_gops(folder)
    with publisher(server.rtmp(), folder, source):
        server.wait_live()
        wait_growing(place, size=1)
        for days in (2, -3):
            moved.write_text(str(days * DAY_S))
            report = examine(server.http("/live/livestream.m3u8"), 3)
            assert not report.errors(), report.text()
        stated, = recordings(server, "recording")
        assert stated["gaps"] == 0, stated
    file, = wait_until(lambda: recordings(server), 20, "it is finished")
    recording = Recording(place / file["file"])
    check_rising(recording)
    check_frames(recording, source, least=75)
    seconds = len(recording.frames()) / 25
    assert file["duration_ms"] / 1000 == pytest.approx(seconds, abs=0.5) and file["reason"] == "unpublish", file
    assert abs(file["started_ms"] / 1000 - time.time()) < 60, "named by the clock as it was then"
