#include "session/rtsp/rtsp_group.h"

#include <algorithm>

#include "session/rtsp/rtsp_udp_player.h"
#include "session/rtsp/rtsp_udp_pump.h"
#include "stream/stream.h"

namespace weir::session {

namespace {

uint16_t port_of(const RtspMulticastOptions& options, uint8_t track, RtspUdpTrack::Way way) {
    return static_cast<uint16_t>(options.port + (track == net::kRtpVideoTrack ? 0 : 2) + way);
}

}  // namespace

Result<std::shared_ptr<RtspGroup>> RtspGroup::create(RtspUdpPump& pump,
                                                     RtspUdp& udp,
                                                     const NetAddress& address,
                                                     const NetAddress& local,
                                                     const RtspMulticastOptions& options) {
    const NetAddress from = local.is_v4() ? local : NetAddress::from_v4({0, 0, 0, 0}, 0);
    Ports ports{};
    for (const uint8_t track : {net::kRtpAudioTrack, net::kRtpVideoTrack}) {
        for (const RtspUdpTrack::Way way : {RtspUdpTrack::kRtp, RtspUdpTrack::kRtcp}) {
            WEIR_TRY_ASSIGN(ports[track][way],
                            udp.group_port(from.with_port(port_of(options, track, way))));
        }
    }
    return std::make_shared<RtspGroup>(pump, ports, address, options);
}

RtspGroup::RtspGroup(RtspUdpPump& pump,
                     const Ports& ports,
                     const NetAddress& address,
                     const RtspMulticastOptions& options)
    : pump_(pump), ports_(ports), address_(address), options_(options), sender_(pump.writer()) {
    pump_.hold();
}

RtspGroup::~RtspGroup() {
    pump_.remove(*this);
    sender_.leave();
    pump_.release();
}

const stream::Stream& RtspGroup::stream() const {
    return pump_.stream();
}

io::UdpPath RtspGroup::path_of(uint8_t track, RtspUdpTrack::Way way) const {
    return {address_.with_port(port_of(options_, track, way)), {}};
}

rtsp::Transport RtspGroup::transport(uint8_t track) const {
    rtsp::Transport out;
    out.multicast = true;
    out.destination = address_.ip_text();
    out.port = rtsp::PortPair{port_of(options_, track, RtspUdpTrack::kRtp),
                              port_of(options_, track, RtspUdpTrack::kRtcp)};
    out.ttl = options_.ttl;
    out.ssrc = pump_.writer().numbers().ssrc(track);
    return out;
}

// The first one who plays starts it, at the newest key frame; the others come when it runs.
void RtspGroup::add(RtspUdpPlayer& member) {
    if (members_.empty()) {
        sender_.place();
        pump_.add(*this);
    }
    members_.push_back(&member);
}

void RtspGroup::remove(RtspUdpPlayer& member) {
    std::erase(members_, &member);
    if (members_.empty()) {
        pump_.remove(*this);
        sender_.leave();
    }
}

net::RtpFlush RtspGroup::flush(MonoTime now, size_t most_runs) {
    if (edition_ != pump_.writer().edition()) {
        edition_ = pump_.writer().edition();
        pump_.look_soon();
        return net::RtpFlush::kCaughtUp;
    }
    return sender_.flush(
        now, most_runs, [this](const stream::RtpRun& run) -> std::optional<io::IoStatus> {
            if (run.track >= RtspNumbers::kTracks) {
                return std::nullopt;
            }
            pump_.stream().note_sent(run.size_bytes);
            return ports_[run.track][RtspUdpTrack::kRtp]
                ->send(path_of(run.track, RtspUdpTrack::kRtp), {run.data.get(), run.size_bytes},
                       run.packets > 1 ? run.packet_bytes : 0)
                .status;
        });
}

net::RtpPlayer::Fate RtspGroup::look(MonoTime now) {
    if (now >= next_report_) {
        next_report_ = now + RtspNumbers::kLogReportInterval;
        std::array<uint8_t, RtspNumbers::kMaxReport> report;
        for (uint8_t track = 0; track < RtspNumbers::kTracks; track++) {
            const size_t size = pump_.writer().numbers().write_report(track, now, report);
            if (size > 0) {
                (void)ports_[track][RtspUdpTrack::kRtcp]->send(path_of(track, RtspUdpTrack::kRtcp),
                                                               {report.data(), size});
            }
        }
    }
    for (size_t i = members_.size(); i > 0; i--) {
        if (i <= members_.size()) {
            members_[i - 1]->look_at_silence(now);
        }
    }
    return {};
}

void RtspGroup::end_playing(net::EndClass why, std::string_view reason) {
    while (!members_.empty()) {
        members_.back()->end(why, reason);
    }
}

}  // namespace weir::session
