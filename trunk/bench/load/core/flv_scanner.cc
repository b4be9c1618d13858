#include "bench/load/core/flv_scanner.h"

namespace weir::load {

bool FlvScanner::gather(ByteSpan& bytes, size_t size) {
    size_t more = std::min(bytes.size(), size - have_);
    std::memcpy(scratch_.data() + have_, bytes.data(), more);
    have_ = static_cast<uint8_t>(have_ + more);
    bytes = bytes.subspan(more);
    if (have_ < size) {
        return false;
    }
    have_ = 0;
    return true;
}

void FlvScanner::read_file_header() {
    static constexpr std::array<uint8_t, 4> kSignature = {'F', 'L', 'V', 1};
    if (std::memcmp(scratch_.data(), kSignature.data(), kSignature.size()) != 0) {
        error_ = "the answer is not FLV";
        return;
    }
    state_ = State::kTagHeader;
}

void FlvScanner::read_tag_header() {
    ByteReader reader(scratch_);
    message_.type = reader.u8();
    message_.length = reader.u24();
    uint32_t low = reader.u24();
    message_.timestamp = uint32_t{reader.u8()} << 24 | low;
    left_ = message_.length;
    state_ = left_ == 0 ? State::kTrailer : State::kBody;
}

void FlvScanner::read_trailer() {
    uint32_t size = ByteReader(scratch_).u32();
    if (size != message_.length + flv::kTagHeaderSize) {
        error_ = "a previous tag size contradicts its tag: the byte stream is broken";
        return;
    }
    state_ = State::kTagHeader;
}

}  // namespace weir::load
