#include "session/webrtc/rtc_publisher.h"

#include <fmt/format.h>

#include "base/log.h"
#include "net/admission.h"
#include "net/link_facts.h"
#include "session/webrtc/rtc_server.h"
#include "session/webrtc/rtc_session.h"
#include "stream/registry.h"

namespace weir::session {
namespace {

double share(uint64_t part, uint64_t rest) {
    return part + rest == 0 ? 0 : static_cast<double>(part) / static_cast<double>(part + rest);
}

}  // namespace

RtcPublisher::RtcPublisher(RtcSession& session, const net::PublishRules& rules)
    : session_(session), rules_(rules) {
    if (rules_.max_bits_per_second > 0) {
        rate_ = std::make_unique<net::RateGuard>(rules_.max_bits_per_second);
    }
}

void RtcPublisher::begin(MonoTime now, const sdp::Answer& answer) {
    RtcServer& server = session_.server();
    net::Client& client = session_.client();
    stream::Registry& registry = server.services().registry;
    stream::Stream& stream = registry.get_or_create(client.key, rules_.stream, now);
    if (Error busy = stream.start_publish(*this, rules_.conflict, now)) {
        server.log_trouble(
            client, "publish refused",
            log::escaped(std::string(busy.message()) + stream.describe_holder(now), 500));
        registry.release(stream);
        session_.end(net::EndClass::kRefused, "stream is busy");
        return;
    }
    stream_ = &stream;
    RtcIngestOptions options;
    options.key_frame_interval = server.options().key_frame_interval;
    options.workers = server.workers();
    options.aac_bits_per_second = server.options().aac_bits_per_second;
    ingest_ = std::make_unique<RtcIngest>(stream, *this, answer, options);
    net::begin_turn(client, net::ClientRole::kPublisher, client.key, session_.path_text());
}

bool RtcPublisher::takes_rtp(MonoTime now, size_t bytes) {
    if (!rate_ || rate_->take(now, bytes)) {
        return true;
    }
    session_.server().services().limits.count(net::Refusal::kPublishBitrate);
    session_.end(net::EndClass::kRefused,
                 fmt::format("the publisher sends more than {} kbit/s (max_publish_bitrate)",
                             rate_->bits_per_second() / 1000));
    return false;
}

void RtcPublisher::handle_timeout(MonoTime now) {
    ingest_->handle_timeout(now);
    const bool begun = ingest_->has_frames();
    if (now - ingest_->last_media() > (begun ? rules_.silent : rules_.first_packet)) {
        session_.end(net::EndClass::kTimeout, begun ? "publisher silent" : "no media");
    }
}

void RtcPublisher::end(MonoTime now) {
    ingest_.reset();  // audio that a worker is at must not come to a stream that is gone
    if (stream_ != nullptr) {
        stream_->end_publish(*this, now);
        session_.server().services().registry.release(*stream_);
        stream_ = nullptr;
    }
}

void RtcPublisher::add_to(net::LinkFacts& facts) const {
    if (!ingest_) {
        return;
    }
    const rtp::ReceiverCounters counters = ingest_->counters();
    facts.loss = share(counters.lost, counters.packets);
    facts.packets = counters.packets;
    facts.retransmitted = counters.retransmitted;
    facts.lost = counters.lost;
    facts.skipped = ingest_->stats().dropped_frames;
    facts.key_requests = ingest_->stats().key_requests;
}

// ---- as its stream sees it ----

std::string RtcPublisher::describe() const {
    return fmt::format("client {} from {}", session_.client().id(), session_.client().ip());
}

std::string_view RtcPublisher::client_id() const {
    return session_.client().id();
}

std::string_view RtcPublisher::client_ip() const {
    return session_.client().ip();
}

std::string_view RtcPublisher::client_transport() const {
    return session_.client().transport();
}

void RtcPublisher::on_taken_over() {
    stream_ = nullptr;  // the other one holds it: to release it here would delete it under its feet
    session_.end(net::EndClass::kReplaced, "another publisher took the stream over");
}

void RtcPublisher::on_sink() {
    if (ingest_) {  // not while begin() takes the stream
        ingest_->on_sink();
    }
}

void RtcPublisher::on_key_frame_wanted() {
    if (ingest_) {
        ingest_->request_key_frame();
    }
}

void RtcPublisher::on_layer_wanted(uint8_t layer) {
    if (ingest_) {
        ingest_->request_key_frame_of(layer);
    }
}

}  // namespace weir::session
