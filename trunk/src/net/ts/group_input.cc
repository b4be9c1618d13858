#include "net/ts/group_input.h"

#include <algorithm>

#include "proto/fec/reed_solomon.h"

namespace weir::net {
namespace {

constexpr size_t kTsPacket = 188;

// Reed-Solomon parities on the port of the group itself.
bool is_parity(ByteSpan datagram) {
    return datagram.size() > fec::kRtpHeader &&
           (datagram.size() - fec::kRtpHeader) % kTsPacket != 0 &&
           fec::BlockParityView::parse(datagram);
}

}  // namespace

GroupInput::GroupInput(RtpOrderOutput& output, const Options& options)
    : order_(output,
             {.window = options.fast_change ? kFastChangeWindow
                        : options.fec       ? kFecWindow
                                            : RtpOrderOptions::kWindow,
              .patience = RtpOrderOptions::kPatience}) {
    if (options.fec) {
        FecOutput& output_of_fec = *this;
        fec_ = std::make_unique<FecRecovery>(output_of_fec);
        adjust();
    }
}

void GroupInput::set_patience(Millis patience) {
    patience_ = patience;
    adjust();
}

void GroupInput::adjust() {
    order_.set_patience(fec_ ? std::max(patience_, fec_->patience()) : patience_);
}

void GroupInput::feed(MonoTime now, ByteSpan datagram) {
    if (fec_ && is_parity(datagram)) {
        feed_parity(now, datagram);
        return;
    }
    order_.feed(now, datagram);
    if (fec_) {
        fec_->feed_media(now, datagram);
        adjust();
    }
}

void GroupInput::feed_parity(MonoTime now, ByteSpan datagram) {
    if (fec_) {
        fec_->feed_parity(now, datagram);
        adjust();
    }
}

}  // namespace weir::net
