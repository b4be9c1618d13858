// A reply of Redis as a plain value (RESP2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::redis {

enum class ReplyType : uint8_t { kNil, kStatus, kError, kInteger, kText, kArray };

struct Reply {
    ReplyType type = ReplyType::kNil;
    int64_t integer = 0;          // of kInteger
    std::string text;             // of kStatus, kError and kText; any bytes
    std::vector<Reply> elements;  // of kArray

    bool is_nil() const { return type == ReplyType::kNil; }

    bool is_error() const { return type == ReplyType::kError; }

    bool is_array(size_t least) const {
        return type == ReplyType::kArray && elements.size() >= least;
    }

    // An error whose first word is that: "NOSCRIPT", "MOVED" ...
    bool is_error(std::string_view word) const;

    bool operator==(const Reply&) const = default;
};

// Where a reply of Redis Cluster sends us: "MOVED 3999 127.0.0.1:6381", and the same with ASK.
struct Redirect {
    bool ask = false;  // for this command only
    std::string host;  // empty: that of the node that was asked
    uint16_t port = 0;
};

// False: it is none, or cannot be read.
bool parse_redirect(const Reply& reply, Redirect& out);

}  // namespace weir::redis
