#include "net/rtp/derived_aac.h"

#include <vector>

#include "media/aac.h"
#include "proto/flv/packet_maker.h"
#include "stream/publisher.h"
#include "stream/stream.h"

namespace weir::net {
namespace {

constexpr uint32_t kSpeechRate = 16'000;  // 8,000 is too little for some players of AAC
constexpr int64_t kSpeechBps = 32'000;
constexpr uint32_t kFullRate = 48'000;
constexpr int64_t kFullBps = 64'000;

}  // namespace

std::optional<DerivedAacOptions> telephone_aac(media::Codec codec, uint32_t clock_hz) {
    if (codec == media::Codec::kAac) {
        return std::nullopt;
    }
    const bool full = codec == media::Codec::kOpus;
    return DerivedAacOptions{.from = codec,
                             .from_rate = codec == media::Codec::kSpeex ? clock_hz : 0,
                             .rate = full ? kFullRate : kSpeechRate,
                             .channels = 1,
                             .bits_per_second = full ? kFullBps : kSpeechBps,
                             .of = media::Audience::kAllButMpeg,
                             .to = media::Audience::kMpeg};
}

DerivedAac::DerivedAac(stream::Stream& stream,
                       const stream::Publisher& publisher,
                       io::WorkerPool& workers,
                       const DerivedAacOptions& options)
    : stream_(stream), publisher_(publisher), workers_(workers), options_(options) {}

void DerivedAac::announce(int64_t time_ms) {
    publish(media::aac::build_lc_config(options_.rate, options_.channels), true, time_ms);
}

void DerivedAac::on_sink() {
    if (bridge_ || !stream_.has_audience(options_.to)) {
        return;
    }
    const std::vector<media::PacketRef> kept = stream_.kept_audio(options_.of);
    if (!kept.empty()) {
        on_audio(kept.back());
    }
}

void DerivedAac::on_audio(const media::PacketRef& packet) {
    if (!stream_.has_audience(options_.to)) {
        bridge_.reset();
        return;
    }
    if (!bridge_) {
        begin(packet);
    }
    bridge_->push(packet);
}

void DerivedAac::begin(const media::PacketRef& packet) {
    announce(packet->time_ms());
    transcode::AudioOptions options;
    options.from = options_.from;
    options.from_rate = options_.from_rate;
    options.to = media::Codec::kAac;
    options.to_rate = options_.rate;
    options.to_channels = options_.channels;
    options.bits_per_second = options_.bits_per_second;
    bridge_ = std::make_unique<AudioBridge>(
        workers_, options, stream_.key().to_string(),
        [this](ByteSpan frame, int64_t time_us) { on_made(frame, time_us / 1000); });
    const std::vector<media::PacketRef> made = stream_.kept_audio(options_.to);
    for (const media::PacketRef& kept : stream_.kept_audio(options_.of)) {
        const bool is_made = !made.empty() && kept->time_ms() <= made.back()->time_ms();
        if (!is_made && kept != packet) {
            bridge_->push(kept);
        }
    }
}

// What a bridge makes first may overlap with what the one before it has made.
void DerivedAac::on_made(ByteSpan frame, int64_t time_ms) {
    constexpr int64_t kMostOverlap = 200;
    if (last_ms_ && time_ms <= *last_ms_ && time_ms > *last_ms_ - kMostOverlap) {
        return;
    }
    last_ms_ = time_ms;
    publish(frame, false, time_ms);
}

void DerivedAac::publish(ByteSpan frame, bool config, int64_t time_ms) {
    media::PacketInfo info;
    info.kind = media::TrackKind::kAudio;
    info.codec = media::Codec::kAac;
    info.config = config;
    info.audience = options_.to;
    if (auto packet = flv::make_packet(info, time_ms, frame)) {
        stream_.publish_derived(publisher_, std::move(packet), MonoClock::now());
    }
}

}  // namespace weir::net
