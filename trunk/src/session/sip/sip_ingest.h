// What a phone says as packets of a stream: an RtpIngest, and beside the codecs of telephones AAC
// for players who need that (HTTP-TS, HLS, SRT), while there are any.
#pragma once

#include <optional>
#include <vector>

#include "io/worker_pool.h"
#include "net/rtp/derived_aac.h"
#include "net/rtp/rtp_ingest.h"

namespace weir::session {

class SipIngest final : public net::RtpIngest {
  public:
    // As RtpIngest. `workers` may be null: then such players have no audio.
    SipIngest(stream::Stream& stream,
              const stream::Publisher& publisher,
              std::vector<net::RtpIngestTrack> tracks,
              uint32_t local_ssrc,
              io::WorkerPool* workers);

    // As stream::Publisher has it.
    void on_sink() {
        if (aac_) {
            aac_->on_sink();
        }
    }

  private:
    SipIngest(stream::Stream& stream,
              const stream::Publisher& publisher,
              std::vector<net::RtpIngestTrack> tracks,
              uint32_t local_ssrc,
              io::WorkerPool* workers,
              const std::optional<net::DerivedAacOptions>& aac);

    void on_audio_frame(const Source& source, const media::PacketRef& packet) override;

    std::optional<net::DerivedAac> aac_;
};

}  // namespace weir::session
