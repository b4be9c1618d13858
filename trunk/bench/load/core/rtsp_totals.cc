#include "bench/load/core/rtsp_totals.h"

#include <utility>

namespace weir::load {

void RtspTotals::begin_window() {
    RtspTotals fresh;
    fresh.used = used;
    fresh.response = std::move(response);
    *this = std::move(fresh);
}

void RtspTotals::merge(const RtspTotals& other) {
    used = used || other.used;
    packets += other.packets;
    lost += other.lost;
    late += other.late;
    malformed += other.malformed;
    reports += other.reports;
    variation_us += other.variation_us;
    variations += other.variations;
    jitter.merge(other.jitter);
    response.merge(other.response);
}

double RtspTotals::loss() const {
    const uint64_t expected = packets + lost;
    return expected == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(expected);
}

double RtspTotals::mean_variation_us() const {
    return variations == 0 ? 0 : variation_us / static_cast<double>(variations);
}

void RtspTotals::add_to(Report& report, double window_s) const {
    if (!used) {
        return;
    }
    ReportSection& section = report.section("rtsp", "rtsp");
    section.distribution("response_ms", "first packet after PLAY", response);
    section.count("packets", "media packets", packets);
    section.number("packets_per_second", "packets per second",
                   window_s > 0 ? static_cast<double>(packets) / window_s : 0, "/s", 0);
    section.count("packets_lost", "packets lost", lost);
    section.number("loss_percent", "loss", loss() * 100, "%", 3);
    section.count("packets_late", "packets late or twice", late);
    section.distribution("packet_jitter_ms", "jitter (RFC 3550)", jitter);
    section.number("variation_ms", "jitter (mean variation)", mean_variation_us() / 1e3, "ms", 3);
    section.count("reports", "sender reports", reports);
    section.count("packets_malformed", "packets malformed", malformed);
}

}  // namespace weir::load
