#include "bench/load/core/flv_play_client.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "proto/ws/frame.h"
#include "proto/ws/handshake.h"

namespace weir::load {
namespace {

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return out;
}

// The value of a header field; empty when it is not there. `head` is the whole answer header.
std::string_view header_value(std::string_view head, std::string_view lower_name) {
    while (!head.empty()) {
        std::string_view line = head.substr(0, head.find("\r\n"));
        head.remove_prefix(std::min(head.size(), line.size() + 2));
        size_t colon = line.find(':');
        if (colon != std::string_view::npos && lower(line.substr(0, colon)) == lower_name) {
            line.remove_prefix(colon + 1);
            line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t")));
            return line.substr(0, line.find_last_not_of(" \t") + 1);
        }
    }
    return {};
}

}  // namespace

FlvPlayClient::FlvPlayClient(const FlvTarget& target,
                             PlayerCheck& check,
                             RandomSource& random,
                             uint64_t now_ns)
    : check_(check), random_(random) {
    if (target.transport_stream) {
        ts_ = std::make_unique<TsScanner>();
    }
    std::string request = fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: weir-bench\r\n",
                                      target.path, target.authority);
    if (target.websocket) {
        std::array<uint8_t, 16> seed{};
        random.fill(seed);
        std::string key = ws::make_client_key(seed);
        accept_ = ws::accept_key(key);
        request += fmt::format(
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: "
            "13\r\nSec-WebSocket-Key: {}\r\n",
            key);
    }
    request += "\r\n";
    ByteWriter(output_).text(request);
    check_.joined(now_ns);
}

bool FlvPlayClient::feed(ByteSpan bytes, uint64_t now_ns) {
    check_.received(bytes.size(), now_ns);
    if (state_ == State::kHeader && !read_header(bytes)) {
        return failure_.empty();
    }
    switch (framing_) {
        case Framing::kChunked: return feed_chunked(bytes);
        case Framing::kWebSocket: return feed_frames(bytes);
        default: return feed_body(bytes);
    }
}

bool FlvPlayClient::feed_body(ByteSpan bytes) {
    if (!ts_) {
        return scanner_.feed(bytes, check_) || fail(scanner_.error());
    }
    if (!ts_->feed(bytes, check_)) {
        return fail(ts_->error());
    }
    return ts_->faults() == 0 || fail("packets of the transport stream are missing or broken");
}

// True when the header is complete and accepted; `bytes` is then what follows it.
bool FlvPlayClient::read_header(ByteSpan& bytes) {
    static constexpr std::string_view kEnd = "\r\n\r\n";
    size_t before = collected_.size();
    size_t room = std::min(bytes.size(), kMaxHeaderSize - before);
    collected_.insert(collected_.end(), bytes.begin(),
                      bytes.begin() + static_cast<std::ptrdiff_t>(room));
    std::string_view head = as_text(collected_);
    size_t end = head.find(kEnd);
    if (end == std::string_view::npos) {
        return room == bytes.size() ? false : fail("the answer's header is too long");
    }
    head = head.substr(0, end + 2);
    bytes = bytes.subspan(end + kEnd.size() - before);
    std::string_view status = head.substr(0, head.find("\r\n"));
    if (!status.starts_with("HTTP/1.") || status.size() < 12) {
        return fail("the answer is not HTTP");
    }
    std::string_view code = status.substr(9, 3);
    if (!accept_.empty()) {
        if (code != "101" || header_value(head, "sec-websocket-accept") != accept_) {
            return fail(fmt::format("refused: {}", status));
        }
        framing_ = Framing::kWebSocket;
    } else if (code != "200") {
        return fail(fmt::format("refused: {}", status));
    } else if (lower(header_value(head, "transfer-encoding")) == "chunked") {
        framing_ = Framing::kChunked;
    }
    collected_ = Bytes();
    accept_ = std::string();
    state_ = State::kBody;
    return true;
}

// RFC 9112 §7.1: size in hexadecimal, line end, that many bytes, line end.
bool FlvPlayClient::feed_chunked(ByteSpan bytes) {
    while (!bytes.empty() && !stream_ended_) {
        if (left_ > 0) {
            size_t size = std::min<uint64_t>(bytes.size(), left_);
            left_ -= size;
            if (!feed_body(bytes.first(size))) {
                return false;
            }
            bytes = bytes.subspan(size);
            skip_line_ = left_ == 0;
            continue;
        }
        uint8_t byte = bytes.front();
        bytes = bytes.subspan(1);
        if (byte != '\n') {
            collected_.push_back(byte);
            if (collected_.size() > kMaxChunkLine) {
                return fail("a chunk size line is too long");
            }
            continue;
        }
        std::string_view line = as_text(collected_);
        if (skip_line_) {
            skip_line_ = false;
        } else {
            if (std::from_chars(line.data(), line.data() + line.size(), left_, 16).ec !=
                std::errc()) {
                return fail("a chunk size cannot be read");
            }
            stream_ended_ = left_ == 0;
        }
        collected_.clear();
    }
    return true;
}

// Collects a frame header; true when a frame is in progress.
bool FlvPlayClient::begin_frame(ByteSpan& bytes) {
    while (!bytes.empty()) {
        collected_.push_back(bytes.front());
        bytes = bytes.subspan(1);
        ws::FrameHeader header;
        switch (ws::parse_frame_header(collected_, ws::Role::kClient, header)) {
            case ws::HeaderStatus::kMalformed: return fail("a WebSocket frame header is malformed");
            case ws::HeaderStatus::kNeedMore: continue;
            case ws::HeaderStatus::kDone: break;
        }
        collected_.clear();
        left_ = header.payload_bytes;
        control_ = ws::is_control(header.opcode) ? static_cast<uint8_t>(header.opcode) : 0;
        if (header.opcode == ws::Opcode::kText) {
            return fail("a text frame, where binary ones were expected");
        }
        return true;
    }
    return false;
}

bool FlvPlayClient::feed_frames(ByteSpan bytes) {
    while (!bytes.empty() && !stream_ended_) {
        if (left_ == 0) {
            if (!begin_frame(bytes)) {
                return failure_.empty();
            }
        }
        size_t size = std::min<uint64_t>(bytes.size(), left_);
        ByteSpan payload = bytes.first(size);
        bytes = bytes.subspan(size);
        left_ -= size;
        if (control_ == 0) {
            if (!feed_body(payload)) {
                return false;
            }
        } else {
            collected_.insert(collected_.end(), payload.begin(), payload.end());
            if (left_ == 0 && !end_control_frame()) {
                return false;
            }
        }
    }
    return true;
}

bool FlvPlayClient::end_control_frame() {
    if (control_ == static_cast<uint8_t>(ws::Opcode::kClose)) {
        stream_ended_ = true;
        send_control(control_, ByteSpan(collected_).first(std::min<size_t>(collected_.size(), 2)));
    } else if (control_ == static_cast<uint8_t>(ws::Opcode::kPing)) {
        send_control(static_cast<uint8_t>(ws::Opcode::kPong), collected_);
    }
    collected_.clear();
    control_ = 0;
    return true;
}

void FlvPlayClient::send_control(uint8_t opcode, ByteSpan payload) {
    ws::MaskKey key{};
    random_.fill(key);
    Bytes frame = ws::make_masked_frame(static_cast<ws::Opcode>(opcode), payload, key);
    output_.insert(output_.end(), frame.begin(), frame.end());
}

}  // namespace weir::load
