#include "bench/load/core/rtc_totals.h"

namespace weir::load {
namespace {

double share(uint64_t part, uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

void RtcTotals::begin_window() {
    RtcTotals fresh;
    fresh.used = used;
    fresh.ice = std::move(ice);
    fresh.dtls = std::move(dtls);
    *this = std::move(fresh);
}

void RtcTotals::merge(const RtcTotals& other) {
    used = used || other.used;
    packets += other.packets;
    retransmitted += other.retransmitted;
    recovered += other.recovered;
    lost += other.lost;
    nacks += other.nacks;
    key_requests += other.key_requests;
    reports += other.reports;
    transport_feedback += other.transport_feedback;
    refused += other.refused;
    malformed += other.malformed;
    freezes += other.freezes;
    frozen_us += other.frozen_us;
    dropped += other.dropped;
    rtt.merge(other.rtt);
    jitter.merge(other.jitter);
    ice.merge(other.ice);
    dtls.merge(other.dtls);
}

double RtcTotals::loss_before() const {
    return share(lost + recovered, packets + lost + recovered);
}

double RtcTotals::loss_after() const {
    return share(lost, packets + lost + recovered);
}

void RtcTotals::add_to(Report& report, double window_s) const {
    if (!used) {
        return;
    }
    ReportSection& section = report.section("webrtc", "webrtc");
    section.distribution("ice_ms", "first answered check after", ice);
    section.distribution("dtls_ms", "encrypted after", dtls);
    section.distribution("rtt_ms", "round trip", rtt);
    section.count("packets", "media packets", packets);
    section.number("packets_per_second", "packets per second",
                   window_s > 0 ? static_cast<double>(packets) / window_s : 0, "/s", 0);
    section.number("loss_before_percent", "loss before retransmission", loss_before() * 100, "%",
                   3);
    section.number("loss_percent", "loss after it", loss_after() * 100, "%", 3);
    section.count("packets_lost", "packets lost", lost);
    section.count("packets_recovered", "packets recovered", recovered);
    section.count("packets_retransmitted", "retransmissions", retransmitted);
    if (dropped > 0) {
        section.count("packets_dropped", "thrown away by --drop", dropped);
    }
    section.distribution("packet_jitter_ms", "jitter of packets", jitter);
    section.count("freezes", "freezes", freezes);
    section.number("frozen_ms", "frozen, all players together",
                   static_cast<double>(frozen_us) / 1e3, "ms", 0);
    section.count("nacks", "NACK sent", nacks);
    section.count("plis", "PLI sent", key_requests);
    section.count("reports", "reports received", reports);
    section.count("transport_feedback", "transport feedback sent", transport_feedback);
    section.count("packets_refused", "packets not authentic or repeated", refused);
    section.count("packets_malformed", "packets malformed", malformed);
}

}  // namespace weir::load
