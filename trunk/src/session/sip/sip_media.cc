#include "session/sip/sip_media.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/random.h"
#include "net/admission.h"
#include "proto/rtcp/feedback.h"
#include "proto/rtcp/packet.h"
#include "proto/rtcp/writer.h"
#include "proto/rtp/header.h"

namespace weir::session {
namespace {

constexpr size_t kReportBytes = 1200;
constexpr size_t kSsrcAt = 8;  // in a header of RTP

uint32_t ssrc_of(ByteSpan packet) {
    return packet.size() < rtp::kFixedHeaderSize ? 0 : ByteReader(packet.subspan(kSsrcAt)).u32();
}

net::RtpIngestTrack ingest_track(const sdp::PhoneTrack& agreed, bool video) {
    net::RtpIngestTrack track;
    track.kind = video ? media::TrackKind::kVideo : media::TrackKind::kAudio;
    track.codec = agreed.codec;
    track.payload_type = agreed.own_payload_type;
    track.clock_hz = agreed.clock_hz;
    track.channels = agreed.channels;
    return track;
}

}  // namespace

SipMedia::~SipMedia() {
    WEIR_CHECK(pump_ == nullptr && stream_ == nullptr);
}

Error SipMedia::open(const NetAddress& local, const net::PortRange& range, bool audio, bool video) {
    for (const size_t index : {kAudio, kVideo}) {
        if (index == kAudio ? audio : video) {
            WEIR_TRY_ASSIGN(ways_[index].ports, net::RtpPorts::bind_in(range, local, index, *this));
        }
    }
    for (uint32_t& ssrc : ssrcs_) {
        ssrc = random_u32(system_random()) | 1U;
    }
    last_heard_ = MonoClock::now();
    for (Way& way : ways_) {
        if (way.ports) {
            way.ports->listen();
        }
    }
    return {};
}

uint16_t SipMedia::port(size_t track) const {
    return ways_[track].ports ? ways_[track].ports->ports().rtp : 0;
}

void SipMedia::agree(const sdp::PhoneAgreement& agreed, const NetAddress& signalling) {
    const sdp::PhoneAgreement before = std::exchange(agreed_, agreed);
    signalling_ = signalling;
    for (const size_t index : {kAudio, kVideo}) {
        const sdp::PhoneTrack& old = index == kAudio ? before.audio : before.video;
        if (track(index).to != old.to || track(index).rtcp_to != old.rtcp_to) {
            ways_[index].rtp = track(index).to;
            ways_[index].rtcp = track(index).rtcp_to;
        }
    }
    const auto same = [](const sdp::PhoneTrack& a, const sdp::PhoneTrack& b) {
        return a.in_use == b.in_use && a.codec == b.codec && a.clock_hz == b.clock_hz &&
               a.payload_type == b.payload_type && a.own_payload_type == b.own_payload_type;
    };
    if (same(before.audio, agreed_.audio) && same(before.video, agreed_.video)) {
        return;
    }
    events_.reset();
    if (agreed_.audio.event_type) {
        events_.emplace(agreed_.audio.clock_hz);
    }
    if (pump_ != nullptr) {
        begin_sender(MonoClock::now());
    }
    if (ingest_) {
        begin_ingest();
    }
}

void SipMedia::tick(MonoTime now) {
    if (std::exchange(more_, false)) {
        for (Way& way : ways_) {
            more_ = (way.ports && way.ports->read_more()) || more_;
        }
    }
    if (events_) {
        events_->handle_timeout(now);
        tell_digits();
    }
    const size_t main = agreed_.audio.in_use ? kAudio : kVideo;
    std::array<uint8_t, kReportBytes> room;
    if (ingest_) {
        ingest_->handle_timeout(now);
        while (const size_t size = ingest_->poll_transmit(now, room)) {
            send_rtcp(main, {room.data(), size});
        }
        ask_for_key_frame(now);
    }
    if (sender_) {
        if (const size_t size = sender_->report(now, unix_epoch_, room); size > 0) {
            send_rtcp(main, {room.data(), size});
        }
    }
}

void SipMedia::stop() {
    if (pump_ != nullptr) {
        pump_->remove(*this);
        pump_->release();
        pump_ = nullptr;
        sender_.reset();
        player_ = nullptr;
    }
    ingest_.reset();
    if (stream_ != nullptr) {
        std::exchange(stream_, nullptr)->end_publish(*this, MonoClock::now());
    }
    for (Way& way : ways_) {
        way.ports.reset();
    }
}

// ---- what comes ----

bool SipMedia::may_send(const Way& way, const NetAddress& from) const {
    return from.same_ip(way.rtp) || from.same_ip(signalling_);
}

void SipMedia::on_datagram(size_t index, bool rtcp, ByteSpan bytes, const NetAddress& from) {
    Way& way = ways_[index];
    if (!may_send(way, from) || !track(index).in_use) {
        counters_.strangers++;
        return;
    }
    const MonoTime now = MonoClock::now();
    last_heard_ = now;
    if (publisher_ != nullptr) {
        publisher_->received_bytes += bytes.size();
    }
    const bool mixed = !rtcp && track(index).rtcp_mux && rtp::is_rtcp(bytes);
    if (rtcp || mixed) {
        (mixed ? way.rtp : way.rtcp) = from;
        take_rtcp(now, index, bytes);
    } else {
        take_rtp(now, index, bytes, from);
    }
}

void SipMedia::take_rtp(MonoTime now, size_t index, ByteSpan bytes, const NetAddress& from) {
    const auto packet = rtp::PacketView::parse(bytes);
    const sdp::PhoneTrack& agreed = track(index);
    if (!packet) {
        return;
    }
    counters_.received++;
    const bool event = index == kAudio && agreed.event_type == packet->payload_type();
    if (packet->payload_type() != agreed.own_payload_type && !event &&
        packet->payload_type() != agreed.comfort_noise) {
        return;
    }
    ways_[index].rtp = from;
    if (event) {
        take_digits(now, packet->timestamp(), packet->payload());
        return;
    }
    if (!ingest_ || !places_[index] || !sdp::receives(agreed.direction) ||
        packet->payload_type() != agreed.own_payload_type) {
        return;
    }
    if (rate_ && !rate_->take(now, bytes.size())) {
        owner_.on_publish_over(
            net::EndClass::kRefused,
            fmt::format("the phone sends more than {} kbit/s (max_publish_bitrate)",
                        rate_->bits_per_second() / 1000));
        return;
    }
    ingest_->on_rtp(now, bytes, places_[index]);
}

void SipMedia::take_digits(MonoTime now, uint32_t rtp_time, ByteSpan payload) {
    if (events_) {
        events_->handle_packet(now, rtp_time, payload);
        tell_digits();
    }
}

void SipMedia::tell_digits() {
    while (const auto event = events_->poll_event()) {
        if (event->digit != 0) {
            owner_.on_digit(event->digit);
        }
    }
}

void SipMedia::take_rtcp(MonoTime now, size_t index, ByteSpan compound) {
    rtcp::PacketView packet;
    for (rtcp::CompoundReader reader(compound); reader.next(packet);) {
        if (ingest_) {
            ingest_->on_rtcp(now, packet);
        }
        if (!sender_) {
            continue;
        }
        sender_->on_rtcp(now, packet);
        const bool picture = rtcp::parse_picture_loss(packet).has_value() ||
                             rtcp::find_full_intra_request(packet, ssrcs_[index]).has_value();
        if (picture && now - key_asked_ >= kKeyFramePeriod) {
            key_asked_ = now;
            pump_->stream().want_key_frame();
        }
    }
}

// ---- what goes ----

void SipMedia::play(SipPump& pump, net::Client& client) {
    pump_ = &pump;
    player_ = &client;
    pump_->hold();
    begin_sender(MonoClock::now());
    pump_->add(*this);
    pump_->stream().note_new_player();
}

void SipMedia::begin_sender(MonoTime now) {
    const auto setup = [&](size_t index) {
        return net::RtpTrackSetup{track(index).payload_type, ssrcs_[index],
                                  index == kAudio ? track(index).clock_hz : 90'000};
    };
    const net::RtpTrackSetup audio = setup(kAudio);
    const net::RtpTrackSetup video = setup(kVideo);
    sender_ = std::make_unique<net::RtpSender>(
        pump_->writer().log(), sealer_, agreed_.audio.in_use ? &audio : nullptr,
        agreed_.video.in_use ? &video : nullptr, system_random(), now);
}

net::RtpFlush SipMedia::flush(MonoTime now, size_t most_runs) {
    if (!sender_) {
        return net::RtpFlush::kCaughtUp;
    }
    const net::RtpFlush done = sender_->flush(now, *this, most_runs);
    if (player_->first_frame_ms < 0 && sender_->stats().packets > 0) {
        player_->first_frame_ms = static_cast<int32_t>(
            std::chrono::duration_cast<Millis>(now - player_->since()).count());
    }
    return done;
}

net::RtpPlayer::Fate SipMedia::look(MonoTime) {
    if (sender_) {
        player_->resyncs = sender_->stats().resyncs;
    }
    return {};
}

void SipMedia::end_playing(net::EndClass why, std::string_view reason) {
    owner_.on_play_over(why, reason);
}

bool SipMedia::send_burst(ByteSpan packets, size_t segment_bytes) {
    const size_t index = ssrc_of(packets) == ssrcs_[kVideo] ? kVideo : kAudio;
    const Way& way = ways_[index];
    if (way.rtp.empty() || !way.ports || !sdp::sends(track(index).direction)) {
        return true;  // on hold: it is as if it had gone
    }
    const size_t size = segment_bytes == 0 ? packets.size() : segment_bytes;
    player_->sent_bytes += packets.size();
    pump_->stream().note_sent(packets.size());
    while (!packets.empty()) {
        const ByteSpan one = packets.first(std::min(size, packets.size()));
        way.ports->send(false, way.rtp, one);
        packets = packets.subspan(one.size());
    }
    return true;
}

void SipMedia::send_rtcp(size_t index, ByteSpan compound) {
    const Way& way = ways_[index];
    const bool mux = track(index).rtcp_mux;
    const NetAddress& to = mux ? way.rtp : way.rtcp;
    if (way.ports && !to.empty()) {
        way.ports->send(!mux, to, compound);
    }
}

// ---- publishing ----

void SipMedia::publish(stream::Stream& stream,
                       const net::PublishRules& rules,
                       net::Client& client) {
    stream_ = &stream;
    publisher_ = &client;
    if (rules.max_bits_per_second > 0) {
        rate_.emplace(rules.max_bits_per_second);
    }
    begin_ingest();
}

void SipMedia::begin_ingest() {
    std::vector<net::RtpIngestTrack> tracks;
    for (const size_t index : {kAudio, kVideo}) {
        places_[index].reset();
        if (track(index).in_use) {
            places_[index] = tracks.size();
            tracks.push_back(ingest_track(track(index), index == kVideo));
        }
    }
    net::RtpIngestOptions options;
    options.local_ssrc = ssrcs_[kAudio];
    ingest_ = std::make_unique<net::RtpIngest>(*stream_, *this, std::move(tracks), options);
    wants_picture_ = agreed_.video.in_use;
}

// RTCP (RFC 4585 §6.3.1), where the phone takes that.
void SipMedia::ask_for_key_frame(MonoTime now) {
    if (!wants_picture_ || !agreed_.video.in_use || now - key_asked_ < kKeyFramePeriod) {
        return;
    }
    wants_picture_ = false;
    key_asked_ = now;
    std::array<uint8_t, 64> room;
    rtcp::CompoundWriter writer(room);
    if (writer.receiver_report(ssrcs_[kVideo], {}) && writer.picture_loss({ssrcs_[kVideo], 0})) {
        send_rtcp(kVideo, writer.written());
    }
}

std::string SipMedia::describe() const {
    return fmt::format("client {} from {}", client_id(), client_ip());
}

std::string_view SipMedia::client_id() const {
    return publisher_ != nullptr ? publisher_->id() : std::string_view();
}

std::string_view SipMedia::client_ip() const {
    return publisher_ != nullptr ? std::string_view(publisher_->ip()) : std::string_view();
}

std::string_view SipMedia::client_transport() const {
    return "sip";
}

void SipMedia::on_taken_over() {
    stream_ = nullptr;  // the other one holds it
    ingest_.reset();
    owner_.on_publish_over(net::EndClass::kReplaced, "another publisher took the stream over");
}

// ---- for the API ----

std::optional<net::LinkFacts> SipMedia::play_facts() const {
    if (!sender_) {
        return std::nullopt;
    }
    net::LinkFacts facts;
    facts.state = "connected";
    facts.transport = "udp";
    facts.remote = ways_[agreed_.audio.in_use ? kAudio : kVideo].rtp.to_string();
    const net::RtpSenderStats& stats = sender_->stats();
    if (stats.rtt > Micros(0)) {
        facts.rtt = stats.rtt;
    }
    facts.loss = stats.loss;
    facts.packets = stats.packets;
    facts.skipped = stats.skipped_runs;
    return facts;
}

std::optional<net::LinkFacts> SipMedia::publish_facts() const {
    if (!ingest_) {
        return std::nullopt;
    }
    const rtp::ReceiverCounters counters = ingest_->counters();
    net::LinkFacts facts;
    facts.state = "connected";
    facts.transport = "udp";
    facts.remote = ways_[agreed_.audio.in_use ? kAudio : kVideo].rtp.to_string();
    facts.packets = counters.packets;
    facts.lost = counters.lost;
    facts.loss = counters.packets == 0 ? 0
                                       : static_cast<double>(counters.lost) /
                                             static_cast<double>(counters.packets + counters.lost);
    facts.skipped = ingest_->stats().dropped_frames;
    return facts;
}

}  // namespace weir::session
