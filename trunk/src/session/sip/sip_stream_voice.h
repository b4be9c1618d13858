// The audio of a telephone on its way to its stream, where that does not take the phone's packets
// as they come: a SipVoice whose frames are RTP packets again, for the ingest of the call, and the
// reports that the phone gets about its own. Never yields.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "net/rtp/rtp_ingest.h"
#include "proto/rtcp/packet.h"
#include "proto/rtp/header.h"
#include "proto/sdp/phone.h"
#include "session/sip/sip_reception.h"
#include "session/sip/sip_voice.h"

namespace weir::session {

class SipStreamVoice {
  public:
    using Output = std::function<void(MonoTime now, ByteSpan packet)>;

    // Whether what the phone says has to come this way: other protocols do not carry its codec.
    static bool needed(media::Codec codec) { return codec == media::Codec::kG722; }

    // What the ingest has to expect in the place of `agreed`.
    static net::RtpIngestTrack track_of(const sdp::PhoneTrack& agreed);

    SipStreamVoice(const sdp::PhoneTrack& agreed,
                   io::WorkerPool* workers,
                   std::string name,
                   Output out);

    void on_packet(MonoTime now,
                   const rtp::PacketView& packet,
                   rtp::PlayoutPacketView::Content content);

    // A packet of a compound.
    void on_rtcp(MonoTime now, const rtcp::PacketView& packet) { reception_.on_rtcp(now, packet); }

    void tick(MonoTime now) { voice_.tick(now); }

    // A receiver report of `local_ssrc`, when it is due; the size of what was written.
    size_t report(MonoTime now, uint32_t local_ssrc, std::span<uint8_t> out);

    const rtp::PlayoutStats& stats() const { return voice_.stats(); }

  private:
    void on_frame(MonoTime now, ByteSpan frame, uint32_t skipped);

    VoiceOptions options_;
    uint8_t payload_type_;
    Output out_;
    uint32_t ssrc_;
    uint16_t sequence_ = 0;
    uint32_t time_ = 0;       // of the next frame
    SipReception reception_;  // of the phone's own packets
    SipVoice voice_;          // last: it calls on_frame()
};

}  // namespace weir::session
