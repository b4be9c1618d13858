// Session descriptions (RFC 8866): lines, media sections and attributes, without their meaning.
//
// parse() takes what programs send rather than what the grammar demands: any line ending, missing
// s= and t= lines, unknown line types. It refuses what cannot be SDP, names the line, and bounds
// everything. Where broken lines are skipped (BrokenLines), one of them costs a description nothing
// but what it says. write() gives the order of RFC 8866 §5 and CRLF. A plain value: it owns its
// text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace weir::sdp {

// The largest offers of browsers (many codecs, simulcast, candidates) are about 12 KiB in 400
// lines.
inline constexpr size_t kMaxTextBytes = 64 * 1024;
inline constexpr size_t kMaxLineBytes = 4096;  // sprop-parameter-sets of HEVC may be long
inline constexpr size_t kMaxLines = 3000;
inline constexpr size_t kMaxMedia = 32;     // m= lines
inline constexpr size_t kMaxFormats = 128;  // in one m= line; there are 128 payload types

// What happens to a line that cannot be read. An offer or an answer (RFC 3264) is refused: its m=
// sections are counted, and an attribute that is not seen means something else. Descriptions of
// cameras are read without it, as ffmpeg does.
enum class BrokenLines : uint8_t { kRefuse, kSkip };

// a=name or a=name:value. A value may be empty.
struct Attribute {
    std::string name;
    std::string value;

    bool operator==(const Attribute&) const = default;
};

using Attributes = std::vector<Attribute>;

// The value of the first attribute of that name (names are case-sensitive); none without one.
std::optional<std::string_view> find_attribute(const Attributes& attributes, std::string_view name);

inline bool has_attribute(const Attributes& attributes, std::string_view name) {
    return find_attribute(attributes, name).has_value();
}

// An m= line and what follows it (RFC 8866 §5.14). Without formats: the line could not be read and
// was skipped; the section stands for it, so that what follows belongs to no other one.
struct Media {
    std::string kind;  // "audio", "video", "application" ...
    uint16_t port = 0;
    std::string protocol;              // "UDP/TLS/RTP/SAVPF"
    std::vector<std::string> formats;  // payload types, for RTP
    std::string information = {};      // of its i= line, for people; empty: none
    std::string connection;            // of its c= line; empty: that of the session
    std::vector<std::string> bandwidths;
    Attributes attributes;

    bool operator==(const Media&) const = default;
};

struct Session {
    std::string origin;  // of the o= line, uninterpreted
    std::string name = "-";
    std::string connection;
    std::vector<std::string> bandwidths;
    std::string time = "0 0";
    Attributes attributes;
    std::vector<Media> media;

    bool operator==(const Session&) const = default;

    // kMalformed or kLimit, with the number of the line. With kSkip: what stands before the first
    // letter of a line is dropped, a port that is none is 0, and lines that are too long count as
    // broken. kMalformed is then a version other than 0, or a text with neither v= nor an m= line;
    // the other limits stay.
    static Result<Session> parse(std::string_view text, BrokenLines broken = BrokenLines::kRefuse);

    std::string write() const;
};

// The m= line alone, without its line end: "audio 9 UDP/TLS/RTP/SAVPF 111". For fragments too.
Result<Media> parse_media_line(std::string_view value);
std::string write_media_line(const Media& media);

// "name" or "name:value". kMalformed for an empty name.
Result<Attribute> parse_attribute(std::string_view value);

// Walks over the lines of a description or fragment: any of CRLF, LF, CR ends one; empty lines and
// trailing spaces are dropped. Borrows the text.
class LineReaderView {
  public:
    explicit LineReaderView(std::string_view text, BrokenLines broken = BrokenLines::kRefuse)
        : rest_(text), skips_(broken == BrokenLines::kSkip) {}

    // False at the end, or when error() says something. Broken lines are passed over where they are
    // skipped, but for one that begins as an m= line: that one has an empty value.
    bool next();

    char type() const { return type_; }

    std::string_view value() const { return value_; }

    // kMalformed: not "x=...", control characters; kLimit: too long, too many. With the line's
    // number.
    Error take_error() { return std::move(error_); }

    size_t number() const { return number_; }

    // The same error with "line N" in front.
    Error at_line(Error error) const;

  private:
    std::string_view take_line();
    bool fail(ErrorCode code, std::string_view why);

    std::string_view rest_;
    bool skips_;
    std::string_view value_;
    Error error_;
    size_t number_ = 0;
    char type_ = 0;
};

}  // namespace weir::sdp
