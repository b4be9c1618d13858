// STUN messages: what is read does not reach past its input, and what is accepted says the same
// when it is written again.
#include <array>

#include "base/check.h"
#include "proto/stun/message_writer.h"

namespace stun = weir::stun;

static void write_again(const stun::MessageView& view, stun::MessageWriter& writer) {
    if (view.username) {
        writer.username(*view.username);
    }
    if (view.priority) {
        writer.priority(*view.priority);
    }
    if (view.xor_mapped_address) {
        writer.xor_mapped_address(*view.xor_mapped_address);
    }
    if (view.error_code != 0) {
        writer.error_code(view.error_code, view.error_reason);
    }
    writer.integrity(weir::as_bytes("key")).fingerprint();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    stun::MessageView view;
    if (stun::MessageView::parse({data, size}, view) != stun::ParseStatus::kDone) {
        return 0;
    }
    WEIR_CHECK(!view.check_integrity(weir::as_bytes("VOkJxbRl1RmTxUk/WvJxBt")) ||
               view.has_integrity());
    std::array<uint8_t, stun::kMaxMessageBytes> out{};
    stun::MessageWriter writer(out, view.message_class, view.method, view.transaction);
    write_again(view, writer);
    if (writer.size() == 0) {
        return 0;  // the integrity made it too long
    }
    stun::MessageView again;
    WEIR_CHECK(stun::MessageView::parse(writer.message(), again) == stun::ParseStatus::kDone);
    WEIR_CHECK(again.has_fingerprint && again.check_integrity(weir::as_bytes("key")));
    WEIR_CHECK(again.message_class == view.message_class && again.method == view.method);
    WEIR_CHECK(again.username == view.username && again.priority == view.priority);
    WEIR_CHECK(again.xor_mapped_address == view.xor_mapped_address);
    WEIR_CHECK(again.error_code == view.error_code && again.error_reason == view.error_reason);
    return 0;
}
