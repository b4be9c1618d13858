// One HTTP/1.x answer whose body has no end, as bytes arrive: the head, then the body without its
// chunks (RFC 9112 §6, §7.1). For media; whole answers are HttpResponseParser's business. Sans-IO.
//
// feed() takes all bytes and appends what belongs to the body. After kError nothing is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"

namespace weir::http {

class StreamResponse {
  public:
    enum class Status : uint8_t {
        kHead,   // the head is not complete
        kBody,   // status() is known; the body goes on
        kEnded,  // the body is complete: nothing more is taken
        kError,
    };

    static constexpr size_t kMaxHead = 16 * 1024;
    static constexpr size_t kMaxChunkLine = 256;  // size and extensions; also of a trailer line
    static constexpr size_t kMaxTrailers = 64;
    static constexpr size_t kMaxInformational = 16;  // 1xx answers before the answer
    static constexpr uint64_t kMaxChunk = uint64_t{1} << 31;

    // `kept`: a field of the answer whose value is wanted besides; empty: none.
    explicit StreamResponse(std::string_view kept = {}) : kept_name_(kept) {}

    // Splitting the input anywhere gives the same outcome.
    Status feed(ByteSpan bytes, Bytes& body);

    // 200, 404 ...; 0 before the head is complete. 1xx answers are skipped.
    int status() const { return status_; }

    // Value of Content-Type, of Location; empty: there is none.
    const std::string& content_type() const { return content_type_; }

    const std::string& location() const { return location_; }

    const std::string& kept() const { return kept_; }

    // Once. kMalformed, kLimit, kUnsupported; a sentence that holds no bytes of the peer.
    Error take_error() { return std::move(error_); }

  private:
    enum class State : uint8_t {
        kHead,
        kToEnd,   // of the connection
        kLength,  // left_ bytes
        kChunkLine,
        kChunkData,  // left_ bytes
        kChunkEnd,   // its CR LF
        kTrailers,
        kEnded,
        kFailed,
    };

    void take_head(ByteSpan& bytes);
    bool read_head();
    bool read_field(std::string_view line);
    void take_data(ByteSpan& bytes, Bytes& body, State next);
    void take_line(ByteSpan& bytes);
    void use_line();
    bool fail(Error error);
    Status now() const;

    State state_ = State::kHead;
    std::string head_;
    std::string line_;
    Error error_;
    int status_ = 0;
    bool chunked_ = false;
    std::optional<uint64_t> length_;
    uint64_t left_ = 0;
    size_t trailers_ = 0;
    size_t informational_ = 0;
    std::string content_type_;
    std::string location_;
    std::string kept_name_;
    std::string kept_;
};

}  // namespace weir::http
