// ReplyReader: replies out of a byte stream, by hiredis's reader behind bounds of our own.
//
// feed() what came and then next() until it says kNeedMore. Wherever the input is cut, the same
// replies come out. After kBroken the connection is good for closing only.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "proto/redis/reply.h"

struct redisReader;

namespace weir::redis {

// Bytes and elements of one reply, those of arrays in it included. hiredis allows a depth of 7.
inline constexpr size_t kMaxReplyBytes = 8 * 1024 * 1024;
inline constexpr size_t kMaxReplyElements = 65'536;
inline constexpr size_t kMaxReplyDepth = 7;

class ReplyReader {
  public:
    enum class Status { kReply, kNeedMore, kBroken };

    ReplyReader();
    ~ReplyReader();
    ReplyReader(const ReplyReader&) = delete;
    ReplyReader& operator=(const ReplyReader&) = delete;

    void feed(ByteSpan data);

    // kReply: take() has it.
    Status next();

    Reply take();

    // What is wrong, after kBroken; holds no bytes of the peer.
    const std::string& error() const { return error_; }

  private:
    struct Building;

    struct Free {
        void operator()(redisReader* reader) const;
    };

    Status break_off(std::string_view why);

    std::unique_ptr<Building> building_;
    std::unique_ptr<redisReader, Free> reader_;
    size_t unfinished_ = 0;  // bytes since the last whole reply
    bool broken_ = false;
    std::string error_;
};

}  // namespace weir::redis
