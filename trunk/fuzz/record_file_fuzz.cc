// Recordings that a crash or a disk has spoilt: a scan of MP4 or FLV ends, takes nothing that is
// not there, and fills in nothing outside of what it took; larger windows change nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "proto/flv/recording.h"
#include "proto/mp4/file_index.h"
#include "proto/mp4/recording.h"
#include "proto/mp4/sample_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data,
                                      size_t size);  // NOLINT(readability-identifier-naming)

namespace {

template <typename Scan>
Scan scanned(weir::ByteSpan file, size_t least) {
    Scan scan;
    for (size_t window = least;;) {
        const weir::ByteSpan rest = file.subspan(static_cast<size_t>(scan.position()));
        const auto next = scan.advance(rest.first(std::min(window, rest.size())), rest.size());
        if (next.bytes > 0) {
            window = least;
        } else if (next.need > window) {
            window = next.need;
        } else {
            return scan;
        }
    }
}

template <typename Scan>
void check(weir::ByteSpan file) {
    const Scan scan = scanned<Scan>(file, 1);
    WEIR_CHECK(scan.position() <= file.size());
    WEIR_CHECK(scan.position() == scanned<Scan>(file, file.size() + 1).position());
    WEIR_CHECK(scan.duration_ms() >= 0);
}

// Of a file that says of itself that it is finished.
void check_index(weir::ByteSpan file) {
    constexpr size_t kEnd = weir::mp4::kIndexEnd;
    const uint64_t tail = weir::mp4::index_size(file.last(std::min(file.size(), kEnd)));
    if (tail == 0 || tail > file.size()) {
        return;
    }
    const auto index =
        weir::mp4::read_file_index(file, file.last(static_cast<size_t>(tail)), file.size());
    if (!index.ok()) {
        return;
    }
    WEIR_CHECK(!index->spans.empty());
    for (const weir::mp4::FileSpan& span : index->spans) {
        WEIR_CHECK(span.offset >= index->header_bytes && span.bytes > 0);
        WEIR_CHECK(span.bytes <= file.size() && span.offset <= file.size() - span.bytes);
        WEIR_CHECK(span.time_ms >= 0 && span.duration_ms >= 0);
    }
}

// As playback goes through a file: what is read of a fragment lies in it, in order.
void check_samples(weir::ByteSpan file) {
    const auto tracks = weir::mp4::read_tracks(file);
    for (size_t at = 0; at + 8 <= file.size();) {
        const weir::ByteSpan rest = file.subspan(at);
        const size_t moof = weir::mp4::moof_size(rest);
        if (moof == 0 || moof > rest.size()) {
            at++;
            continue;
        }
        const auto size = weir::mp4::fragment_size(moof, rest.subspan(moof));
        if (!size || size->whole > rest.size()) {
            at++;
            continue;
        }
        const auto fragment = rest.first(static_cast<size_t>(size->whole));
        const auto samples = weir::mp4::read_samples(fragment, tracks);
        int64_t time_ms = 0;
        for (size_t i = 0; samples && i < samples->size(); i++) {
            const weir::mp4::StoredSample& sample = (*samples)[i];
            WEIR_CHECK(sample.track < tracks.size() && sample.size > 0);
            WEIR_CHECK(sample.offset <= fragment.size() &&
                       sample.size <= fragment.size() - sample.offset);
            WEIR_CHECK(sample.time_ms >= time_ms);
            time_ms = sample.time_ms;
        }
        at += fragment.size();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    check_samples({data, size});
    check_index({data, size});
    check<weir::mp4::FileScan>({data, size});
    check<weir::flv::FileScan>({data, size});
    for (const auto& patch : scanned<weir::mp4::FileScan>({data, size}, 1).patches()) {
        WEIR_CHECK(patch.offset + patch.bytes.size() <= size);
    }
    return 0;
}
