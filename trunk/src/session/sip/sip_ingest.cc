#include "session/sip/sip_ingest.h"

#include <algorithm>
#include <utility>

namespace weir::session {
namespace {

std::optional<net::DerivedAacOptions> aac_of(const std::vector<net::RtpIngestTrack>& tracks,
                                             const io::WorkerPool* workers) {
    const auto audio =
        std::ranges::find(tracks, media::TrackKind::kAudio, &net::RtpIngestTrack::kind);
    return workers == nullptr || audio == tracks.end()
               ? std::nullopt
               : net::telephone_aac(audio->codec, audio->clock_hz);
}

net::RtpIngestOptions ingest_options(uint32_t local_ssrc, bool with_aac) {
    net::RtpIngestOptions options;
    options.local_ssrc = local_ssrc;
    options.audio_audience = with_aac ? media::Audience::kAllButMpeg : media::Audience::kEverybody;
    return options;
}

}  // namespace

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
