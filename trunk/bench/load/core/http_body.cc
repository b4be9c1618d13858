#include "bench/load/core/http_body.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::load {

// The next part of the body; empty where these bytes were framing.
ByteSpan HttpBody::next(ByteSpan& bytes) {
    if (!accepted_) {
        take_header(bytes);
        return {};
    }
    if (!chunked_) {
        const ByteSpan all = bytes;
        bytes = {};
        return all;
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
    const size_t field = folded.find("\r\ntransfer-encoding:");
    chunked_ = field != std::string::npos &&
               folded.substr(field, folded.find("\r\n", field + 2) - field).find("chunked") !=
                   std::string::npos;
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
