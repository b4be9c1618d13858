// Chunk reader: the first byte chooses how the rest is cut; whole and cut input give the same
// messages and the same end. Every message is written again and read back.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "proto/rtmp/chunk_reader.h"
#include "proto/rtmp/chunk_writer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data,
                                      size_t size);  // NOLINT(readability-identifier-naming)

namespace weir::rtmp {
namespace {

// Messages and whether the input ended in an error.
std::pair<std::vector<Message>, bool> read_all(ByteSpan bytes, size_t step) {
    ChunkReader reader(ChunkLimits{1 << 20, 2 << 20});
    std::vector<Message> messages;
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(step, bytes.size()))) {
        for (ByteSpan piece = bytes.first(std::min(step, bytes.size())); !piece.empty();) {
            piece = piece.subspan(reader.feed(piece));
            Message message;
            const ChunkReader::Status status = reader.next(message);
            if (status == ChunkReader::Status::kError) {
                WEIR_CHECK(bool(reader.take_error()));
                return {std::move(messages), true};
            }
            if (status == ChunkReader::Status::kMessage) {
                WEIR_CHECK(message.body.capacity() <= std::max(message.body.size(), size_t{1}));
                messages.push_back(std::move(message));
            }
        }
    }
    return {std::move(messages), false};
}

bool same(const Message& a, const Message& b) {
    return a.type == b.type && a.timestamp == b.timestamp && a.stream_id == b.stream_id &&
           a.chunk_stream_id == b.chunk_stream_id && a.body == b.body;
}

// `step`: how the input is cut.
void check(ByteSpan bytes, size_t step) {
    const auto whole = read_all(bytes, SIZE_MAX);
    const auto cut = read_all(bytes, step);
    WEIR_CHECK(whole.second == cut.second);
    WEIR_CHECK(std::ranges::equal(whole.first, cut.first, same));
    Bytes out;
    for (const Message& m : whole.first) {
        const ChunkHeader header{ChunkFormat::kFull, m.type, m.chunk_stream_id,
                                 m.timestamp,        0,      m.stream_id};
        write_message(header, m.body, kDefaultChunkSize, out);
    }
    const auto again = read_all(out, SIZE_MAX);
    WEIR_CHECK(!again.second && std::ranges::equal(whole.first, again.first, same));
}

}  // namespace
}  // namespace weir::rtmp

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size > 0) {
        weir::rtmp::check({data + 1, size - 1}, size_t{data[0]} + 1);
    }
    return 0;
}
