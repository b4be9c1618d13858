#include "session/sip/sip_conference.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/random.h"
#include "media/g711.h"
#include "proto/flv/packet_maker.h"
#include "proto/rtcp/report.h"
#include "proto/rtcp/writer.h"
#include "session/sip/sip_ingest.h"

namespace weir::session {
namespace {

using media::Codec;
using media::g711::Law;

constexpr int64_t kTickMs = SipConference::kTick / Millis(1);
constexpr uint32_t kG722Rate = 16'000;
constexpr int16_t kNothing = 8;  // the silence of the A-law decodes to that

uint64_t noise_seed() {
    return uint64_t{random_u32(system_random())} << 32U | random_u32(system_random());
}

Law law_of(Codec codec) {
    return codec == Codec::kG711A ? Law::kA : Law::kMu;
}

transcode::AudioOptions encoder_options(const ConferenceParty::Setup& setup) {
    transcode::AudioOptions options;
    options.from = Codec::kPcm;
    options.from_rate = mixer_voice(setup.codec, setup.clock_hz).to_rate;
    options.to = setup.codec;
    options.to_rate = setup.codec == Codec::kG722 ? kG722Rate : setup.clock_hz;
    options.to_channels = 1;
    options.bits_per_second = VoiceLine::kBitsPerSecond;
    options.voice = true;
    return options;
}

}  // namespace

// ---- a party ----

ConferenceParty::ConferenceParty(SipConference& conference,
                                 const Setup& setup,
                                 Output out,
                                 Over over)
    : conference_(conference),
      setup_(setup),
      out_(std::move(out)),
      over_(std::move(over)),
      reception_(setup.clock_hz),
      voice_(mixer_voice(setup.codec, setup.clock_hz),
             setup.workers,
             conference.stream().key().to_string(),
             noise_seed(),
             [this](MonoTime, ByteSpan pcm, uint32_t) {
                 if (frames_.size() == kMaxFrames) {
                     frames_.pop_front();
                 }
                 std::vector<int16_t>& frame = frames_.emplace_back(pcm.size() / sizeof(int16_t));
                 std::memcpy(frame.data(), pcm.data(), frame.size() * sizeof(int16_t));
             }) {
    if (!is_g711(setup.codec) && setup.workers != nullptr) {
        encoder_ = std::make_unique<net::AudioBridge>(
            *setup.workers, encoder_options(setup), conference.stream().key().to_string(),
            [this](ByteSpan frame, int64_t time_us) {
                send(MonoClock::now(), frame,
                     static_cast<uint32_t>(time_us * int64_t{setup_.clock_hz} / 1'000'000));
            });
    }
    conference_.parties_.push_back(this);
}

ConferenceParty::~ConferenceParty() {
    std::erase(conference_.parties_, this);
}

void ConferenceParty::handle_packet(MonoTime now,
                                    const rtp::PacketView& packet,
                                    rtp::PlayoutPacketView::Content content) {
    reception_.on_packet(now, packet);
    voice_.handle_packet(now, {content, packet.marker(), packet.sequence(), packet.timestamp(),
                               packet.ssrc(), 0, packet.payload()});
}

std::span<const int16_t> ConferenceParty::speak(MonoTime now) {
    frame_.clear();
    const auto take = [this] {
        if (!frames_.empty()) {
            frame_.swap(frames_.front());
            frames_.pop_front();
        }
    };
    if (VoiceLine::needs_worker(voice_.options())) {
        take();  // it was asked for in the tick before
        voice_.step(now);
    } else {
        voice_.step(now);
        take();
    }
    const bool nothing =
        std::ranges::all_of(frame_, [](int16_t each) { return std::abs(each) <= kNothing; });
    if (!speaks_ || nothing) {
        frame_.clear();
    }
    return frame_;
}

void ConferenceParty::hear(MonoTime now,
                           int64_t tick,
                           std::span<const int16_t> samples,
                           ByteSpan ready) {
    if (encoder_) {
        media::PacketInfo info;
        info.kind = media::TrackKind::kAudio;
        info.codec = Codec::kPcm;
        Bytes body(samples.size_bytes());
        std::memcpy(body.data(), samples.data(), body.size());
        encoder_->push(make_ref<media::MediaPacket>(info, tick * kTickMs, std::move(body)));
        return;
    }
    const auto rtp_time = static_cast<uint32_t>(tick * int64_t{setup_.clock_hz} / 50);
    if (!ready.empty()) {
        send(now, ready, rtp_time);
        return;
    }
    std::array<uint8_t, ConferenceMix::kNarrowFrame> codes;
    media::g711::encode(law_of(setup_.codec), samples, codes);
    send(now, codes, rtp_time);
}

void ConferenceParty::send(MonoTime now, ByteSpan payload, uint32_t rtp_time) {
    sent_.on_packet(payload.size());
    last_time_ = rtp_time;
    last_sent_ = now;
    out_(now, payload, rtp_time);
}

size_t ConferenceParty::report(MonoTime now, MonoTime unix_epoch, std::span<uint8_t> out) {
    if (sent_.packets() == 0 || !reception_.due(now)) {
        return 0;
    }
    const auto since =
        static_cast<uint32_t>((now - last_sent_).count() * int64_t{setup_.clock_hz} / 1'000'000);
    const rtcp::SenderInfo info = sent_.report(
        setup_.ssrc, rtcp::ntp_from_unix_us((now - unix_epoch).count()), last_time_ + since);
    std::array<rtcp::ReportBlock, 1> block;
    const size_t blocks = reception_.started() ? 1 : 0;
    if (blocks > 0) {
        block[0] = reception_.block(now);
    }
    rtcp::CompoundWriter writer(out);
    const bool written = writer.sender_report(info, std::span(block).first(blocks)) &&
                         writer.source_description(setup_.ssrc, "weir");
    return written ? writer.size() : 0;
}

// ---- the conference ----

SipConference::SipConference(std::string name,
                             stream::Stream& stream,
                             net::AdmittedPublisher place,
                             io::WorkerPool* workers)
    : name_(std::move(name)),
      stream_(stream),
      client_(std::move(place.client)),
      rules_(std::move(place.rules)) {
    client_->kick = [this] { end_calls(net::EndClass::kKicked, "kicked by the API"); };
    if (const auto aac = net::telephone_aac(kPublished, kPublishedRate);
        aac && workers != nullptr) {
        aac_.emplace(stream_, *this, *workers, *aac);
    }
}

SipConference::~SipConference() {
    WEIR_CHECK(parties_.empty() && !published_);
}

Error SipConference::begin(MonoTime now) {
    if (Error busy = stream_.start_publish(*this, rules_.conflict, now)) {
        client_->end_quietly(net::EndClass::kRefused, busy.message());
        return busy;
    }
    published_ = true;
    net::begin_turn(*client_, net::ClientRole::kPublisher, stream_.key(),
                    fmt::format(" conference={}", log::token(name_)));
    return {};
}

void SipConference::end(net::EndClass why, std::string_view detail) {
    if (std::exchange(published_, false)) {
        stream_.end_publish(*this, MonoClock::now());
        client_->log_summary(why, detail);
    }
}

bool SipConference::take_seat() {
    if (seats_ == kMaxParties) {
        return false;
    }
    seats_++;
    return true;
}

std::string SipConference::describe() const {
    return fmt::format("conference {}", name_);
}

void SipConference::on_taken_over() {
    published_ = false;  // the other one holds it
    const std::string_view why = "another publisher took the stream over";
    client_->log_summary(net::EndClass::kReplaced, why);
    end_calls(net::EndClass::kReplaced, why);
}

void SipConference::end_calls(net::EndClass why, std::string_view detail) {
    for (ConferenceParty* const party : parties_) {
        party->end(why, detail);
    }
}

void SipConference::tick(MonoTime now) {
    due_ = due_ == MonoTime{} ? now - now.time_since_epoch() % kTick : due_;
    for (int ticks = 0; now >= due_; ticks++) {
        if (ticks == kMaxTicks) {
            const int64_t late = (now - due_) / kTick + 1;
            tick_ += late;
            due_ += late * kTick;
            break;
        }
        due_ += kTick;
        step(now);
        tick_++;
    }
}

void SipConference::step(MonoTime now) {
    const bool wide =
        std::ranges::any_of(parties_, [](const ConferenceParty* each) { return each->wide(); });
    mix_.begin(wide);
    std::array<std::span<const int16_t>, kMaxParties> said;
    for (size_t i = 0; i < parties_.size(); i++) {
        said[i] = parties_[i]->speak(now);
        if (!said[i].empty()) {
            mix_.add(said[i]);
        }
    }
    mix_.mix();
    mix_.narrow({}, all_narrow_);
    if (wide) {
        mix_.wide({}, all_wide_);
    }
    encoded_[0].clear();
    encoded_[1].clear();
    publish(now);
    for (size_t i = 0; i < parties_.size(); i++) {
        ConferenceParty& party = *parties_[i];
        if (!party.hears()) {
            continue;
        }
        if (party.wide()) {
            std::array<int16_t, ConferenceMix::kWideFrame> others;
            mix_.wide(said[i], others);
            party.hear(now, tick_, others, {});
        } else if (!said[i].empty()) {
            std::array<int16_t, ConferenceMix::kNarrowFrame> others;
            mix_.narrow(said[i], others);
            party.hear(now, tick_, others, {});
        } else {
            const Codec codec = party.is_g711_of(Codec::kG711A)   ? Codec::kG711A
                                : party.is_g711_of(Codec::kG711U) ? Codec::kG711U
                                                                  : Codec::kUnknown;
            party.hear(now, tick_, all_narrow_,
                       codec == Codec::kUnknown ? ByteSpan() : common(codec));
        }
    }
}

// What everybody says, once for each law and tick.
ByteSpan SipConference::common(Codec codec) {
    Bytes& codes = encoded_[codec == Codec::kG711A ? 0 : 1];
    if (codes.empty()) {
        codes.resize(all_narrow_.size());
        media::g711::encode(law_of(codec), all_narrow_, codes);
    }
    return codes;
}

void SipConference::publish(MonoTime now) {
    if (!published_) {
        return;
    }
    media::PacketInfo info;
    info.kind = media::TrackKind::kAudio;
    info.codec = kPublished;
    info.audience = aac_ ? media::Audience::kAllButMpeg : media::Audience::kEverybody;
    const ByteSpan codes = common(kPublished);
    client_->received_bytes += codes.size();
    const Ref<media::MediaPacket> packet = flv::make_packet(info, tick_ * kTickMs, codes);
    stream_.publish(*this, packet, now);
    if (aac_) {
        aac_->on_audio(packet);
    }
}

// ---- all of them ----

Result<SipConference*> SipConferences::seat_in(SipConference& conference) {
    if (!conference.take_seat()) {
        return make_error(ErrorCode::kFull, "the conference has {} parties",
                          SipConference::kMaxParties);
    }
    return &conference;
}

Result<SipConference*> SipConferences::enter(const std::string& name,
                                             net::Admission& admission,
                                             const net::NewcomerView& who,
                                             io::WorkerPool* workers) {
    if (const auto there = all_.find(name); there != all_.end()) {
        return seat_in(*there->second);
    }
    WEIR_TRY_ASSIGN(net::AdmittedPublisher place, admission.publish(who));
    if (const auto there = all_.find(name); there != all_.end()) {  // it began meanwhile
        place.client->end_quietly(net::EndClass::kRefused, "the conference has begun");
        return seat_in(*there->second);
    }
    const MonoTime now = MonoClock::now();
    stream::Stream& stream = registry_.get_or_create(who.access.key, place.rules.stream, now);
    auto made = std::make_unique<SipConference>(name, stream, std::move(place), workers);
    if (Error busy = made->begin(now)) {
        made.reset();
        registry_.release(stream);
        return busy;
    }
    return seat_in(*all_.emplace(name, std::move(made)).first->second);
}

void SipConferences::leave(SipConference& conference) {
    if (!conference.leave_seat()) {
        return;
    }
    conference.end(net::EndClass::kPeerClosed, "the last caller hung up");
    stream::Stream& stream = conference.stream();
    all_.erase(all_.find(conference.name()));
    registry_.release(stream);
}

void SipConferences::tick(MonoTime now) {
    for (const auto& [name, conference] : all_) {
        conference->tick(now);
    }
}

size_t SipConferences::parties() const {
    size_t sum = 0;
    for (const auto& [name, conference] : all_) {
        sum += conference->parties();
    }
    return sum;
}

}  // namespace weir::session
