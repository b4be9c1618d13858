// Sections: put together from payloads (flags, size, bytes), and read as PAT and PMT whatever their
// CRC. What was read and can be written is read as the same again.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "proto/mpegts/programs.h"
#include "proto/mpegts/section.h"

namespace mpegts = weir::mpegts;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

namespace {

constexpr size_t kMostWritten = 200;  // programmes of one section

void check(weir::ByteSpan section) {
    if (const auto pat = mpegts::Pat::parse(section); pat && pat->programs.size() < kMostWritten) {
        weir::Bytes out;
        pat->write(out);
        WEIR_CHECK(mpegts::crc32(out) == 0 && mpegts::Pat::parse(out) == pat);
    }
    if (const auto pmt = mpegts::Pmt::parse(section)) {
        WEIR_CHECK(pmt->streams.size() <= mpegts::kMaxStreams);
        weir::Bytes out;
        pmt->write(out);
        const auto again = mpegts::Pmt::parse(out);
        WEIR_CHECK(mpegts::crc32(out) == 0 && again &&
                   again->streams.size() == pmt->streams.size() && again->program == pmt->program &&
                   again->pcr_pid == pmt->pcr_pid);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    check({data, size});
    mpegts::Programs programs(0);
    mpegts::SectionAssembler sections;
    weir::ByteReader reader(weir::ByteSpan(data, size));
    while (!reader.empty()) {
        const uint8_t flags = reader.u8();  // 1: a section begins, 2: of a PMT
        const weir::ByteSpan payload =
            reader.take(std::min<size_t>(reader.u8(), reader.remaining()));
        sections.feed(payload, (flags & 1) != 0, [&](weir::ByteSpan section) {
            WEIR_CHECK(section.size() <= mpegts::kMaxSectionBytes);
            check(section);
            (flags & 2) != 0 ? programs.on_pmt(0x1000, section) : programs.on_pat(section);
        });
        WEIR_CHECK(programs.pmt_pids().size() <= mpegts::kMaxPrograms &&
                   programs.count() <= mpegts::kMaxPatEntries);
        if ((flags & 4) != 0) {
            sections.reset();
        }
    }
    return 0;
}
