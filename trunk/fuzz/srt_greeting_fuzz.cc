// Handshakes of SRT: whatever is parsed has the window that is written to it, and nothing else
// changes.
#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "io/srt/srt_greeting.h"

namespace io = weir::io;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const weir::ByteSpan packet(data, size);
    const weir::ByteSpan header = packet.first(std::min(size, io::kSrtHeader));
    const weir::ByteSpan body = packet.subspan(header.size());
    const std::optional<io::SrtGreeting> greeting = io::SrtGreeting::parse(header, body);
    if (greeting) {
        weir::Bytes copy(body.begin(), body.end());
        io::set_srt_window(copy, greeting->window ^ 1U);
        const std::optional<io::SrtGreeting> again = io::SrtGreeting::parse(header, copy);
        WEIR_CHECK(again && again->window == (greeting->window ^ 1U));
        io::set_srt_window(copy, greeting->window);
        WEIR_CHECK(std::ranges::equal(copy, body));
    }
    return 0;
}
