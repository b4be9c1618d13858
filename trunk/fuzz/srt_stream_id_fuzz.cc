// Stream ids of SRT: what is read from the form of access control is written and read as the same.
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "proto/srt/stream_id.h"

namespace srt = weir::srt;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text = weir::as_text({data, size});
    const weir::Result<srt::StreamId> id = srt::StreamId::parse(text);
    if (!id.ok() || text.find_first_of("{}") != std::string_view::npos ||
        id->write().size() > srt::kMaxStreamId || id->mode == srt::StreamMode::kNone ||
        !text.starts_with("#!::") || id->vhost.find('/') != std::string::npos) {
        return 0;
    }
    const weir::Result<srt::StreamId> again = srt::StreamId::parse(id->write());
    WEIR_CHECK(again.ok());
    WEIR_CHECK(*again == *id);
    return 0;
}
