#include "bench/load/core/http_body.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::load {
namespace {

// The value of a header field; empty: it is not there. All of it in lower case.
std::string_view field(std::string_view head, std::string_view name) {
    const std::string mark = fmt::format("\r\n{}:", name);
    const size_t at = head.find(mark);
    if (at == std::string_view::npos) {
        return {};
    }
    std::string_view value = head.substr(at + mark.size());
    value = value.substr(0, value.find("\r\n"));
    value.remove_prefix(std::min(value.size(), value.find_first_not_of(" \t")));
    return value.substr(0, value.find_last_not_of(" \t") + 1);
}

}  // namespace

// The next part of the body; empty where these bytes were framing.
ByteSpan HttpBody::next(ByteSpan& bytes) {
    if (!accepted_) {
        take_header(bytes);
        return {};
    }
    if (!chunked_) {
        const ByteSpan part = sized_ ? bytes.first(std::min<uint64_t>(bytes.size(), left_)) : bytes;
        bytes = bytes.subspan(part.size());
        if (sized_) {
            left_ -= part.size();
            ended_ = left_ == 0;
        }
        return part;
    }
    if (left_ == 0) {
        take_chunk_line(bytes);
        return {};
    }
    const ByteSpan part = bytes.first(std::min<uint64_t>(bytes.size(), left_));
    bytes = bytes.subspan(part.size());
    left_ -= part.size();
    behind_chunk_ = left_ == 0;
    return part;
}

void HttpBody::take_header(ByteSpan& bytes) {
    static constexpr std::string_view kEnd = "\r\n\r\n";
    const size_t before = line_.size();
    line_.append(as_text(bytes.first(std::min(bytes.size(), kMaxHeader - before))));
    const size_t end = line_.find(kEnd);
    if (end == std::string::npos) {
        if (line_.size() >= kMaxHeader) {
            failure_ = "the answer's header is too long";
        }
        bytes = {};
        return;
    }
    bytes = bytes.subspan(end + kEnd.size() - before);
    const std::string head = line_.substr(0, end);
    line_.clear();
    const std::string status = head.substr(0, head.find("\r\n"));
    if (!status.starts_with("HTTP/1.") || status.size() < 12) {
        failure_ = "the answer is not HTTP";
        return;
    }
    if (status.substr(9, 3) != "200") {
        failure_ = fmt::format("refused: {}", status);
        return;
    }
    const std::string folded = to_lower(head);
    chunked_ = field(folded, "transfer-encoding").find("chunked") != std::string_view::npos;
    if (const std::string_view length = field(folded, "content-length");
        !chunked_ && !length.empty()) {
        const char* const last = length.data() + length.size();
        const auto [stop, error] = std::from_chars(length.data(), last, left_);
        if (error != std::errc() || stop != last) {
            failure_ = "the answer's length cannot be read";
            return;
        }
        sized_ = true;
        ended_ = left_ == 0;
    }
    accepted_ = true;
}

void HttpBody::take_chunk_line(ByteSpan& bytes) {
    const auto byte = static_cast<char>(bytes.front());
    bytes = bytes.subspan(1);
    if (byte != '\n') {
        line_.push_back(byte);
        if (line_.size() > kMaxChunkLine) {
            failure_ = "a chunk size line is too long";
        }
        return;
    }
    if (behind_chunk_) {
        behind_chunk_ = false;
    } else if (std::from_chars(line_.data(), line_.data() + line_.size(), left_, 16).ec !=
               std::errc()) {
        failure_ = "a chunk size cannot be read";
    } else {
        ended_ = left_ == 0;
    }
    line_.clear();
}

}  // namespace weir::load
