#include "session/sip/sip_media.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/random.h"
#include "net/admission.h"
#include "net/link_facts.h"
#include "proto/rtcp/feedback.h"
#include "proto/rtcp/packet.h"
#include "proto/rtcp/writer.h"
#include "proto/rtp/header.h"
#include "session/sip/sip_pump.h"

namespace weir::session {
namespace {

constexpr size_t kReportBytes = 1200;
constexpr size_t kSsrcAt = 8;  // in a header of RTP
constexpr size_t kMaxPacket = 1500;
constexpr Micros kLate = 2 * VoiceLine::kTick;  // between two ticks

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

bool has_to_send(const sdp::PhoneAgreement& agreed) {
    return sdp::receives(agreed.audio.direction) || sdp::receives(agreed.video.direction);
}

std::shared_ptr<const sdp::PhoneAgreement> nothing_agreed() {
    static const auto nothing = std::make_shared<const sdp::PhoneAgreement>();
    return nothing;
}

SipMedia::SipMedia(SipMediaOwner& owner, MonoTime unix_epoch, SipSecurity& security)
    : owner_(owner),
      unix_epoch_(unix_epoch),
      security_(security),
      agreed_(nothing_agreed()),
      audio_out_(static_cast<uint16_t>(random_u32(system_random()) & 0x7FFFU)) {}

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
    last_heard_ = video_sent_ = MonoClock::now();
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

void SipMedia::agree(std::shared_ptr<const sdp::PhoneAgreement> agreed,
                     const NetAddress& signalling,
                     size_t described) {
    const auto held = std::exchange(agreed_, std::move(agreed));
    const sdp::PhoneAgreement& before = *held;
    signalling_ = signalling;
    if (before.has_media() && has_to_send(*agreed_) && !has_to_send(before)) {
        // It may have been silent for long, and has the whole time again. But offers that come and
        // go are no sign of a host that only gets media.
        last_heard_ = MonoClock::now();
        hosts_.doubt();
    }
    for (const size_t index : {kAudio, kVideo}) {
        const sdp::PhoneTrack& old = index == kAudio ? before.audio : before.video;
        if (track(index).to != old.to || track(index).rtcp_to != old.rtcp_to) {
            ways_[index].rtp = track(index).to;
            ways_[index].rtcp = track(index).rtcp_to;
            hosts_.name(track(index).to, std::exchange(described, 0));
        }
        secure(index);
    }
    set_party_ways();
    const auto same = [](const sdp::PhoneTrack& a, const sdp::PhoneTrack& b) {
        return a.in_use == b.in_use && a.codec == b.codec && a.clock_hz == b.clock_hz &&
               a.payload_type == b.payload_type && a.own_payload_type == b.own_payload_type;
    };
    if (same(before.audio, agreed_->audio) && same(before.video, agreed_->video)) {
        return;
    }
    events_.reset();
    if (agreed_->audio.event_type) {
        events_.emplace(agreed_->audio.clock_hz);
    }
    audio_out_.set_up(MonoClock::now(),
                      {agreed_->audio.codec, agreed_->audio.payload_type, agreed_->audio.event_type,
                       agreed_->audio.comfort_noise, agreed_->audio.clock_hz, ssrcs_[kAudio]});
    if (pump_ != nullptr) {
        begin_sender(MonoClock::now());
    }
    if (ingest_) {
        begin_ingest();
    }
}

void SipMedia::trust(const NetAddress& signalling) {
    hosts_.trust(signalling);
    for (Way& way : ways_) {
        if (way.secure) {
            transmit(MonoClock::now(), way);  // a handshake may have waited
        }
    }
}

bool SipMedia::goes_to(const NetAddress& host) const {
    return std::ranges::all_of(ways_, [&](const Way& way) {
        const NetAddress to = destination(way, false);
        return !way.ports || to.empty() || to.same_ip(host);
    });
}

void SipMedia::tick(MonoTime now) {
    // Where the media thread was busy, what has come meanwhile is heard in the ticks that are due.
    const bool late = now - std::exchange(ticked_, now) > kLate && (voice_ || party_);
    if (std::exchange(more_, false) || late) {
        for (Way& way : ways_) {
            more_ = (way.ports && way.ports->read_more()) || more_;
        }
    }
    tick_secure(now);
    if (events_) {
        events_->handle_timeout(now);
        tell_digits();
    }
    const size_t main = agreed_->audio.in_use ? kAudio : kVideo;
    std::array<uint8_t, kReportBytes> room;
    if (voice_) {
        voice_->tick(now);
        if (const size_t size = voice_->report(now, ssrcs_[kAudio], room); size > 0) {
            send_rtcp(kAudio, {room.data(), size});
        }
    }
    if (ingest_) {
        ingest_->handle_timeout(now);
        while (const size_t size = ingest_->poll_transmit(now, room)) {
            send_rtcp(main, {room.data(), size});
        }
        ask_for_key_frame(now);
    }
    send_due_audio(now);
    if (sender_) {
        if (const size_t size = sender_->report(now, unix_epoch_, room); size > 0) {
            send_rtcp(main, {room.data(), size});
        }
    }
    if (party_) {
        if (const size_t size = party_->report(now, unix_epoch_, room); size > 0) {
            send_rtcp(kAudio, {room.data(), size});
        }
    }
    keep_alive(now);
}

void SipMedia::stop_playing() {
    if (pump_ != nullptr) {
        pump_->remove(*this);
        pump_->release();
        pump_ = nullptr;
        sender_.reset();
        audio_pacer_.clear();
        player_ = nullptr;
    }
}

void SipMedia::stop() {
    party_.reset();
    stop_playing();
    voice_.reset();
    ingest_.reset();
    if (stream_ != nullptr) {
        std::exchange(stream_, nullptr)->end_publish(*this, MonoClock::now());
    }
    for (Way& way : ways_) {
        way.ports.reset();
        way.secure.reset();
    }
}

// ---- encryption and ICE ----

void SipMedia::secure(size_t index) {
    Way& way = ways_[index];
    if (!track(index).in_use || !SipSecure::is_for(track(index))) {
        way.secure.reset();
        return;
    }
    const MonoTime now = MonoClock::now();
    if (!way.secure) {
        way.secure = std::make_unique<SipSecure>(security_, system_random());
    }
    if (Error failed = way.secure->agree(now, track(index))) {
        owner_.on_play_over(net::EndClass::kError, failed.message());
        return;
    }
    transmit(now, way);
}

void SipMedia::tick_secure(MonoTime now) {
    for (Way& way : ways_) {
        if (!way.secure) {
            continue;
        }
        way.secure->handle_timeout(now);
        transmit(now, way);
        if (const Error failed = way.secure->take_failure()) {
            owner_.on_play_over(net::EndClass::kError, failed.message());
        }
    }
}

// Handshakes and checks.
void SipMedia::transmit(MonoTime now, Way& way) {
    const auto where = [&](bool rtcp_port, const NetAddress& to) -> const NetAddress& {
        return !to.empty() ? to : rtcp_port ? way.rtcp : way.rtp;
    };
    const auto may = [&](bool rtcp_port, const NetAddress& to, size_t bytes) {
        return hosts_.take(where(rtcp_port, to), bytes);
    };
    while (const auto out = way.secure->poll_transmit(now, may)) {
        const NetAddress& to = where(out->rtcp_port, out->to);
        if (way.ports && !to.empty()) {
            way.ports->send(out->rtcp_port, to, out->bytes);
        }
    }
}

void SipMedia::take_secured(size_t index, bool rtcp, ByteSpan bytes, const NetAddress& from) {
    alignas(8) static std::array<uint8_t, kMaxDatagram> scratch;
    Way& way = ways_[index];
    if (bytes.size() > scratch.size()) {
        counters_.unusable++;
        return;
    }
    std::ranges::copy(bytes, scratch.begin());
    const MonoTime now = MonoClock::now();
    const bool named = may_send(way, from);
    if (named) {
        hosts_.note_received(from, bytes.size(), false);
    }
    const SipSecure::Taken taken =
        way.secure->take(now, rtcp, std::span(scratch).first(bytes.size()), from, named);
    transmit(now, way);
    using Kind = SipSecure::Taken::Kind;
    switch (taken.kind) {
        case Kind::kNothing: counters_.unusable++; return;
        case Kind::kStranger: counters_.strangers++; return;
        case Kind::kRtp:
        case Kind::kRtcp: break;
    }
    if (named) {
        hosts_.note_received(from, 0, true);
    }
    take_media(now, index, rtcp, taken.kind == Kind::kRtcp, taken.bytes, from);
}

// ICE says where, or the phone's own packets do.
NetAddress SipMedia::destination(const Way& way, bool rtcp) const {
    const NetAddress found = way.secure ? way.secure->path(rtcp) : NetAddress();
    return !found.empty() ? found : rtcp ? way.rtcp : way.rtp;
}

// Nothing is lost of what a player begins with, and no number goes by, until it may be sent.
bool SipMedia::waits_for_keys() const {
    return std::ranges::any_of(ways_,
                               [](const Way& way) { return way.secure && !way.secure->ready(); });
}

bool SipMedia::is_open(const Way& way, bool rtcp) const {
    const NetAddress found = way.secure ? way.secure->path(rtcp) : NetAddress();
    return !found.empty() || hosts_.is_open(rtcp ? way.rtcp : way.rtp);
}

bool SipMedia::take(const Way& way, bool rtcp, size_t bytes) {
    return is_open(way, rtcp) || hosts_.take(destination(way, rtcp), bytes);
}

// As with keys: nothing is lost of what a player begins with. It begins when it may be sent.
bool SipMedia::waits_for_hosts(MonoTime now) {
    const bool waits = std::ranges::any_of(std::array{kAudio, kVideo}, [this](size_t index) {
        const Way& way = ways_[index];
        return way.ports && track(index).in_use && sdp::sends(track(index).direction) &&
               !destination(way, false).empty() && !is_open(way, false);
    });
    if (std::exchange(waited_for_hosts_, waits) && !waits) {
        begin_sender(now);
    }
    return waits;
}

sdp::PhoneKeys SipMedia::keys() const {
    return agreed_->audio.in_use ? agreed_->audio.secured.keys : agreed_->video.secured.keys;
}

bool SipMedia::found_by_ice() const {
    const Way& way = ways_[agreed_->audio.in_use ? kAudio : kVideo];
    return way.secure && !way.secure->path(false).empty();
}

// ---- what comes ----

bool SipMedia::may_send(const Way& way, const NetAddress& from) const {
    return from.same_ip(way.rtp) || from.same_ip(signalling_);
}

void SipMedia::on_datagram(size_t index, bool rtcp, ByteSpan bytes, const NetAddress& from) {
    Way& way = ways_[index];
    if (way.secure) {
        take_secured(index, rtcp, bytes, from);
        return;
    }
    if (!may_send(way, from) || !track(index).in_use) {
        counters_.strangers++;
        return;
    }
    hosts_.note_received(from, bytes.size(), true);
    const bool is_rtcp = rtcp || (track(index).rtcp_mux && rtp::is_rtcp(bytes));
    take_media(MonoClock::now(), index, rtcp, is_rtcp, bytes, from);
}

void SipMedia::take_media(
    MonoTime now, size_t index, bool rtcp_port, bool rtcp, ByteSpan bytes, const NetAddress& from) {
    Way& way = ways_[index];
    last_heard_ = now;
    if (net::Client* const row = party_ ? player_ : publisher_) {
        row->received_bytes += bytes.size();
    }
    if (rtcp) {
        (rtcp_port ? way.rtcp : way.rtp) = from;
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
    }
    if (sdp::receives(agreed.direction)) {
        take_payload(now, index, bytes, *packet);
    }
}

void SipMedia::take_payload(MonoTime now,
                            size_t index,
                            ByteSpan bytes,
                            const rtp::PacketView& packet) {
    using Content = rtp::PlayoutPacketView::Content;
    const sdp::PhoneTrack& agreed = track(index);
    const bool media = packet.payload_type() == agreed.own_payload_type;
    const bool noise = !media && packet.payload_type() == agreed.comfort_noise;
    const Content content = media   ? Content::kAudio
                            : noise ? Content::kComfortNoise
                                    : Content::kOther;
    if (party_) {
        party_->handle_packet(now, packet, content);
        return;
    }
    if (!ingest_ || !places_[index]) {
        return;
    }
    if (rate_ && !rate_->take(now, bytes.size())) {
        owner_.on_publish_over(
            net::EndClass::kRefused,
            fmt::format("the phone sends more than {} kbit/s (max_publish_bitrate)",
                        rate_->bits_per_second() / 1000));
        return;
    }
    if (noise && !voice_) {
        begin_voice();  // the phone sends no silence
    }
    if (index == kAudio && voice_) {
        voice_->on_packet(now, packet, content);
    } else if (media) {
        ingest_->on_rtp(now, bytes, places_[index]);
    }
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
        if (party_) {
            party_->handle_rtcp(now, packet);
        } else if (voice_ && index == kAudio) {
            voice_->on_rtcp(now, packet);  // its times are not those of the ingest
        } else if (ingest_) {
            ingest_->on_rtcp(now, packet);
        }
        if (!sender_) {
            continue;
        }
        sender_->on_rtcp(now, packet);
        const bool picture = rtcp::parse_picture_loss(packet).has_value() ||
                             rtcp::find_full_intra_request(packet, ssrcs_[index]).has_value();
        if (picture) {
            want_picture(now);
        }
    }
}

void SipMedia::want_picture(MonoTime now) {
    if (pump_ != nullptr && now - key_asked_ >= kKeyFramePeriod) {
        key_asked_ = now;
        pump_->stream().want_key_frame();
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
    audio_pacer_.clear();
    audio_out_.restart();
    const auto setup = [&](size_t index) {
        return net::RtpTrackSetup{track(index).payload_type, ssrcs_[index],
                                  index == kAudio ? track(index).clock_hz : 90'000};
    };
    const net::RtpTrackSetup audio = setup(kAudio);
    const net::RtpTrackSetup video = setup(kVideo);
    sender_ = std::make_unique<net::RtpSender>(
        pump_->writer().log(), sealer_, agreed_->audio.in_use ? &audio : nullptr,
        agreed_->video.in_use ? &video : nullptr, system_random(), now);
}

net::RtpFlush SipMedia::flush(MonoTime now, size_t most_runs) {
    if (!sender_ || waits_for_keys() || waits_for_hosts(now)) {
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

bool SipMedia::may_hear(size_t index) const {
    const Way& way = ways_[index];
    return way.ports && sdp::sends(track(index).direction) && !destination(way, false).empty() &&
           is_open(way, false) && (!way.secure || way.secure->ready());
}

bool SipMedia::send_burst(ByteSpan packets, size_t segment_bytes) {
    const size_t index = ssrc_of(packets) == ssrcs_[kVideo] ? kVideo : kAudio;
    if (!may_hear(index)) {
        if (index == kAudio) {
            audio_pacer_.clear();
            audio_out_.restart();  // what is left out now is no loss afterwards
        }
        return true;  // on hold: it is as if it had gone
    }
    const size_t size = segment_bytes == 0 ? packets.size() : segment_bytes;
    const MonoTime now = MonoClock::now();
    player_->sent_bytes += packets.size();
    pump_->stream().note_sent(packets.size());
    while (!packets.empty()) {
        const ByteSpan one = packets.first(std::min(size, packets.size()));
        packets = packets.subspan(one.size());
        if (index == kVideo || one.size() > kMaxPacket) {
            video_sent_ = now;
            send_rtp(index, one);
            continue;
        }
        audio_pacer_.push(now, track(kAudio).clock_hz, one);
    }
    return true;
}

void SipMedia::send_due_audio(MonoTime now) {
    while (auto packet = audio_pacer_.poll(now)) {
        if (packet->after_drop) {
            audio_out_.restart();  // what was dropped here is no loss of the path
        }
        if (may_hear(kAudio)) {
            send_rtp(kAudio, audio_out_.take(now, packet->bytes));
        }
    }
}

void SipMedia::send_rtp(size_t index, ByteSpan packet) {
    const Way& way = ways_[index];
    const NetAddress to = destination(way, false);
    if (!way.ports || to.empty() || !take(way, false, packet.size() + srtp::kMaxOverhead)) {
        return;
    }
    if (!way.secure || packet.empty()) {
        way.ports->send(false, to, packet);
        return;
    }
    std::array<uint8_t, rtp::kFixedHeaderSize + kMaxSipPayload + srtp::kMaxOverhead> room;
    if (!way.secure->ready() || packet.size() + srtp::kMaxOverhead > room.size()) {
        return;
    }
    std::ranges::copy(packet, room.begin());
    const size_t size = way.secure->seal_rtp(room, packet.size());
    if (size > 0) {
        way.ports->send(false, to, ByteSpan(room).first(size));
    }
}

bool SipMedia::send_digits(std::string_view digits, Micros duration) {
    return audio_out_.send_digits(digits, duration);
}

// What is said while the stream says nothing, so that the phone and the NATs on the way know that
// somebody is there.
void SipMedia::keep_alive(MonoTime now) {
    std::array<uint8_t, SipAudioOut::kMaxOwnPacket> room;
    if (agreed_->audio.in_use) {
        if (const auto packet = audio_out_.poll(now, !sdp::sends(agreed_->audio.direction), room)) {
            send_rtp(kAudio, *packet);
        }
    }
    if (agreed_->video.in_use && now - video_sent_ >= SipAudioOut::kKeepAlive) {
        video_sent_ = now;
        send_rtp(kVideo, {});
    }
}

void SipMedia::send_rtcp(size_t index, ByteSpan compound) {
    const Way& way = ways_[index];
    const bool mux = track(index).rtcp_mux;
    const NetAddress to = destination(way, !mux);
    if (!way.ports || to.empty() || !take(way, !mux, compound.size() + srtp::kMaxOverhead)) {
        return;
    }
    if (!way.secure) {
        way.ports->send(!mux, to, compound);
        return;
    }
    std::array<uint8_t, kReportBytes + srtp::kMaxOverhead> room;
    if (!way.secure->rtcp_ready() || compound.size() > kReportBytes) {
        return;
    }
    std::ranges::copy(compound, room.begin());
    const size_t size = way.secure->seal_rtcp(room, compound.size());
    if (size > 0) {
        way.ports->send(!mux, to, ByteSpan(room).first(size));
    }
}

// ---- in a conference ----

void SipMedia::join(SipConference& conference, net::Client& client) {
    player_ = &client;
    only_speaks_ = !sdp::sends(agreed_->audio.direction);
    const ConferenceParty::Setup setup{agreed_->audio.codec, agreed_->audio.clock_hz,
                                       ssrcs_[kAudio], voice_rules_.workers};
    party_ = std::make_unique<ConferenceParty>(
        conference, setup,
        [this](MonoTime now, ByteSpan payload, uint32_t rtp_time) {
            send_mixed(now, payload, rtp_time);
        },
        [this](net::EndClass why, std::string_view detail) { owner_.on_play_over(why, detail); });
    set_party_ways();
}

// What a phone sends that has put the call on hold is music.
void SipMedia::set_party_ways() {
    if (party_) {
        const bool hears = sdp::sends(agreed_->audio.direction);
        party_->set_ways(hears || only_speaks_, hears);
    }
}

void SipMedia::send_mixed(MonoTime now, ByteSpan payload, uint32_t rtp_time) {
    std::array<uint8_t, rtp::kFixedHeaderSize + kMaxSipPayload> room;
    const size_t size = rtp::kFixedHeaderSize + payload.size();
    if (size > room.size() || !sdp::sends(agreed_->audio.direction)) {
        return;
    }
    rtp::write_header({agreed_->audio.payload_type, false, 0, rtp_time, ssrcs_[kAudio]},
                      room.data());
    std::copy(payload.begin(), payload.end(), room.begin() + rtp::kFixedHeaderSize);
    player_->sent_bytes += size;
    if (player_->first_frame_ms < 0) {
        player_->first_frame_ms = static_cast<int32_t>((now - player_->since()) / Millis(1));
    }
    send_rtp(kAudio, audio_out_.number(now, std::span(room).first(size)));
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
    voice_.reset();
    const sdp::PhoneTrack& audio = agreed_->audio;
    if (audio.in_use && (voice_rules_.always || SipStreamVoice::needed(audio.codec))) {
        begin_voice();
    }
    std::vector<net::RtpIngestTrack> tracks;
    for (const size_t index : {kAudio, kVideo}) {
        places_[index].reset();
        if (track(index).in_use) {
            places_[index] = tracks.size();
            tracks.push_back(index == kAudio && voice_
                                 ? SipStreamVoice::track_of(audio)
                                 : ingest_track(track(index), index == kVideo));
        }
    }
    ingest_ = std::make_unique<SipIngest>(*stream_, *this, std::move(tracks), ssrcs_[kAudio],
                                          voice_rules_.workers);
    wants_picture_ = agreed_->video.in_use;
}

void SipMedia::begin_voice() {
    const VoiceOptions voice = stream_voice(agreed_->audio.codec, agreed_->audio.clock_hz);
    if (VoiceLine::needs_worker(voice) && voice_rules_.workers == nullptr) {
        return;
    }
    voice_ = std::make_unique<SipStreamVoice>(agreed_->audio, voice_rules_.workers,
                                              stream_->key().to_string(),
                                              [this](MonoTime now, ByteSpan packet) {
                                                  if (ingest_ && places_[kAudio]) {
                                                      ingest_->on_rtp(now, packet, places_[kAudio]);
                                                  }
                                              });
}

// RTCP (RFC 4585 §6.3.1), where the phone takes that.
void SipMedia::ask_for_key_frame(MonoTime now) {
    if (!wants_picture_ || !agreed_->video.in_use || now - key_asked_ < kKeyFramePeriod) {
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
    voice_.reset();
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
    facts.remote = ways_[agreed_->audio.in_use ? kAudio : kVideo].rtp.to_string();
    const net::RtpSenderStats& stats = sender_->stats();
    if (stats.rtt > Micros(0)) {
        facts.rtt = stats.rtt;
    }
    facts.loss = stats.loss;
    facts.packets = stats.packets;
    facts.skipped = stats.skipped_runs + audio_pacer_.dropped();
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
    facts.remote = ways_[agreed_->audio.in_use ? kAudio : kVideo].rtp.to_string();
    facts.packets = counters.packets;
    facts.lost = counters.lost;
    if (voice_) {  // the ingest has what was made of the phone's packets
        facts.packets = voice_->stats().received;
        facts.lost = voice_->stats().lost;
    }
    facts.loss = facts.packets == 0 ? 0
                                    : static_cast<double>(facts.lost) /
                                          static_cast<double>(facts.packets + facts.lost);
    facts.skipped = ingest_->stats().dropped_frames;
    return facts;
}

}  // namespace weir::session
