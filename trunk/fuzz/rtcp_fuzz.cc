// RTCP compounds: all parsers on each packet; transport feedback and NACK are written again and
// must name the same packets.
#include <vector>

#include "base/check.h"
#include "proto/rtcp/feedback.h"
#include "proto/rtcp/report.h"
#include "proto/rtcp/writer.h"

namespace rtcp = weir::rtcp;

static void check_transport_feedback(const rtcp::TransportFeedbackView& view) {
    std::vector<rtcp::Arrival> arrivals;
    int64_t sequence = view.base_sequence();
    view.for_each_received([&](uint16_t s, int64_t time_us) {
        sequence += static_cast<uint16_t>(s - static_cast<uint16_t>(sequence));
        // Times of a hostile packet may go below its origin; those of a writer may not.
        arrivals.push_back({sequence, time_us + rtcp::kReferenceRangeUs});
    });
    weir::Bytes out(1200);
    for (size_t at = 0; at < arrivals.size();) {
        rtcp::CompoundWriter writer(out);
        const size_t used = writer.transport_feedback({1, 2}, 3, std::span(arrivals).subspan(at));
        WEIR_CHECK(used > 0);
        rtcp::PacketView packet;
        rtcp::CompoundReader reader(writer.written());
        WEIR_CHECK(reader.next(packet));
        const auto again = rtcp::TransportFeedbackView::parse(packet);
        WEIR_CHECK(again.has_value());
        size_t i = at;
        again->for_each_received([&](uint16_t s, int64_t time_us) {
            WEIR_CHECK(i < at + used && s == static_cast<uint16_t>(arrivals[i].sequence));
            WEIR_CHECK((arrivals[i].time_us - time_us) % rtcp::kReferenceRangeUs == 0);
            i++;
        });
        WEIR_CHECK(i == at + used);
        at += used;
    }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    rtcp::CompoundReader reader(weir::ByteSpan(data, size));
    for (rtcp::PacketView packet; reader.next(packet);) {
        uint64_t sum = 0;
        if (const auto report = rtcp::parse_sender_report(packet)) {
            sum += report->blocks.size() + report->blocks.find(1).has_value();
        }
        if (const auto report = rtcp::parse_receiver_report(packet)) {
            sum += report->blocks.find(2).has_value();
        }
        sum += rtcp::find_cname(packet, 1).size() + rtcp::says_bye(packet, 1);
        sum += rtcp::parse_picture_loss(packet).has_value();
        sum += rtcp::find_full_intra_request(packet, 1).has_value();
        sum += rtcp::parse_bitrate_limit(packet).has_value();
        if (const auto nack = rtcp::parse_nack(packet)) {
            nack->for_each_lost([&](uint16_t sequence) { sum += sequence; });
        }
        if (const auto feedback = rtcp::TransportFeedbackView::parse(packet)) {
            check_transport_feedback(*feedback);
        }
        WEIR_CHECK(sum < UINT32_MAX);
    }
    return 0;
}
