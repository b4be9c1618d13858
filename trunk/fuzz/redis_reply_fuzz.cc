// Replies of Redis: whole and in pieces they give the same; what nodes read out of them (answers of
// scripts, records, redirects) is written and read again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "proto/cluster/scripts.h"
#include "proto/redis/reply_reader.h"

namespace {

using weir::redis::Reply;
using weir::redis::ReplyReader;

std::vector<Reply> read_in_pieces(weir::ByteSpan bytes, size_t step) {
    ReplyReader reader;
    std::vector<Reply> replies;
    for (size_t at = 0; at < bytes.size(); at += step) {
        reader.feed(bytes.subspan(at, std::min(step, bytes.size() - at)));
        while (reader.next() == ReplyReader::Status::kReply) {
            replies.push_back(reader.take());
        }
    }
    return replies;
}

void use(const Reply& reply) {
    weir::redis::Redirect redirect;
    (void)weir::redis::parse_redirect(reply, redirect);
    (void)weir::cluster::parse_beat(reply);
    (void)weir::cluster::parse_claim(reply);
    if (const auto found = weir::cluster::parse_lookup(reply);
        found && found->found == weir::cluster::Found::kNode) {
        WEIR_CHECK(weir::cluster::NodeRecord::parse(found->node.write()) == found->node);
    }
    if (const auto event = weir::cluster::Event::parse(reply.text)) {
        WEIR_CHECK(weir::cluster::Event::parse(event->write()) == event);
    }
    for (const Reply& element : reply.elements) {
        use(element);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 1) {
        return 0;
    }
    const weir::ByteSpan bytes(data + 1, size - 1);
    const std::vector<Reply> whole = read_in_pieces(bytes, size);
    WEIR_CHECK(read_in_pieces(bytes, 1U + data[0] % 16U) == whole);
    for (const Reply& reply : whole) {
        use(reply);
    }
    return 0;
}
