#include "session/sip/sip_ingest.h"

#include <algorithm>
#include <utility>

namespace weir::session {
namespace {

using media::Codec;

constexpr uint32_t kSpeechRate = 16'000;  // 8,000 is too little for some players of AAC
constexpr int64_t kSpeechBps = 32'000;
constexpr uint32_t kFullRate = 48'000;
constexpr int64_t kFullBps = 64'000;

std::optional<net::DerivedAacOptions> aac_of(const std::vector<net::RtpIngestTrack>& tracks,
                                             const io::WorkerPool* workers) {
    const auto audio =
        std::ranges::find(tracks, media::TrackKind::kAudio, &net::RtpIngestTrack::kind);
    return workers == nullptr || audio == tracks.end()
               ? std::nullopt
               : telephone_aac(audio->codec, audio->clock_hz);
}

net::RtpIngestOptions ingest_options(uint32_t local_ssrc, bool with_aac) {
    net::RtpIngestOptions options;
    options.local_ssrc = local_ssrc;
    options.audio_audience = with_aac ? media::Audience::kAllButMpeg : media::Audience::kEverybody;
    return options;
}

}  // namespace

std::optional<net::DerivedAacOptions> telephone_aac(Codec codec, uint32_t clock_hz) {
    if (codec == Codec::kAac) {
        return std::nullopt;
    }
    const bool full = codec == Codec::kOpus;
    return net::DerivedAacOptions{.from = codec,
                                  .from_rate = codec == Codec::kSpeex ? clock_hz : 0,
                                  .rate = full ? kFullRate : kSpeechRate,
                                  .channels = 1,
                                  .bits_per_second = full ? kFullBps : kSpeechBps,
                                  .of = media::Audience::kAllButMpeg,
                                  .to = media::Audience::kMpeg};
}

SipIngest::SipIngest(stream::Stream& stream,
                     const stream::Publisher& publisher,
                     std::vector<net::RtpIngestTrack> tracks,
                     uint32_t local_ssrc,
                     io::WorkerPool* workers)
    : SipIngest(stream, publisher, tracks, local_ssrc, workers, aac_of(tracks, workers)) {}

SipIngest::SipIngest(stream::Stream& stream,
                     const stream::Publisher& publisher,
                     std::vector<net::RtpIngestTrack> tracks,
                     uint32_t local_ssrc,
                     io::WorkerPool* workers,
                     const std::optional<net::DerivedAacOptions>& aac)
    : RtpIngest(stream, publisher, std::move(tracks), ingest_options(local_ssrc, aac.has_value())) {
    if (aac) {
        aac_.emplace(stream, publisher, *workers, *aac);
    }
}

void SipIngest::on_audio_frame(const Source& /*source*/, const media::PacketRef& packet) {
    if (aac_) {
        aac_->on_audio(packet);
    }
}

}  // namespace weir::session
