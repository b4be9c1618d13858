// HttpBody: the answer to one GET, sans-IO: header, then the body, of a length that it names, in
// chunks, or as long as the connection is there (RFC 9112 §6, §7.1), handed on without a copy.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace weir::load {

class HttpBody {
  public:
    static constexpr size_t kMaxHeader = 16 * 1024;
    static constexpr size_t kMaxChunkLine = 64;

    // Calls visit(ByteSpan) with the parts of the body in these bytes. False: the answer is not 200
    // or not HTTP; failure() says why.
    template <typename Visit>
    bool feed(ByteSpan bytes, Visit&& visit) {
        while (!bytes.empty() && failure_.empty() && !ended_) {
            const ByteSpan part = next(bytes);
            if (!part.empty()) {
                visit(part);
            }
        }
        return failure_.empty();
    }

    // The header was taken, with 200.
    bool accepted() const { return accepted_; }

    // All of it came.
    bool ended() const { return ended_; }

    const std::string& failure() const { return failure_; }

  private:
    ByteSpan next(ByteSpan& bytes);
    void take_header(ByteSpan& bytes);
    void take_chunk_line(ByteSpan& bytes);

    std::string line_;  // the header, or the size of a chunk, as far as it came
    std::string failure_;
    uint64_t left_ = 0;  // of the chunk, or of a body with a length
    bool accepted_ = false;
    bool chunked_ = false;
    bool sized_ = false;
    bool ended_ = false;
    bool behind_chunk_ = false;  // its line end comes next
};

}  // namespace weir::load
