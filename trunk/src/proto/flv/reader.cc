#include "proto/flv/reader.h"

#include <string_view>
#include <utility>

#include "proto/flv/body.h"

namespace weir::flv {
namespace {

constexpr size_t kShortFileHeader = 9;  // without the previous tag size
constexpr uint32_t kMaxFileHeader =
    4096;  // the header says its own size; later versions may grow it

// What a source brings by mistake, by its first three bytes.
std::string_view what_begins(uint32_t begin) {
    switch (begin) {
        case 0x234558:  // "#EX" of #EXTM3U, RFC 8216 4.3.1.1
            return "it is a playlist (HLS). A program can bring it: ffmpeg -re -i URL -c copy -f "
                   "flv rtmp://127.0.0.1/APP/STREAM";
        case 0x3C3F78:  // "<?x"
        case 0x3C4D50:  // "<MP"
            return "it is an XML file (a DASH description?); expected the address of an FLV "
                   "stream, as in http://HOST/APP/STREAM.flv";
        case 0x3C2144:  // "<!D"
        case 0x3C2164:
        case 0x3C6874:  // "<ht"
            return "it is a page for browsers; expected the address of an FLV stream, as in "
                   "http://HOST/APP/STREAM.flv";
        default: break;
    }
    if (begin >> 16 == 0x47) {  // ISO 13818-1 2.4.3.2: sync_byte
        return "perhaps it is an MPEG transport stream; expected the address of an FLV stream, as "
               "in "
               "http://HOST/APP/STREAM.flv";
    }
    return "the file does not begin with 'FLV'";
}

}  // namespace

// Collects `size` bytes in scratch_; true when they are there.
bool TagReader::gather(ByteSpan& bytes, size_t size) {
    const size_t more = std::min(size - scratch_size_, bytes.size());
    std::copy_n(bytes.begin(), more, scratch_ + scratch_size_);
    scratch_size_ = static_cast<uint8_t>(scratch_size_ + more);
    bytes = bytes.subspan(more);
    if (scratch_size_ < size) {
        return false;
    }
    scratch_size_ = 0;
    return true;
}

bool TagReader::fail(Error error) {
    error_ = std::move(error);
    failed_ = true;
    return false;
}

bool TagReader::read_file_header() {
    ByteReader reader(ByteSpan(scratch_, kShortFileHeader));
    if (const uint32_t begin = reader.u24(); begin != 0x464C56) {  // "FLV"
        return fail(make_error(ErrorCode::kMalformed, "not FLV: {}", what_begins(begin)));
    }
    reader.u8();  // version: everything so far is 1, and readers accept more
    const uint8_t flags = reader.u8();
    const uint32_t size = reader.u32();
    if (size < kShortFileHeader || size > kMaxFileHeader) {
        return fail(make_error(ErrorCode::kMalformed, "FLV header of {} bytes", size));
    }
    has_audio_ = flags & 4;
    has_video_ = flags & 1;
    skip_ = size - static_cast<uint32_t>(kShortFileHeader) + 4;  // and the first previous tag size
    state_ = State::kSkip;
    return true;
}

bool TagReader::read_tag_header() {
    ByteReader reader(ByteSpan(scratch_, kTagHeaderSize));
    const uint8_t type = reader.u8();
    if (type & 0x20) {
        return fail(make_error(ErrorCode::kUnsupported, "encrypted FLV tag"));
    }
    tag_.type = type & 0x1F;
    body_size_ = reader.u24();
    const uint32_t low = reader.u24();
    tag_.timestamp = static_cast<uint32_t>(reader.u8()) << 24 | low;
    tag_.stream_id = reader.u24();
    if (body_size_ > max_body_size_) {
        return fail(make_error(ErrorCode::kLimit, "FLV tag of {} bytes is over {}", body_size_,
                               max_body_size_));
    }
    tag_.body.clear();
    state_ = body_size_ > 0 ? State::kBody : State::kTrailer;
    return true;
}

bool TagReader::read_trailer() {
    const uint32_t previous = ByteReader(ByteSpan(scratch_, kTagTrailerSize)).u32();
    // Deviation: 0 and the bare body size are written by encoders in the field.
    if (previous != body_size_ + kTagHeaderSize && previous != body_size_ && previous != 0) {
        return fail(make_error(ErrorCode::kMalformed,
                               "previous tag size {} behind an FLV body of {} bytes", previous,
                               body_size_));
    }
    state_ = State::kTagHeader;
    ready_ = true;
    return true;
}

size_t TagReader::feed(ByteSpan bytes) {
    const size_t offered = bytes.size();
    while (!bytes.empty() && !ready_ && !failed_) {
        switch (state_) {
            case State::kFileHeader:
                if (gather(bytes, kShortFileHeader)) {
                    read_file_header();
                }
                break;
            case State::kSkip: {
                const size_t skipped = std::min<size_t>(skip_, bytes.size());
                bytes = bytes.subspan(skipped);
                skip_ -= static_cast<uint32_t>(skipped);
                if (skip_ == 0) {
                    state_ = State::kTagHeader;
                }
                break;
            }
            case State::kTagHeader:
                if (gather(bytes, kTagHeaderSize)) {
                    read_tag_header();
                }
                break;
            case State::kBody: {
                const size_t more = std::min(body_size_ - tag_.body.size(), bytes.size());
                append_to_body(tag_.body, bytes.first(more), body_size_);
                bytes = bytes.subspan(more);
                if (tag_.body.size() == body_size_) {
                    state_ = State::kTrailer;
                }
                break;
            }
            case State::kTrailer:
                if (gather(bytes, kTagTrailerSize)) {
                    read_trailer();
                }
                break;
        }
    }
    return offered - bytes.size();
}

TagReader::Status TagReader::next(Tag& out) {
    if (failed_) {
        return Status::kError;
    }
    if (!ready_) {
        return Status::kNeedMore;
    }
    ready_ = false;
    out = std::exchange(tag_, Tag{});
    return Status::kTag;
}

}  // namespace weir::flv
