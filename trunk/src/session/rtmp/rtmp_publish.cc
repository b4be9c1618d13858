// What a connection publishes: from its media to its end.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "base/log.h"
#include "base/plant.h"
#include "net/limits.h"
#include "proto/flv/metadata.h"
#include "proto/flv/split_tracks.h"
#include "proto/flv/tag.h"
#include "session/rtmp/rtmp_connection.h"
#include "session/rtmp/rtmp_server.h"
#include "stream/registry.h"

namespace weir::session {

#if WEIR_PLANTS
// A container that is never cleared: reachable, so no tool calls it lost.
[[gnu::noinline]] static void grow_a_container_per_frame(size_t frame_bytes) {
    static std::vector<std::unique_ptr<std::array<size_t, 16>>> history;
    history.push_back(std::make_unique<std::array<size_t, 16>>());
    history.back()->fill(frame_bytes);
}
#endif

std::string RtmpPublish::describe() const {
    return fmt::format("client {} from {}", connection_.client_->id(), connection_.client_->ip());
}

std::string_view RtmpPublish::client_id() const {
    return connection_.client_->id();
}

std::string_view RtmpPublish::client_ip() const {
    return connection_.client_->ip();
}

void RtmpPublish::on_taken_over() {
    connection_.session_.reject(stream_id_, rtmp::status::kPublishBadName,
                                "Another publisher took over this stream.");
    connection_.end_by(net::EndClass::kReplaced, "another publisher took the stream over");
}

bool RtmpPublish::publish(rtmp::MediaMessage&& message, MonoTime now) {
    if (!rate_.take(now, message.body.size())) {
        return false;
    }
    last_media_ = now;
    seen_media_ = true;
    WEIR_PLANT("grow-container", grow_a_container_per_frame(message.body.size()));
    publish_body(message.kind, message.timestamp, std::move(message.body), now);
    if (stream_.configs_dropped() > 0 && !told_of_dropped_) {
        told_of_dropped_ = true;
        connection_.server_.log_dropped_config(stream_.key());
    }
    return true;
}

void RtmpPublish::publish_body(media::TrackKind kind,
                               uint32_t timestamp,
                               Bytes body,
                               MonoTime now) {
    const auto info = flv::parse_tag_body(kind, body);
    if (!info) {
        return;
    }
    std::vector<Bytes> tracks = flv::split_audio_tracks(*info, body);
    for (Bytes& each : tracks) {
        publish_body(kind, timestamp, std::move(each), now);
    }
    if (!tracks.empty()) {
        return;
    }
    if (info->metadata && info->kind == media::TrackKind::kData) {
        stream_.describe(*this, flv::parse_metadata(body));
    }
    stream_.publish(*this, make_ref<media::MediaPacket>(*info, timestamp, std::move(body)), now);
}

Error RtmpConnection::handle_media(rtmp::Event& event) {
    for (const auto& publish : publishes_) {
        if (publish->stream_id() != event.stream_id) {
            continue;
        }
        if (publish->publish(std::move(event.media()), MonoClock::now())) {
            return {};
        }
        server_.services().limits.count(net::Refusal::kPublishBitrate);
        Error why = make_error(
            ErrorCode::kDenied,
            "the publisher sends more than {} kbit/s (max_publish_bitrate): lower the encoder's "
            "bit rate",
            publish->rules().max_bits_per_second / 1000);
        session_.reject(event.stream_id, rtmp::status::kPublishDenied, why.message());
        return why;
    }
    return {};
}

void RtmpConnection::end_publish(uint32_t stream_id, net::EndClass why, std::string_view detail) {
    auto found = std::ranges::find_if(
        publishes_, [&](const auto& publish) { return publish->stream_id() == stream_id; });
    if (found == publishes_.end()) {
        return;
    }
    stream::Stream& target = (*found)->stream();
    if (client_->turns <= net::kToldTurns) {
        log::info("unpublish stream={}", log::token(target.key().to_string()));
    }
    target.end_publish(**found, MonoClock::now());
    (*found)->ticket.end(*client_, why, detail);
    publishes_.erase(found);
    server_.services().registry.release(target);
    phase_since_ = MonoClock::now();
}

}  // namespace weir::session
