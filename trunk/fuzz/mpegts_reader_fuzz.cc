// Transport streams: the first byte says how to cut the input into packets of 188 bytes that begin
// with a sync byte, and into pieces. The reader gives the same units however it is fed, with NAL
// units that have no start code inside, and times of a frame that was read can be written.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "proto/mpegts/reader.h"

namespace mpegts = weir::mpegts;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

namespace {

struct Seen {
    uint64_t units = 0;
    uint64_t sum = 0;  // of all that was said of them
    bool failed = false;

    bool operator==(const Seen&) const = default;
};

void add(Seen& seen, uint64_t value) {
    seen.sum = seen.sum * 31 + value;
}

void look(const mpegts::Unit& unit, Seen& seen) {
    seen.units++;
    add(seen, static_cast<uint64_t>(unit.pts));
    add(seen, static_cast<uint64_t>(unit.dts));
    add(seen, unit.key ? 2 : 1);
    for (const weir::ByteSpan nal : unit.nals) {
        WEIR_CHECK(!nal.empty() && nal.back() != 0);
        add(seen, nal.size());
    }
    add(seen, unit.data.size());
    WEIR_CHECK(unit.nals.empty() != unit.data.empty() || unit.data.empty());
}

Seen read(weir::ByteSpan bytes, size_t step) {
    mpegts::Reader reader({.max_audio = 8});
    Seen seen;
    const auto drain = [&] {
        for (;;) {
            mpegts::Unit unit;
            size_t track = 0;
            switch (reader.next(unit, track)) {
                case mpegts::Reader::Event::kNeedMore: return;
                case mpegts::Reader::Event::kTracks: add(seen, reader.tracks().size()); break;
                case mpegts::Reader::Event::kUnit:
                    WEIR_CHECK(track < reader.tracks().size() && reader.tracks()[track].taken);
                    look(unit, seen);
                    break;
                case mpegts::Reader::Event::kError: seen.failed = true; return;
            }
        }
    };
    while (!bytes.empty() && !seen.failed) {
        weir::ByteSpan piece = bytes.first(std::min(step, bytes.size()));
        bytes = bytes.subspan(piece.size());
        while (!piece.empty() && !seen.failed) {
            piece = piece.subspan(reader.feed(piece));
            drain();
        }
    }
    if (!seen.failed) {
        reader.finish();
        drain();
    }
    return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) {
        return 0;
    }
    weir::Bytes bytes(data + 1, data + size);
    if ((data[0] & 1) != 0) {
        for (size_t at = 0; at < bytes.size(); at += mpegts::kPacketSize) {
            bytes[at] = mpegts::kSyncByte;
        }
    }
    const Seen whole = read(bytes, SIZE_MAX);
    WEIR_CHECK(read(bytes, size_t{data[0]} + 1) == whole);
    return 0;
}
