// One RTSP connection as a conversation: requests, publishing. Runs in a coroutine of the server.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/object_count.h"
#include "io/tcp.h"
#include "net/admission.h"
#include "net/client_probe.h"
#include "net/ingress.h"
#include "net/services.h"
#include "proto/rtsp/connection_reader.h"
#include "session/rtsp/rtsp_auth.h"
#include "session/rtsp/rtsp_publish.h"
#include "session/rtsp/rtsp_session.h"
#include "session/rtsp/rtsp_target.h"
#include "session/rtsp/rtsp_tracks.h"
#include "session/rtsp/rtsp_udp_player.h"
#include "session/rtsp/rtsp_vod.h"

namespace weir::session {

class RtspServer;

class RtspConnection final : private net::ClientProbe, private Counted<RtspConnection> {
  public:
    // From its first byte until it has ended or plays.
    static constexpr ObjectName kObjectName{"rtsp_connection", "rtsp"};

    // Of a new connection, accepted at `since`, or of one that stopped playing.
    RtspConnection(RtspServer& server,
                   std::unique_ptr<io::TcpStream> stream,
                   std::unique_ptr<net::Client> client,
                   MonoTime since);
    ~RtspConnection();
    RtspConnection(const RtspConnection&) = delete;
    RtspConnection& operator=(const RtspConnection&) = delete;

    // Yields. Until the connection has ended or was handed over to its pump. `ingress`: what comes
    // before RTSP; null: nothing.
    void run(const net::Ingress* ingress);

    // The same for one whose session has ended by TEARDOWN; `unread` came behind that.
    void run_again(rtsp::ConnectionReader reader, Bytes unread);

    // Ends what is left of it, with the summary line; run() does so itself.
    void close(Error why);

  private:
    enum class Next : uint8_t { kGoOn, kHandedOver };

    const io::TcpStream* tcp() const override { return stream_.get(); }

    std::optional<net::LagFacts> lag_facts() const override {
        return vod_ ? std::optional(vod_->lag_facts()) : std::nullopt;
    }

    // ---- the conversation ----

    Result<Next> converse();
    Result<Next> hear_more();
    Result<Next> hear_in_turns();
    Result<Next> hear_beside_recording();
    Result<Next> hear(ByteSpan bytes);
    Result<bool> take_in(ByteSpan& bytes);
    Error refuse_broken();
    MonoTime deadline() const;
    Error explain_timeout() const;
    Error send(const rtsp::Response& answer);
    Error send_bytes(ByteSpan bytes);
    void end_by(net::EndClass why, std::string detail);

    // Yields. A tunnel: of the GET, until it ends.
    Result<Next> handle_http();
    bool move_to_its_tunnel(std::string_view cookie);
    bool move_to(uint32_t process, std::string_view text);

    // ---- requests ----

    Result<Next> obey(const rtsp::Request& request);
    bool move_to_its_stream(const rtsp::Request& request);
    Error answer(const rtsp::Request& request, int status);
    Error refuse(const rtsp::Request& request, int status, std::string_view why);
    Error handle_options(const rtsp::Request& request);
    Error handle_describe(const rtsp::Request& request);
    Error handle_setup(const rtsp::Request& request);
    Error handle_player_setup(const rtsp::Request& request, const RtspTarget& target);
    Error answer_setup(const rtsp::Request& request, const rtsp::Transport& transport);
    // What of the offers can be, in their order; none: it was answered. `index`: of the track.
    Result<std::optional<rtsp::Transport>> choose_transport(const rtsp::Request& request,
                                                            size_t index,
                                                            std::unique_ptr<RtspUdpTrack>& udp);
    // Why SRTP is not possible here; empty: it is.
    std::string_view why_no_srtp() const;
    // Of its KeyMgmt field; nothing: it has none that is understood.
    std::optional<RtspSrtpKey> key_of_setup(const rtsp::Request& request) const;
    rtsp::ChannelPair take_channels(uint8_t track, std::optional<rtsp::ChannelPair> wanted);
    Error play_by_udp(const rtsp::Request& request, const net::PlayRules& rules);
    Error handle_publisher_setup(const rtsp::Request& request);
    Result<Next> handle_play(const rtsp::Request& request);
    Error handle_announce(const rtsp::Request& request);
    Error handle_record(const rtsp::Request& request);
    Error handle_teardown(const rtsp::Request& request);
    Error handle_parameter(const rtsp::Request& request);

    // ---- who it is, and what it may ----

    // Takes what the request names, and who asks. False: it was answered.
    Result<bool> begin_request(const rtsp::Request& request, bool publishes, RtspTarget& target);
    net::AccessRequest access() const;
    net::NewcomerView newcomer();
    Error refuse_access(const rtsp::Request& request, bool publishes, Error why);
    Error refuse_question(const rtsp::Request& request, bool publishes, Error why);
    // Yields. The tracks of the stream; false: it was answered.
    Result<bool> look_at(const rtsp::Request& request, const net::PlayRules& rules);
    void end_session();

    // ---- recordings ----

    // Yields. The recording that the target names, where it names one: then its key is that of the
    // stream. False: it was answered.
    Result<bool> find_recording(const rtsp::Request& request, RtspTarget& target);
    // Yields. As look_at().
    Result<bool> look_at_recording(const rtsp::Request& request);
    // Yields. A PLAY of one: the first, or while it plays.
    Error play_recording(const rtsp::Request& request, const std::optional<rtsp::Range>& range);
    Error begin_recording(const rtsp::Request& request);
    Error handle_pause(const rtsp::Request& request);
    // Yields, to send what is left of it.
    Error stop_recording();

    // ---- publishing ----

    Result<bool> take_frame(const rtsp::FrameView& frame);
    void end_publish(net::EndClass why, std::string_view detail);

    RtspServer& server_;
    std::unique_ptr<io::TcpStream> stream_;
    std::unique_ptr<net::Client> client_;
    rtsp::ConnectionReader reader_;
    Bytes unread_;  // behind the request that is being obeyed
    RtspTarget target_;
    bool plays_recording_ = false;                  // target_ is one
    std::unique_ptr<net::VodRecording> recording_;  // that was found last, and is not open
    RtspLogin login_;                               // for target_.key and
    bool publishes_ = false;                        // that action
    bool stale_ = false;                            // the nonce that was shown last
    RtspSession session_;
    // Of a player; without both its media goes through the connection.
    RtspUdpTracks udp_;
    std::shared_ptr<RtspGroup> group_;        // by multicast
    std::optional<RtspSrtpKey> key_;          // of a player, that is in described_
    RtspSrtpSender::ReportKeys report_keys_;  // of a player, that its SETUPs said
    std::string described_;                   // SDP of the stream; empty: not looked at yet
    RtspTerms terms_{};                       // of the stream, as described
    std::array<bool, RtspNumbers::kTracks> has_track_{};
    std::vector<RtspAnnounced> announced_;  // empty: it is no publisher
    std::unique_ptr<RtspPublish> publish_;
    std::unique_ptr<RtspVod> vod_;  // a recording that plays, or has paused
    MonoTime phase_since_;
    bool placed_;  // it is in the process where it should be
    net::EndClass ended_why_ = net::EndClass::kPeerClosed;
    std::string ended_by_;  // kick, takeover: why, where the error does not say it; or empty
    uint32_t refusals_ = 0;
    bool http_ = false;  // a head of HTTP has come
};

}  // namespace weir::session
