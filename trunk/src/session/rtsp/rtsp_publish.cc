#include "session/rtsp/rtsp_publish.h"

#include "proto/rtcp/packet.h"
#include "proto/rtp/header.h"
#include "session/rtsp/rtsp_ingest_track.h"

namespace weir::session {
namespace {

constexpr size_t kMaxReports = 1200 + srtp::kMaxOverhead;

}  // namespace

std::string RtspPublish::describe() const {
    return fmt::format("client {} from {}", client_.id(), client_.ip());
}

RtspPublish::~RtspPublish() {
    for (size_t i = 0; tracks_ != nullptr && i < tracks_->size(); i++) {
        if ((*tracks_)[i].udp) {
            (*tracks_)[i].udp->set_owner(nullptr);
        }
    }
}

Error RtspPublish::begin(const std::vector<RtspAnnounced>& tracks, srtp::ControlCipher& control) {
    srtp_.clear();
    for (const RtspAnnounced& announced : tracks) {
        srtp_.emplace_back();
        if (announced.key) {
            WEIR_TRY_ASSIGN(srtp_.back(), RtspSrtpReceiver::create(*announced.key, control));
        }
    }
    tracks_ = &tracks;
    for (const RtspAnnounced& announced : tracks) {
        if (announced.udp) {
            announced.udp->set_owner(this);
        }
    }
    std::vector<RtspIncoming> incoming;
    places_.assign(tracks.size(), std::nullopt);
    for (const size_t index : choose_announced_tracks(tracks)) {
        places_[index] = incoming.size();
        incoming.push_back(rtsp_incoming(tracks[index].track));
    }
    stream_.describe(*this, number_rtsp_tracks(incoming));
    std::vector<net::RtpIngestTrack> list;
    for (RtspIncoming& each : incoming) {
        list.push_back(std::move(each.setup));
    }
    net::RtpIngestOptions options;
    options.b_frames = true;
    options.doubt_markers = true;
    ingest_ = std::make_unique<net::RtpIngest>(stream_, *this, std::move(list), options);
    return {};
}

bool RtspPublish::on_rtp(MonoTime now, ByteSpan packet, size_t track) {
    if (!rate_.take(now, packet.size())) {
        return false;
    }
    if (srtp_[track]) {
        packet = srtp_[track]->open_rtp(packet);
    }
    if (places_[track] && !packet.empty()) {
        ingest_->on_rtp(now, packet, places_[track]);
    }
    return true;
}

void RtspPublish::on_rtcp(MonoTime now, ByteSpan compound, size_t track) {
    if (srtp_[track]) {
        compound = srtp_[track]->open_rtcp(compound);
    }
    rtcp::PacketView packet;
    for (rtcp::CompoundReader reader(compound); reader.next(packet);) {
        if (places_[track]) {
            ingest_->on_rtcp(now, packet, places_[track]);
        }
    }
}

// ---- by UDP ----

// Reports are of nobody's own type: they follow from where the packets come.
bool RtspPublish::may_move(MonoTime, size_t track, bool rtp, ByteSpan datagram) const {
    return !rtp || (datagram.size() >= rtp::kFixedHeaderSize &&
                    (datagram[1] & rtp::kMaxPayloadType) == (*tracks_)[track].track.payload_type);
}

void RtspPublish::on_udp_rtp(MonoTime now, size_t track, ByteSpan packet) {
    client_.received_bytes += packet.size();
    if (!on_rtp(now, packet, track)) {
        callbacks_.too_fast();
        return;
    }
    answer_udp(now);
}

void RtspPublish::on_udp_rtcp(MonoTime now, size_t track, ByteSpan compound) {
    client_.received_bytes += compound.size();
    on_rtcp(now, compound, track);
    answer_udp(now);
}

// Receiver reports of all tracks go by the first.
void RtspPublish::answer_udp(MonoTime now) {
    handle_timeout(now);
    std::array<uint8_t, kMaxReports> reports;
    for (size_t i = 0; i < tracks_->size(); i++) {
        const auto& udp = (*tracks_)[i].udp;
        if (!udp) {
            continue;
        }
        while (size_t size = ingest_->poll_transmit(now, reports)) {
            size = srtp_[i] ? srtp_[i]->seal_rtcp(reports, size) : size;
            if (size > 0) {
                (void)udp->send(RtspUdpTrack::kRtcp, {reports.data(), size});
            }
        }
        return;
    }
}

MonoTime RtspPublish::deadline() const {
    return ingest_->last_media() + (seen_media() ? rules_.silent : rules_.first_packet);
}

}  // namespace weir::session
