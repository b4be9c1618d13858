// What a server sends by WHEP, above its transport: a client of WebRTC whose media an RtcIngest
// takes, as that of a publisher. No socket; nothing here yields.
//
//   offer() -> take_answer() -> begin() -> [connected: the stream is published] -> over
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/object_count.h"
#include "net/source/source_run.h"
#include "proto/sdp/client_offer.h"
#include "proto/webrtc/client_transport.h"
#include "session/webrtc/rtc_ingest.h"

namespace weir::session {

class WhepClient final : public webrtc::ClientTransport, private Counted<WhepClient> {
  public:
    static constexpr ObjectName kObjectName{"whep_client", "webrtc"};

    // All must outlive it.
    WhepClient(const webrtc::ClientShared& shared,
               webrtc::ClientLink& link,
               net::SourceRun& run,
               const RtcIngestOptions& options);
    ~WhepClient() override;

    // `address`: where the server may find us.
    std::string offer(const NetAddress& address);

    // `server`: where the answer came from. kMalformed, kLimit, kUnsupported: what the operator has
    // to hear of it.
    Error take_answer(std::string_view text, const NetAddress& server);

    // After take_answer(). `timeout`: to the keys.
    void begin(Micros timeout, MonoTime now);

    void request_key_frame();

    // As stream::Publisher has it.
    void on_sink();

  private:
    // Into the source's stream, by the source's rules.
    class Ingest;

    void on_connected(MonoTime now) override;
    void on_rtp(MonoTime now, ByteSpan packet) override;
    void on_rtcp(MonoTime now, ByteSpan compound) override;
    void on_timeout(MonoTime now) override;
    MonoTime next_media_timeout() const override;

    bool publishes();
    bool is_goodbye(const rtcp::PacketView& packet) const;

    net::SourceRun& run_;
    RtcIngestOptions options_;
    sdp::ClientOffer offer_;
    sdp::Answer answer_;
    std::vector<NetAddress> servers_;
    std::unique_ptr<Ingest> ingest_;  // from on_connected() on
};

}  // namespace weir::session
