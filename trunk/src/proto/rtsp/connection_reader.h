// Reads what arrives on an RTSP connection: requests, responses and interleaved frames (RFC 2326
// §10.12), mixed in any order. For a server and for a client. Sans-IO.
//
// Driven by next(): give it what was read from the socket until it says kNeedMore. The outcome does
// not depend on how the input was split. Messages are collected here; the payload of a frame that
// is whole in the input is a view of it, and only frames that the input cuts are copied.
//
// Tolerances, because cameras and clients in the field need them:
// - lines that end in LF alone, empty lines and stray CRs between messages;
// - field names in any letter case, blanks around the colon, folded fields (RFC 2326 §4.2);
// - no Content-Length: there is no body;
// - a frame between two lines of a head, or between head and body: cameras whose RTP is written by
//   another thread than their answers send these;
// - in responses, lines that are no fields: they are skipped.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "proto/rtsp/message.h"

namespace weir::rtsp {

inline constexpr size_t kMaxStartLine = 4 * 1024;    // with its line end; 414
inline constexpr size_t kMaxFieldBytes = 16 * 1024;  // all fields together; 400
inline constexpr size_t kMaxHeaderFields = 100;      // lines; 400
inline constexpr size_t kMaxBodyBytes = 64 * 1024;   // as large as an SDP may be; 413
inline constexpr size_t kMaxMethodBytes = 32;        // 400
inline constexpr size_t kFrameHeader = 4;            // '$', channel, two bytes of length

// One interleaved frame. The payload must not be used after the next call of next(), nor after the
// input that was given to it is gone.
struct FrameView {
    uint8_t channel = 0;
    ByteSpan payload;
};

// What stands in front of the payload of an interleaved frame that we send:
//
//     0     1         2                 4
//    +-----+---------+-----------------+
//    | '$' | channel | bytes of payload |
//    +-----+---------+-----------------+
inline std::array<uint8_t, kFrameHeader> frame_header(uint8_t channel, uint16_t payload_bytes) {
    std::array<uint8_t, kFrameHeader> header = {'$', channel};
    store_u16(&header[2], payload_bytes);
    return header;
}

// Why the connection cannot be read any further.
struct ReadError {
    int status = 0;                // to answer; 0: it was no request, so nothing can be answered
    std::optional<uint32_t> cseq;  // for that answer, where it is known
    std::string_view reason;       // a literal; holds no bytes of the peer
};

class ConnectionReader {
  public:
    enum class Status : uint8_t {
        kNeedMore,  // all of the input was taken
        kRequest,   // request()
        kResponse,  // response()
        kFrame,     // frame()
        kHttp,      // http(): a head of HTTP; its body, if any, is what follows in the input
        kError,     // error(); it stays there
    };

    // Takes from the front of `input` what belongs to the next message or frame.
    Status next(ByteSpan& input);

    // After kRequest, kResponse, kFrame, kHttp and kError respectively, until the next call. Their
    // parts may be moved away.
    Request& request() { return open_->request; }

    Response& response() { return open_->response; }

    const FrameView& frame() const { return frame_; }

    HttpHead& http() { return open_->http; }

    const ReadError& error() const { return error_; }

    // Lets go of the message that the last call gave, as the next call would: for whoever may not
    // hear anything for long. A reader between messages holds no memory but its own.
    void release_message();

    bool holds_message() const { return open_ != nullptr; }

    // After kNeedMore: some bytes of a message or frame are there, so silence is a stalled peer.
    bool in_message() const { return state_ != State::kStart; }

  private:
    enum class State : uint8_t { kStart, kHead, kBody, kFrame, kFailed };
    enum class Step : uint8_t { kNeedMore, kGoOn, kDone };

    Step take_head(ByteSpan& input);
    bool take_head_byte(char c);
    bool end_line();
    Status end_head();
    bool read_fields(std::string_view lines, http::Fields& fields);
    Status end_http(std::string_view start_line, std::string_view version);
    Status end_request(std::string_view start_line);
    Status end_response(std::string_view start_line);
    Status begin_body();
    Status take_body(ByteSpan& input);
    Status take_frame(ByteSpan& input);
    Status end_message();
    bool fail(int status, std::string_view reason);

    // A message that is being read, or was given by the last call.
    struct Open {
        std::string head;
        size_t lines = 0;       // that are complete
        size_t line_start = 0;  // of the current line, in head
        size_t fields_at = 0;   // where the first line ends
        bool is_response = false;
        size_t body_bytes = 0;  // by Content-Length
        Request request;
        Response response;
        HttpHead http;

        Message& message();
    };

    State state_ = State::kStart;
    State after_frame_ = State::kStart;
    bool partial_used_ = false;
    bool given_ = false;          // a message, by the last call
    std::unique_ptr<Open> open_;  // null between messages
    Bytes partial_;               // a frame that the input cut
    FrameView frame_;
    ReadError error_;
};

}  // namespace weir::rtsp
