// Values of RTSP's fields: what is read is written and read again as the same. The first byte says
// which field; the rest is its value.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "proto/http/digest_auth.h"
#include "proto/rtsp/header_values.h"
#include "proto/rtsp/method.h"
#include "proto/rtsp/transport.h"
#include "proto/rtsp/url.h"

namespace http = weir::http;
namespace rtsp = weir::rtsp;

static void check_values(uint8_t which, std::string_view text) {
    if (which == 'T') {
        const std::vector<rtsp::Transport> transports = rtsp::parse_transports(text);
        const std::string again = rtsp::write(transports);
        WEIR_CHECK(again.size() > rtsp::kMaxTransportText ||
                   rtsp::parse_transports(again) == transports);
    } else if (which == 'S') {
        const std::optional<rtsp::SessionField> session = rtsp::parse_session(text);
        WEIR_CHECK(!session || rtsp::parse_session(rtsp::write(*session)) == session);
    } else if (which == 'R') {
        const std::optional<rtsp::Range> range = rtsp::parse_range(text);
        WEIR_CHECK(!range || range->unit != rtsp::Range::Unit::kNpt ||
                   rtsp::parse_range(rtsp::write(*range)) == range);
    } else if (which == 'I') {
        const std::vector<rtsp::RtpInfo> infos = rtsp::parse_rtp_info(text);
        WEIR_CHECK(rtsp::parse_rtp_info(rtsp::write(infos)) == infos);
    } else {
        const rtsp::MethodSet methods = rtsp::MethodSet::parse(text);
        WEIR_CHECK(rtsp::MethodSet::parse(methods.write()) == methods);
    }
}

static void check_urls(std::string_view text) {
    const weir::Result<rtsp::Url> url = rtsp::Url::parse(text);
    if (url.ok()) {
        const weir::Result<rtsp::Url> again = rtsp::Url::parse(url->full());
        WEIR_CHECK(!again.ok() || again->full() == url->full());
    }
    rtsp::Url request;
    request.host = "h";
    const std::string base = rtsp::base_url(request, {.content_base = text});
    WEIR_CHECK(base.starts_with("rtsp://h/"));
    const std::optional<std::string> track = rtsp::resolve_control(base, text);
    WEIR_CHECK(!track || track->starts_with("rtsp://h/"));
}

static void check_auth(std::string_view text) {
    for (const http::Challenge& challenge : http::parse_challenges(text)) {
        const std::string answer =
            http::write(http::answer(challenge, {"u", "p"}, "PLAY", "*", "c", 1));
        WEIR_CHECK(answer.find_first_of("\r\n") == std::string::npos);
    }
    if (const std::optional<http::Credentials> shown = http::parse_credentials(text)) {
        const std::string again = http::write(*shown);
        WEIR_CHECK(again.find_first_of("\r\n") == std::string::npos);
        http::verify(*shown, "r", "p", "PLAY");
    }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size > 1) {
        const std::string_view text = weir::as_text({data + 1, size - 1});
        switch (data[0]) {
            case 'U': check_urls(text); break;
            case 'A': check_auth(text); break;
            default: check_values(data[0], text);
        }
    }
    return 0;
}
