// Shared by the tests of proto/rtmp: bytes from hex, a predictable random source, feeding in
// pieces.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/random.h"
#include "proto/rtmp/chunk_reader.h"
#include "proto/rtmp/chunk_writer.h"

namespace weir::rtmp::test {

// "02 00 0a" -> bytes; spaces are free.
inline Bytes hex(std::string_view text) {
    Bytes out;
    int high = -1;
    for (const char c : text) {
        if (c == ' ') {
            continue;
        }
        const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
        if (high < 0) {
            high = digit;
        } else {
            out.push_back(static_cast<uint8_t>(high << 4 | digit));
            high = -1;
        }
    }
    return out;
}

inline Bytes join(std::initializer_list<Bytes> parts) {
    Bytes out;
    for (const Bytes& part : parts) {
        out.insert(out.end(), part.begin(), part.end());
    }
    return out;
}

// `size` bytes that differ from their neighbours.
inline Bytes pattern(size_t size, uint8_t first = 0) {
    Bytes out(size);
    std::iota(out.begin(), out.end(), first);
    return out;
}

// Always the same sequence.
class CountingRandom final : public RandomSource {
  public:
    explicit CountingRandom(uint8_t first = 1) : next_(first) {}

    void fill(std::span<uint8_t> out) override {
        for (uint8_t& byte : out) {
            next_ = static_cast<uint8_t>(next_ * 5 + 3);
            byte = next_;
        }
    }

  private:
    uint8_t next_;
};

// All messages of `bytes`, fed in pieces of `step` bytes. Stops at the first error, which goes to
// `error`.
inline std::vector<Message> read_all(ChunkReader& reader,
                                     ByteSpan bytes,
                                     size_t step,
                                     Error* error = nullptr) {
    std::vector<Message> messages;
    while (!bytes.empty()) {
        ByteSpan piece = bytes.first(std::min(step, bytes.size()));
        bytes = bytes.subspan(piece.size());
        while (!piece.empty()) {
            piece = piece.subspan(reader.feed(piece));
            Message message;
            switch (reader.next(message)) {
                case ChunkReader::Status::kMessage: messages.push_back(std::move(message)); break;
                case ChunkReader::Status::kNeedMore: break;
                case ChunkReader::Status::kError:
                    if (error) {
                        *error = reader.take_error();
                    }
                    return messages;
            }
        }
    }
    return messages;
}

inline std::vector<Message> read_all(ByteSpan bytes,
                                     size_t step = SIZE_MAX,
                                     Error* error = nullptr) {
    ChunkReader reader;
    return read_all(reader, bytes, step, error);
}

inline ChunkHeader header(
    ChunkFormat format, uint32_t csid, uint32_t timestamp, uint8_t type, uint32_t stream_id = 1) {
    ChunkHeader out;
    out.format = format;
    out.chunk_stream_id = csid;
    out.timestamp = timestamp;
    out.type = type;
    out.stream_id = stream_id;
    return out;
}

inline Bytes message_bytes(const ChunkHeader& head,
                           ByteSpan body,
                           uint32_t chunk_size = kDefaultChunkSize) {
    Bytes out;
    write_message(head, body, chunk_size, out);
    return out;
}

inline Bytes set_chunk_size(uint32_t size) {
    Bytes out;
    write_set_chunk_size(size, out);
    return out;
}

}  // namespace weir::rtmp::test
