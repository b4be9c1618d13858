// Addresses of Redis, names of streams in keys, and URLs of nodes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "proto/cluster/records.h"
#include "proto/redis/url.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto url = weir::redis::Url::parse(text); url.ok()) {
        auto again = weir::redis::Url::parse(url->shown());
        WEIR_CHECK(again.ok());
        again->user = url->user;
        again->password = url->password;
        WEIR_CHECK(*again == *url);
    }
    if (const auto stream = weir::cluster::parse_stream_text(text)) {
        WEIR_CHECK(weir::cluster::stream_text(*stream) == text);
    }
    const weir::cluster::StreamName name{std::string(text), std::string(text), std::string(text)};
    const std::string written = weir::cluster::stream_text(name);
    WEIR_CHECK(written.size() > weir::cluster::kMaxStreamText ||
               weir::cluster::parse_stream_text(written) == name);
    (void)weir::cluster::parse_node_url(text);
    (void)weir::cluster::NodeRecord::parse(text);
    (void)weir::cluster::StreamRecord::parse(text);
    (void)weir::cluster::RelaysRecordView::parse(text);
    return 0;
}
