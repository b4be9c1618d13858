// WebSocket frames: the same messages however the input is split; an accepted header is written
// again byte by byte. The first byte is the role (its top bit) and the size of the pieces.
#include <algorithm>

#include "base/check.h"
#include "proto/ws/message_reader.h"

namespace ws = weir::ws;

static weir::Bytes outcome_of(weir::ByteSpan input, ws::Role role, size_t piece) {
    ws::MessageReader reader(role, 4096);
    ws::Message message;
    weir::Bytes outcome;
    for (size_t at = 0; at < input.size(); at += piece) {
        reader.feed(input.subspan(at, std::min(piece, input.size() - at)));
        while (reader.next(message) == ws::ReadStatus::kMessage) {
            weir::ByteWriter(outcome).bytes(ws::make_frame(message.opcode, message.payload));
        }
    }
    weir::ByteWriter(outcome).text(reader.error());
    return outcome;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    ws::Role role = size > 0 && data[0] < 128 ? ws::Role::kServer : ws::Role::kClient;
    weir::ByteSpan input = weir::ByteSpan(data, size).subspan(size > 0 ? 1 : 0);
    WEIR_CHECK(input.empty() ||
               outcome_of(input, role, size) == outcome_of(input, role, data[0] % 64U + 1U));
    ws::FrameHeader h;
    if (ws::parse_frame_header(input, role, h) == ws::HeaderStatus::kDone) {
        uint8_t out[ws::kMaxFrameHeader];
        h.masked ? ws::write_masked_frame_header(out, h.opcode, h.payload_bytes, h.mask, h.fin)
                 : ws::write_frame_header(out, h.opcode, h.payload_bytes, h.fin);
        WEIR_CHECK(std::equal(out, out + h.header_bytes, input.begin()));
    }
    return 0;
}
