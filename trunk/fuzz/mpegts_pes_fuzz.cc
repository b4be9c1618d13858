// PES headers: what was read is written and read as the same; and any payload, in packets as the
// input says, is cut into units of each content.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "proto/mpegts/framer.h"
#include "proto/mpegts/pes.h"

namespace mpegts = weir::mpegts;
using mpegts::Content;
using mpegts::PesHeader;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

namespace {

void check_header(weir::ByteSpan bytes) {
    PesHeader header;
    if (PesHeader::parse(bytes, header) != PesHeader::Status::kDone) {
        return;
    }
    WEIR_CHECK(header.size <= bytes.size() && header.size <= mpegts::kMaxPesHeader);
    header.stream_id = mpegts::kVideoStreamId;
    std::array<uint8_t, mpegts::kMaxWrittenPesHeader> out;
    const size_t size = header.write(out.data());
    PesHeader again;
    WEIR_CHECK(PesHeader::parse(weir::ByteSpan(out).first(size), again) ==
                   PesHeader::Status::kDone &&
               again.pts == header.pts && again.dts == header.dts && again.size == size);
}

void drain(mpegts::Framer& framer, size_t fed) {
    size_t bytes = 0;
    for (mpegts::Unit unit; framer.next(unit);) {
        bytes += unit.data.size();
        for (const weir::ByteSpan nal : unit.nals) {
            bytes += nal.size();
        }
    }
    WEIR_CHECK(bytes <= fed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static constexpr std::array<Content, 8> kContents = {
        Content::kH264,      Content::kHevc, Content::kAac,  Content::kAacLatm,
        Content::kMpegAudio, Content::kAc3,  Content::kEac3, Content::kOpus};
    check_header({data, size});
    weir::ByteReader reader(weir::ByteSpan(data, size));
    mpegts::StreamInfo info;
    info.content = kContents[reader.u8() % kContents.size()];
    const auto framer = mpegts::Framer::create(info);
    size_t fed = 0;
    for (int64_t time = 0; !reader.empty(); time += 3'000) {
        const uint8_t flags = reader.u8();  // 1: a packet begins, 2: it has times, 4: it ends,
        const weir::ByteSpan payload =      // 8: something is missing
            reader.take(std::min<size_t>(reader.u8(), reader.remaining()));
        if ((flags & 1) != 0) {
            const bool timed = (flags & 2) != 0;
            framer->begin({timed ? std::optional(time) : std::nullopt,
                           timed ? std::optional(time - 100) : std::nullopt},
                          false);
        }
        framer->append(payload);
        fed += payload.size();
        if ((flags & 4) != 0) {
            framer->end((flags & 16) != 0 ? payload : weir::ByteSpan());
            drain(*framer, fed);
        }
        if ((flags & 8) != 0) {
            framer->lose();
        }
    }
    framer->finish();
    drain(*framer, fed);
    return 0;
}
