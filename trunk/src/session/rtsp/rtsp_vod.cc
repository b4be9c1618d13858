#include "session/rtsp/rtsp_vod.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/random.h"
#include "session/rtsp/rtsp_lead_in.h"
#include "session/rtsp/rtsp_muxer.h"

namespace weir::session {
namespace {

constexpr int64_t kFirstMs = 10'000;  // as of a stream's timeline
constexpr int64_t kStepMs = 40;       // between two packets with a seek in between, at least

int64_t in_ms(rtsp::Range::Time time) {
    return std::chrono::duration_cast<Millis>(time).count();
}

}  // namespace

RtspVod::RtspVod(const RtspSession& session,
                 RtspUdpTracks udp,
                 io::TcpStream& stream,
                 net::Client& client,
                 std::unique_ptr<net::VodSource> source,
                 Millis write_stall)
    : RtpCutter(kRtspProfile),
      session_(session),
      client_(client),
      udp_(std::move(udp)),
      numbers_(system_random(), MonoClock::now()),
      created_(MonoClock::now()),
      // Where media goes by UDP the connection carries nothing that a client would acknowledge.
      player_(stream,
              client,
              std::move(source),
              *this,
              {.write_stall = write_stall,
               .silence = udp_[0] || udp_[1] ? Millis(session.timeout) : Millis(0)}) {
    for (const auto& track : udp_) {
        if (track) {
            track->set_owner(this);
        }
    }
    player_.pause();
}

RtspVod::~RtspVod() {
    for (const auto& track : udp_) {
        if (track) {
            track->set_owner(nullptr);
        }
    }
}

bool RtspVod::may_move(MonoTime now, size_t, bool, ByteSpan datagram) const {
    return now - created_ <= RtspUdpPlayer::kPunchTime &&
           datagram.size() <= RtspUdpPlayer::kMaxPunch;
}

// ---- PLAY ----

bool RtspVod::play(const rtsp::Request& request, const std::optional<rtsp::Range>& range) {
    const net::VodSource& source = player_.source();
    const int64_t duration_ms = source.duration_ms();
    std::optional<int64_t> from_ms;
    if (range && range->start) {
        from_ms = in_ms(*range->start);
    } else if (range && range->end && !range->from_now) {  // "npt=-20": the last 20 seconds
        from_ms = std::max<int64_t>(duration_ms - in_ms(*range->end), 0);
    }
    const bool has_end = range && range->end && range->start;
    if ((from_ms && *from_ms > duration_ms && !source.grows()) ||
        (has_end && *range->end <= *range->start)) {
        return false;
    }
    if (!from_ms && player_.at_end()) {
        from_ms = 0;
    }
    refuse_play(455);  // one that was not answered yet: this one takes its place
    play_ = request;
    if (range) {
        player_.stop_at(has_end ? in_ms(*range->end) : INT64_MAX);
        end_ms_ = has_end ? std::min(in_ms(*range->end), duration_ms) : 0;
    }
    leads_in_ = leads_in_ || from_ms || !begun_;
    if (from_ms) {
        player_.seek(*from_ms);
    }
    player_.announce();
    player_.resume();
    return true;
}

void RtspVod::pause() {
    refuse_play(455);
    player_.pause();
}

void RtspVod::refuse_play(int status) {
    if (play_) {
        const std::string text = rtsp::write(answer_to(*play_, status));
        play_.reset();
        (void)player_.say(as_bytes(text));
    }
}

// The frame that comes next is the first.
void RtspVod::answer_play() {
    if (!play_) {
        return;
    }
    const net::VodSource& source = player_.source();
    rtsp::Range range;
    range.start = Millis(start_ms_);
    if (end_ms_ > 0 || !source.grows()) {
        range.end = Millis(std::max(end_ms_ > 0 ? end_ms_ : source.duration_ms(), start_ms_));
    }
    rtsp::Response answer = answer_to(*play_, 200);
    answer.headers.add("Session", session_.field());
    answer.headers.add("Range", rtsp::write(range));
    answer.headers.add("RTP-Info", session_.rtp_info(numbers_, nullptr, !lead_in_.empty()));
    play_.reset();
    const std::string text = rtsp::write(answer);
    out_->insert(out_->end(), text.begin(), text.end());
}

// ---- media ----

void RtspVod::on_vod_start(const net::VodSource&, const media::MediaPacket& first, Bytes&) {
    const MonoTime now = MonoClock::now();
    int64_t begin_ms = kFirstMs;
    if (std::exchange(begun_, true)) {
        const int64_t passed_ms = std::chrono::duration_cast<Millis>(now - first_at_).count();
        begin_ms = std::max(kFirstMs + passed_ms, newest_ms_ + kStepMs);
    } else {
        first_at_ = now;
    }
    offset_ms_ = begin_ms - first.time_ms();
    starts_ = true;
}

void RtspVod::on_vod_packet(Ref<media::MediaPacket> packet, Bytes& out) {
    out_ = &out;
    const int64_t time_ms = packet->time_ms();
    packet->set_time_ms(time_ms + offset_ms_);
    newest_ms_ = std::max(newest_ms_, packet->time_ms());
    shown_ms_ = packet->time_ms() + packet->info().composition_ms;
    cut(media::PacketRef(packet), starts_ ? &player_.source().configs() : nullptr);
    if (!fits()) {
        player_.stop_at(time_ms);  // what follows is not what the client was told
    }
    out_ = nullptr;
}

// Whether the codecs in force, also those that a seek has led to, are what the client was told.
bool RtspVod::fits() {
    if (edition_ != RtpCutter::edition()) {
        edition_ = RtpCutter::edition();
        fits_ = session_.fits(rtsp_terms(*this));
    }
    return fits_;
}

void RtspVod::begin_frame(const stream::RtpLog::Frame& frame) {
    frame_ = frame;
    wanted_ = frame.track < session_.has.size() && session_.has[frame.track] && fits();
    if (!wanted_) {
        return;
    }
    frame_.start = starts_;
    if (starts_) {
        begin_at_start();
    }
    numbers_.begin_frame(frame_, track(frame.track));
    if (std::exchange(starts_, false)) {
        answer_play();
        write_reports(MonoClock::now());
    }
    if (!lead_in_.empty() && frame.track == net::kRtpVideoTrack) {
        send_lead_in();
    }
}

void RtspVod::begin_at_start() {
    // The time of RTP-Info is that of Range: when the first frame is shown.
    frame_.time_ms = shown_ms_;
    start_ms_ = std::max<int64_t>(shown_ms_ - offset_ms_, 0);
    numbers_.set_clocks(*this);
    const bool due = play_ && std::exchange(leads_in_, false) &&
                     session_.has[net::kRtpVideoTrack] && wants_rtsp_lead_in(*play_);
    lead_in_ = due ? make_rtsp_lead_in(*this) : Bytes();
    if (!lead_in_.empty()) {
        numbers_.skip_number(net::kRtpVideoTrack);
    }
}

void RtspVod::send_lead_in() {
    send(net::kRtpVideoTrack, RtspUdpTrack::kRtp,
         rtsp_lead_in_packet(numbers_.first_header(net::kRtpVideoTrack), lead_in_));
    lead_in_.clear();
}

void RtspVod::add_payload(ByteSpan head, ByteSpan body, bool last) {
    if (!wanted_) {
        return;
    }
    const RtspNumbers::Header header = numbers_.next_header(head.size() + body.size(), last);
    packet_.clear();
    ByteWriter(packet_).bytes(header).bytes(head).bytes(body);
    send(frame_.track, RtspUdpTrack::kRtp, packet_);
}

void RtspVod::end_frame() {
    if (!wanted_) {
        return;
    }
    const MonoTime now = MonoClock::now();
    numbers_.note_head(newest_ms_, now);
    if (numbers_.reports_due(now)) {
        write_reports(now);
    }
}

void RtspVod::write_reports(MonoTime now) {
    std::array<uint8_t, RtspNumbers::kMaxReport> report;
    for (uint8_t index = 0; index < RtspNumbers::kTracks; index++) {
        const size_t size =
            session_.has[index] ? numbers_.write_report(index, now, report) : size_t{0};
        if (size > 0) {
            send(index, RtspUdpTrack::kRtcp, {report.data(), size});
        }
    }
}

void RtspVod::on_vod_end(Bytes& out) {
    out_ = &out;
    refuse_play(457);
    std::array<uint8_t, RtspNumbers::kMaxReport> bye;
    for (uint8_t index = 0; index < RtspNumbers::kTracks; index++) {
        const size_t size = session_.has[index] ? numbers_.write_bye(index, bye) : size_t{0};
        if (size > 0) {
            send(index, RtspUdpTrack::kRtcp, {bye.data(), size});
        }
    }
    out_ = nullptr;
}

// What a socket does not take is lost, as on any network.
void RtspVod::send(uint8_t track, RtspUdpTrack::Way way, ByteSpan packet) {
    if (udp_[track]) {
        const io::IoResult sent = udp_[track]->send(way, packet);
        client_.sent_bytes += sent.status == io::IoStatus::kDone ? packet.size() : 0;
    } else if (const auto& channels = session_.channels[track]) {
        append_rtsp_frame(way == RtspUdpTrack::kRtp ? channels->rtp : channels->rtcp, packet,
                          *out_);
    }
}

}  // namespace weir::session
