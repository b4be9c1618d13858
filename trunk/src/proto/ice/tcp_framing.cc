#include "proto/ice/tcp_framing.h"

#include <algorithm>

namespace weir::ice {

size_t FrameReader::feed(ByteSpan bytes) {
    size_t consumed = 0;
    while (!ready_ && !failed_ && consumed < bytes.size()) {
        ByteSpan rest = bytes.subspan(consumed);
        if (header_size_ < kFrameHeaderBytes) {
            header_[header_size_++] = rest[0];
            consumed++;
            if (header_size_ == kFrameHeaderBytes) {
                size_ = static_cast<size_t>(header_[0] << 8 | header_[1]);
                failed_ = size_ > limit_;
                header_size_ = size_ == 0 ? uint8_t{0} : header_size_;
                partial_.clear();
            }
            continue;
        }
        size_t take = std::min(rest.size(), size_ - partial_.size());
        consumed += take;
        if (take == size_) {
            ready_view_ = rest.first(take);
            ready_ = true;
        } else {
            partial_.insert(partial_.end(), rest.begin(),
                            rest.begin() + static_cast<std::ptrdiff_t>(take));
            ready_view_ = partial_;
            ready_ = partial_.size() == size_;
        }
    }
    return consumed;
}

FrameReader::Status FrameReader::next(ByteSpan& out) {
    if (!ready_) {
        return failed_ ? Status::kError : Status::kNeedMore;
    }
    out = ready_view_;
    ready_ = false;
    header_size_ = 0;
    return Status::kDatagram;
}

}  // namespace weir::ice
