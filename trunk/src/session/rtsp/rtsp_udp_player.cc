#include "session/rtsp/rtsp_udp_player.h"

#include <algorithm>

#include "base/random.h"
#include "net/link_facts.h"
#include "net/turn_reader.h"
#include "proto/rtcp/packet.h"
#include "proto/rtcp/report.h"
#include "proto/rtp/header.h"
#include "session/rtsp/rtsp_lead_in.h"
#include "session/rtsp/rtsp_server.h"
#include "session/rtsp/rtsp_udp_pump.h"
#include "stream/stream.h"

namespace weir::session {

using net::EndClass;
using net::RtpFlush;

namespace {

constexpr Micros kMaxRtt = Seconds(10);

using ReportBuffer = std::array<uint8_t, RtspNumbers::kMaxReport + srtp::kMaxOverhead>;

}  // namespace

RtspUdpPlayer::RtspUdpPlayer(RtspServer& server, RtspUdpPump& pump, Parts parts)
    : server_(server),
      pump_(pump),
      session_(std::move(parts.session)),
      tracks_(std::move(parts.tracks)),
      reader_(std::move(parts.reader)),
      stream_(std::move(parts.stream)),
      client_(std::move(parts.client)),
      sender_(pump.writer()),
      group_(std::move(parts.group)),
      began_(MonoClock::now()),
      last_heard_(began_),
      next_report_(began_ + RtspNumbers::kReportInterval) {
    pump_.hold();
    reader_.release_message();
    if (parts.key) {
        srtp_ = std::make_unique<RtspSrtpSender>(*parts.key, parts.report_keys,
                                                 server.udp().control(), system_random());
    }
    for (const auto& track : tracks_) {
        if (track) {
            track->set_owner(this);
        }
    }
    client_->probe = this;
    client_->kick = [this] { end(EndClass::kKicked, "kicked by the API"); };
    stream_->set_handler(this);
}

RtspUdpPlayer::~RtspUdpPlayer() {
    leave_pump();
    sender_.leave();
    pump_.release();
}

void RtspUdpPlayer::leave_pump() {
    pump_.remove(*this);
    if (group_) {
        group_->remove(*this);
    }
}

void RtspUdpPlayer::begin(const rtsp::Request& request, ByteSpan unread) {
    if (play(request) && hear(unread) && stream_ && stream_->readable()) {
        on_ready(io::kReadable);
    }
}

// From the start of the log on, with its numbers in the answer. False: it has ended.
bool RtspUdpPlayer::play(const rtsp::Request& request) {
    if (!session_.fits(pump_.writer().terms())) {
        say(answer_to(request, 503));
        end(EndClass::kReplaced, net::kCodecsChangedText);
        return false;
    }
    edition_ = pump_.writer().edition();
    paused_ = false;
    if (!group_) {  // which is somewhere in the stream
        sender_.place();
    }
    lead_in_due_ = tracks_[net::kRtpVideoTrack] && !srtp_ && wants_rtsp_lead_in(request);
    rtsp::Response answer = answer_to(request, 200);
    answer.headers.add("Session", session_.field());
    answer.headers.add("Range", "npt=now-");
    if (sender_.placed() && !(srtp_ && srtp_->begun())) {
        const bool lead_in = lead_in_due_ && !make_rtsp_lead_in(pump_.writer()).empty();
        answer.headers.add("RTP-Info",
                           session_.rtp_info(pump_.writer().numbers(), srtp_.get(), lead_in));
    }
    say(answer);
    if (client_ && group_) {
        group_->remove(*this);
        group_->add(*this);
    } else if (client_) {
        send_reports(MonoClock::now());
        next_report_ = MonoClock::now() + RtspNumbers::kFirstReport;
        pump_.add(*this);
    }
    return client_ != nullptr;
}

// ---- sending ----

RtpFlush RtspUdpPlayer::flush(MonoTime now, size_t most_runs) {
    if (paused_) {
        return RtpFlush::kCaughtUp;
    }
    if (edition_ != pump_.writer().edition()) {
        pump_.look_soon();
        return RtpFlush::kCaughtUp;
    }
    const RtpFlush result = sender_.flush(
        now, most_runs, [&](const stream::RtpRun& run) -> std::optional<io::IoStatus> {
            const std::optional<io::IoStatus> status = send_run(run);
            if (status && *status != io::IoStatus::kWouldBlock) {
                client_->sent_bytes +=
                    by_udp() ? run.size_bytes : uint32_t{0};  // else when written
                pump_.stream().note_sent(run.size_bytes);
                if (client_->first_frame_ms < 0) {
                    client_->first_frame_ms = static_cast<int32_t>(
                        std::chrono::duration_cast<Millis>(now - began_).count());
                }
            }
            return status;
        });
    client_->resyncs = sender_.resyncs();
    return result;
}

// Nothing: the track is not wanted, or cannot be sealed.
std::optional<io::IoStatus> RtspUdpPlayer::send_run(const stream::RtpRun& run) {
    if (run.track >= tracks_.size() || !session_.has[run.track]) {
        return std::nullopt;
    }
    RtspUdpTrack* const track = tracks_[run.track].get();
    const auto& channels = session_.channels[run.track];
    if (track == nullptr && (!srtp_ || !channels)) {
        return std::nullopt;
    }
    if (!srtp_) {
        if (lead_in_due_ && run.track == net::kRtpVideoTrack) {
            lead_in_due_ = false;
            send_lead_in(run);
        }
        return track
            ->send(RtspUdpTrack::kRtp, {run.data.get(), run.size_bytes},
                   run.packets > 1 ? run.packet_bytes : 0)
            .status;
    }
    if (track == nullptr && !answers_.empty()) {
        return io::IoStatus::kWouldBlock;  // on_ready() goes on with them
    }
    const RtspSrtpSender::Sealed sealed = srtp_->seal(run);
    if (sealed.bytes.empty()) {
        return std::nullopt;
    }
    return track == nullptr ? send_frames(*channels, sealed)
                            : track
                                  ->send(RtspUdpTrack::kRtp, sealed.bytes,
                                         run.packets > 1 ? sealed.packet_bytes : 0)
                                  .status;
}

// What the socket does not take is lost, as on any network.
void RtspUdpPlayer::send_lead_in(const stream::RtpRun& behind) {
    const Bytes payload = behind.key ? make_rtsp_lead_in(pump_.writer()) : Bytes();
    const auto first = rtp::PacketView::parse(behind.packet(0));
    if (payload.empty() || !first) {
        return;
    }
    const Bytes packet = rtsp_lead_in_packet(
        {first->payload_type(), false, first->sequence(), first->timestamp(), first->ssrc()},
        payload);
    (void)tracks_[net::kRtpVideoTrack]->send(RtspUdpTrack::kRtp, packet);
    client_->sent_bytes += packet.size();
}

io::IoStatus RtspUdpPlayer::send_frames(const rtsp::ChannelPair& channels,
                                        const RtspSrtpSender::Sealed& sealed) {
    if (!stream_) {
        return io::IoStatus::kClosed;
    }
    for (ByteSpan rest = sealed.bytes; !rest.empty();) {
        const ByteSpan packet = rest.first(std::min(sealed.packet_bytes, rest.size()));
        append_rtsp_frame(channels.rtp, packet, answers_);
        rest = rest.subspan(packet.size());
    }
    (void)write_answers();  // a lost connection is an event of its own
    return io::IoStatus::kDone;
}

// A report whose buffer has room for SRTP.
void RtspUdpPlayer::send_control(uint8_t track, std::span<uint8_t> buffer, size_t size) {
    size = srtp_ && size > 0 ? srtp_->seal_rtcp(buffer, size) : size;
    const ByteSpan packet = ByteSpan(buffer).first(size);
    if (size > 0 && tracks_[track]) {
        (void)tracks_[track]->send(RtspUdpTrack::kRtcp, packet);
    } else if (size > 0 && srtp_ && stream_ && session_.channels[track]) {
        append_rtsp_frame(session_.channels[track]->rtcp, packet, answers_);
        (void)write_answers();
    }
}

void RtspUdpPlayer::send_reports(MonoTime now) {
    next_report_ = now + RtspNumbers::kReportInterval;
    ReportBuffer report;
    for (uint8_t index = 0; index < tracks_.size(); index++) {
        if (session_.has[index] && !group_) {
            send_control(index, report, pump_.writer().numbers().write_report(index, now, report));
        }
    }
}

net::RtpPlayer::Fate RtspUdpPlayer::look(MonoTime now) {
    if (now >= next_report_) {
        send_reports(now);
    }
    if (edition_ != pump_.writer().edition()) {
        edition_ = pump_.writer().edition();
        if (!session_.fits(pump_.writer().terms())) {
            return {false, net::kCodecsChangedText, EndClass::kReplaced};
        }
    }
    if (now - last_heard_ <= session_.timeout || (srtp_ && !by_udp())) {
        return {};
    }
    return {false, "the client was silent for its session's time: no request, no receiver report",
            EndClass::kTimeout};
}

void RtspUdpPlayer::look_at_silence(MonoTime now) {
    if (const Fate fate = look(now); !fate.go_on) {
        end(fate.why, fate.reason);
    }
}

// Asked by the pump: no publisher, or the fate above.
void RtspUdpPlayer::end_playing(EndClass why, std::string_view reason) {
    ReportBuffer bye;
    for (uint8_t index = 0; index < tracks_.size(); index++) {
        if (session_.has[index] && !group_) {
            send_control(index, bye, pump_.writer().numbers().write_bye(index, bye));
        }
    }
    end(why, reason);
}

void RtspUdpPlayer::end(EndClass why, std::string_view detail) {
    if (!client_) {
        return;
    }
    leave_pump();
    client_->probe = nullptr;
    client_->log_summary(why, detail);
    client_.reset();
    drop_connection();
    server_.bury(*this);
}

// ---- what the client says ----

bool RtspUdpPlayer::may_move(MonoTime now, size_t, bool, ByteSpan datagram) const {
    return now - began_ <= kPunchTime && datagram.size() <= kMaxPunch;
}

// RFC 3550 §6.4.1: the round trip is now - LSR - DLSR.
void RtspUdpPlayer::on_udp_rtcp(MonoTime now, size_t track, ByteSpan compound) {
    last_heard_ = now;
    const auto index = static_cast<uint8_t>(track);
    if (srtp_) {
        compound =
            srtp_->open_rtcp(index, compound);  // ffmpeg's are plain: a sign of life, no more
    }
    const RtspNumbers& numbers = pump_.writer().numbers();
    rtcp::PacketView packet;
    for (rtcp::CompoundReader reader(compound); reader.next(packet);) {
        const auto report = rtcp::parse_receiver_report(packet);
        const auto block = report ? report->blocks.find(numbers.ssrc(index)) : std::nullopt;
        if (!block) {
            continue;
        }
        if (block->last_sr != 0) {
            const uint32_t ntp = rtcp::compact_ntp(numbers.ntp_time(now));
            const auto ticks = static_cast<int32_t>(ntp - block->last_sr - block->delay_since_sr);
            const Micros rtt(rtcp::compact_ntp_to_us(static_cast<uint32_t>(std::max(ticks, 0))));
            rtt_ = rtt < kMaxRtt ? rtt : rtt_;  // the clock was another one when that was sent
        }
        const bool main = index == net::kRtpVideoTrack || !tracks_[net::kRtpVideoTrack];
        if (main) {
            loss_ = block->fraction_lost / 256.0;
            lost_ = static_cast<uint64_t>(std::max(block->cumulative_lost, 0));
            jitter_ms_ = block->jitter * 1000.0 / std::max<uint32_t>(numbers.clock_hz(index), 1);
        }
    }
}

void RtspUdpPlayer::on_ready(uint8_t) {
    while (stream_ && client_) {
        if (!answers_.empty()) {
            flush_answers();
        }
        if (!stream_ || !stream_->readable()) {
            return;
        }
        auto& buffer = net::TurnReader::buffer();
        const io::IoResult got = stream_->try_read(buffer);
        if (got.status == io::IoStatus::kWouldBlock) {
            return;
        }
        if (got.status != io::IoStatus::kDone) {
            drop_connection();
            return;
        }
        client_->received_bytes += got.bytes;
        last_heard_ = MonoClock::now();
        if (!hear({buffer.data(), got.bytes})) {
            return;
        }
    }
}

// False: the session or the connection has ended.
bool RtspUdpPlayer::hear(ByteSpan data) {
    using Status = rtsp::ConnectionReader::Status;
    while (stream_ && client_) {
        switch (reader_.next(data)) {
            case Status::kNeedMore: return true;
            case Status::kFrame: hear_frame(reader_.frame()); break;
            case Status::kResponse: break;
            case Status::kRequest:
                if (!obey(reader_.request(), data)) {
                    return false;
                }
                break;
            case Status::kHttp:
            case Status::kError: end(EndClass::kError, "protocol error"); return false;
        }
    }
    return false;
}

// Reports of a client whose media goes through the connection.
void RtspUdpPlayer::hear_frame(const rtsp::FrameView& frame) {
    for (size_t track = 0; track < session_.channels.size(); track++) {
        const auto& channels = session_.channels[track];
        if (channels && channels->rtcp == frame.channel) {
            on_udp_rtcp(MonoClock::now(), track, frame.payload);
        }
    }
}

bool RtspUdpPlayer::obey(const rtsp::Request& request, ByteSpan behind) {
    const RtspHeard heard = hear_in_session(request, session_, paused_);
    switch (heard.wish) {
        case RtspWish::kNothing: say(heard.answer); break;
        case RtspWish::kPlay: return play(request) && stream_ != nullptr;
        case RtspWish::kPause:
            paused_ = true;
            sender_.leave();
            say(heard.answer);
            break;
        case RtspWish::kTeardown: {
            say(heard.answer);
            if (!client_ || !stream_ || !answers_.empty()) {
                end(EndClass::kPeerClosed, "stopped by the client");
                return false;
            }
            leave_pump();
            client_->probe = nullptr;
            client_->kick = nullptr;
            stream_->set_handler(nullptr);
            server_.resume()(std::move(reader_), Bytes(behind.begin(), behind.end()),
                             std::move(stream_), std::move(client_));
            server_.bury(*this);
            return false;
        }
    }
    return client_ != nullptr && stream_ != nullptr;
}

void RtspUdpPlayer::say(const rtsp::Response& answer) {
    if (!stream_) {
        return;
    }
    const std::string text = rtsp::write(answer);
    answers_.insert(answers_.end(), text.begin(), text.end());
    flush_answers();
    if (answers_.size() > kMaxAnswers + kMaxFrames) {
        end(EndClass::kStalled, "the client does not read answers");
    }
}

void RtspUdpPlayer::flush_answers() {
    if (!write_answers()) {
        drop_connection();
    }
}

// False: the connection is lost.
bool RtspUdpPlayer::write_answers() {
    while (!answers_.empty()) {
        const io::IoResult result = stream_->try_write(answers_);
        if (result.status == io::IoStatus::kWouldBlock) {
            return true;
        }
        if (result.status != io::IoStatus::kDone) {
            answers_.clear();
            return false;
        }
        client_->sent_bytes += result.bytes;
        answers_.erase(answers_.begin(),
                       answers_.begin() + static_cast<std::ptrdiff_t>(result.bytes));
    }
    answers_.shrink_to_fit();
    return true;
}

// The object stays until it is buried: an event of this batch may still name it.
void RtspUdpPlayer::drop_connection() {
    if (stream_ && client_ && srtp_ && !by_udp()) {  // its media is gone with it
        end(EndClass::kPeerClosed, "closed by the player");
        return;
    }
    if (stream_) {
        stream_->set_handler(nullptr);
        stream_->close();
        server_.bury(std::move(stream_));
    }
}

// ---- what the API shows ----

std::optional<net::LinkFacts> RtspUdpPlayer::link_facts() const {
    net::LinkFacts facts;
    facts.state = stream_ ? "connected" : "detached";
    facts.transport = by_udp() ? "udp" : "tcp";
    if (group_) {
        facts.transport = "multicast";
        facts.remote = group_->address().ip_text();
    }
    for (const auto& track : tracks_) {
        facts.remote = track ? track->remote(RtspUdpTrack::kRtp).to_string() : facts.remote;
    }
    facts.rtt = rtt_;
    facts.loss = loss_;
    facts.jitter_ms = jitter_ms_;
    facts.packets = group_ ? group_->sender().packets() : sender_.packets();
    facts.lost = lost_;
    facts.skipped = sender_.skipped_runs();
    return facts;
}

std::optional<net::LagFacts> RtspUdpPlayer::lag_facts() const {
    const RtspSender& sender = group_ ? group_->sender() : sender_;
    const char* state = paused_ ? "paused" : sender.placed() ? "flowing" : "waiting";
    return net::LagFacts{state, sender.lag_ms(), std::nullopt};
}

}  // namespace weir::session
