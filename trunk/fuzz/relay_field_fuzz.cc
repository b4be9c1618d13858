// The field of relays: what is taken is written again as the same, and read again. The first byte
// of an input says what it is: 'q' a request without its mac, which is put behind it, 'r' one as it
// is, anything else an answer.
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "base/hmac.h"
#include "proto/cluster/relay_field.h"

namespace cluster = weir::cluster;

static constexpr std::string_view kSecret = "0123456789abcdef";
static constexpr std::string_view kTarget = "/live/cam.flv?relay=1";
static constexpr int64_t kNow = 1000;

static std::string signed_text(std::string_view front) {
    std::string out(front);
    out += ";mac=";
    std::string what = "GET\n";
    what += kTarget;
    what += "\n";
    what += front;
    for (const uint8_t byte : weir::hmac_sha256(weir::as_bytes(kSecret), weir::as_bytes(what))) {
        out += "0123456789abcdef"[byte >> 4];
        out += "0123456789abcdef"[byte & 15];
    }
    return out;
}

static void take_request(std::string_view text) {
    auto read = cluster::read_relay_request(text, kSecret, "GET", "a.example", kTarget, kNow);
    if (read.ok()) {
        read->for_any_host = false;  // the newest version is written, whichever was read
        const std::string again =
            cluster::write_relay_request(*read, kSecret, "GET", "a.example", kTarget);
        const auto twice =
            cluster::read_relay_request(again, kSecret, "GET", "a.example", kTarget, kNow);
        WEIR_CHECK(twice.ok() && *twice == *read);
    }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string_view text = weir::as_text({data + 1, size - 1});
    if (data[0] == 'q') {
        take_request(signed_text(text));
    } else if (data[0] == 'r') {
        take_request(text);
    } else if (const auto read = cluster::read_relay_answer(text); read.ok()) {
        const auto twice = cluster::read_relay_answer(cluster::write_relay_answer(*read));
        WEIR_CHECK(twice.ok() && *twice == *read);
    }
    return 0;
}
