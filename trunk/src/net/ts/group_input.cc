#include "net/ts/group_input.h"

namespace weir::net {

GroupInput::GroupInput(RtpOrderOutput& output, bool with_fec)
    : order_(output,
             {.window = with_fec ? kFecWindow : RtpOrderOptions::kWindow,
              .patience = RtpOrderOptions::kPatience}) {
    if (with_fec) {
        FecOutput& output_of_fec = *this;
        fec_ = std::make_unique<FecRecovery>(output_of_fec);
        order_.set_patience(fec_->patience());
    }
}

void GroupInput::feed(MonoTime now, ByteSpan datagram) {
    order_.feed(now, datagram);
    if (fec_) {
        fec_->feed_media(now, datagram);
        order_.set_patience(fec_->patience());
    }
}

void GroupInput::feed_parity(MonoTime now, ByteSpan datagram) {
    if (fec_) {
        fec_->feed_parity(now, datagram);
        order_.set_patience(fec_->patience());
    }
}

}  // namespace weir::net
