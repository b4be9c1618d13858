#include "bench/load/core/rtc_load_client.h"

#include <algorithm>

namespace weir::load {

sdp::ClientOffer RtcLoadClient::plain_offer() const {
    sdp::ClientOffer offer;
    offer.ice_ufrag = credentials().ufrag_text();
    offer.ice_pwd = credentials().password_text();
    const auto& sha256 = identity().fingerprint().sha256;
    offer.fingerprint = {"sha-256", {sha256.begin(), sha256.end()}};
    offer.cname = "weir-bench";
    return offer;
}

Error RtcLoadClient::take_answer(std::string_view text, bool receives) {
    WEIR_TRY_ASSIGN(answer_, sdp::read_answer(text, offer_of_all()));
    for (const sdp::NegotiatedMedia& each : answer_.media) {
        if (receives && each.remote_ssrcs.empty()) {
            return make_error(ErrorCode::kUnsupported, "the answer's {} section names no SSRC",
                              to_string(each.kind));
        }
    }
    const std::vector<NetAddress> addresses = addresses_of(answer_.remote);
    if (addresses.empty()) {
        return make_error(ErrorCode::kUnsupported, "the answer has no UDP candidate");
    }
    address_ = addresses.front();
    return {};
}

void RtcLoadClient::begin(MonoTime asked, MonoTime now) {
    asked_ = asked;
    if (halt_ != RtcHalt::kCreated) {
        start(answer_.remote, {address_}, connect_timeout_, now);
    }
}

bool RtcLoadClient::on_path(MonoTime now) {
    totals_.ice.add(static_cast<uint64_t>((now - asked_).count()));
    return halt_ != RtcHalt::kIce;
}

void RtcLoadClient::note_connected(MonoTime now) {
    totals_.dtls.add(static_cast<uint64_t>((now - asked_).count()));
}

void RtcLoadClient::on_round_trip(Micros rtt) {
    totals_.rtt.add(static_cast<uint64_t>(rtt.count()));
}

void RtcLoadClient::on_refused() {
    totals_.refused++;
}

}  // namespace weir::load
