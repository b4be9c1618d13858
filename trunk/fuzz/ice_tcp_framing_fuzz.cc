// The framing of ICE over TCP: the same datagrams and the same error however the input is cut. The
// first byte is the size of the pieces.
#include <algorithm>

#include "base/check.h"
#include "proto/ice/tcp_framing.h"

namespace ice = weir::ice;

// Each datagram framed again, and a byte behind it all when there was an error.
static weir::Bytes outcome_of(weir::ByteSpan input, size_t piece) {
    ice::FrameReader reader(600);
    weir::Bytes outcome;
    for (size_t at = 0; at < input.size(); at += piece) {
        weir::ByteSpan bytes = input.subspan(at, std::min(piece, input.size() - at));
        while (!bytes.empty()) {
            bytes = bytes.subspan(reader.feed(bytes));
            weir::ByteSpan datagram;
            ice::FrameReader::Status status = reader.next(datagram);
            if (status == ice::FrameReader::Status::kError) {
                weir::ByteWriter(outcome).u8(0xEE);
                return outcome;
            }
            if (status == ice::FrameReader::Status::kDatagram) {
                WEIR_CHECK(!datagram.empty() && datagram.size() <= 600);
                weir::ByteWriter(outcome).u16(static_cast<uint16_t>(datagram.size()));
                weir::ByteWriter(outcome).bytes(datagram);
            }
            WEIR_CHECK(reader.partial_bytes() <= 600);
        }
    }
    return outcome;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) {
        return 0;
    }
    weir::ByteSpan input(data + 1, size - 1);
    weir::Bytes whole = outcome_of(input, std::max<size_t>(1, input.size()));
    WEIR_CHECK(outcome_of(input, 1) == whole);
    WEIR_CHECK(outcome_of(input, size_t{data[0]} + 1) == whole);
    return 0;
}
