#include "session/webrtc/whep_client.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/address_reach.h"
#include "net/source/run_publisher.h"
#include "proto/ice/candidate.h"
#include "proto/rtcp/packet.h"

namespace weir::session {
namespace {

constexpr size_t kRtcpBuffer = 1200;
constexpr std::string_view kCandidate = "candidate:";

}  // namespace

class WhepClient::Ingest final : public RtcIngest {
  public:
    Ingest(net::SourceRun& run,
           stream::Stream& stream,
           const sdp::Answer& answer,
           const RtcIngestOptions& options)
        : RtcIngest(stream, run.publisher(), answer, options), output_(run) {}

    // Why nothing is published any more.
    Error& failure() { return output_.failure(); }

    bool knows(uint32_t ssrc) const {
        return std::ranges::any_of(sources(),
                                   [ssrc](const auto& source) { return source->ssrc == ssrc; });
    }

  private:
    media::PacketRef publish(MonoTime, Ref<media::MediaPacket> packet) override {
        media::PacketRef published = output_.publish(std::move(packet));
        if (!published) {
            count_dropped();
        }
        return published;
    }

    net::RunPublisher output_;
};

WhepClient::WhepClient(const webrtc::ClientShared& shared,
                       webrtc::ClientLink& link,
                       net::SourceRun& run,
                       const RtcIngestOptions& options)
    : ClientTransport(shared, link), run_(run), options_(options) {
    options_.local_ssrc = random_u32(shared.random) | 1U;
}

WhepClient::~WhepClient() = default;

std::string WhepClient::offer(const NetAddress& address) {
    offer_.ice_ufrag = credentials().ufrag_text();
    offer_.ice_pwd = credentials().password_text();
    const auto& sha256 = identity().fingerprint().sha256;
    offer_.fingerprint = {"sha-256", {sha256.begin(), sha256.end()}};
    offer_.session_id = fmt::format("{}", random_u32(random()));
    offer_.mid = true;
    offer_.candidates.clear();
    for (const ice::Candidate& each : ice::make_host_candidates({&address, 1}, {})) {
        offer_.candidates.push_back(each.to_text().substr(kCandidate.size()));
    }
    return offer_.write();
}

// Private addresses are usual there, and an ICE check is all that they get. But a server elsewhere
// has no service on this host or its link, and none at a group.
Error WhepClient::take_answer(std::string_view text, const NetAddress& server) {
    WEIR_TRY_ASSIGN(answer_, sdp::read_answer(text, offer_));
    servers_ = addresses_of(answer_.remote);
    std::erase_if(servers_, [from = reach_of(server)](const NetAddress& each) {
        const AddressReach reach = reach_of(each);
        return reach == AddressReach::kNone || (reach < AddressReach::kSite && reach != from);
    });
    if (servers_.empty()) {
        return make_error(ErrorCode::kUnsupported,
                          "the answer has no candidate with an address and UDP; others are not "
                          "tried");
    }
    return {};
}

void WhepClient::begin(Micros timeout, MonoTime now) {
    start(answer_.remote, servers_, timeout, now);
}

void WhepClient::request_key_frame() {
    if (ingest_) {
        ingest_->request_key_frame();
    }
}

void WhepClient::on_sink() {
    if (ingest_) {
        ingest_->on_sink();
    }
}

// ---- media ----

void WhepClient::on_connected(MonoTime) {
    run_.connected();
    Result<stream::Stream*> stream = run_.begin();
    if (!stream.ok()) {
        fail(stream.take_error());
        return;
    }
    ingest_ = std::make_unique<Ingest>(run_, **stream, answer_, options_);
}

// False: the stream is another publisher's, who may have ended it already.
bool WhepClient::publishes() {
    if (over() || !ingest_) {
        return false;
    }
    Result<stream::Stream*> stream = run_.begin();
    if (!stream.ok()) {
        fail(stream.take_error());
    }
    return !over();
}

void WhepClient::on_rtp(MonoTime now, ByteSpan packet) {
    if (!publishes()) {
        return;
    }
    ingest_->on_rtp(now, packet);
    if (ingest_->failure()) {
        fail(std::move(ingest_->failure()));
    }
}

// RFC 3550 §6.6
bool WhepClient::is_goodbye(const rtcp::PacketView& packet) const {
    ByteReader reader(packet.body);
    for (uint8_t i = 0; packet.type == rtcp::PacketType::kBye && i < packet.count; i++) {
        if (ingest_->knows(reader.u32()) && reader.ok()) {
            return true;
        }
    }
    return false;
}

void WhepClient::on_rtcp(MonoTime now, ByteSpan compound) {
    rtcp::PacketView packet;
    for (rtcp::CompoundReader reader(compound); publishes() && reader.next(packet);) {
        ingest_->on_rtcp(now, packet);
        if (is_goodbye(packet)) {
            fail(make_error(ErrorCode::kClosed, "the server's stream ended (RTCP BYE)"));
        }
    }
}

void WhepClient::on_timeout(MonoTime now) {
    if (!publishes()) {
        return;
    }
    ingest_->handle_timeout(now);
    std::array<uint8_t, kRtcpBuffer> buffer;
    const std::span<uint8_t> room = std::span(buffer).first(kRtcpBuffer - srtp::kMaxOverhead);
    while (const size_t size = ingest_->poll_transmit(now, room)) {
        send_rtcp(buffer, size);
    }
    if (ingest_->failure()) {
        fail(std::move(ingest_->failure()));
    }
}

MonoTime WhepClient::next_media_timeout() const {
    return ingest_ ? ingest_->next_timeout().value_or(MonoTime::max()) : MonoTime::max();
}

}  // namespace weir::session
