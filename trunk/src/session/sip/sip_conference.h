// A conference: the callers of one number hear each other, and all of them are one stream. Ticks of
// 20 ms on the media thread: what callers say comes out of their jitter buffers (SipVoice), is
// mixed (ConferenceMix) and encoded, G.711 right there, other codecs on workers. Never yields.
//
// Parties are owned by their calls and leave before it goes. It ends with its last party.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/object_count.h"
#include "io/worker_pool.h"
#include "net/admission.h"
#include "net/rtp/audio_bridge.h"
#include "net/rtp/derived_aac.h"
#include "proto/rtp/header.h"
#include "proto/rtp/sender_stats.h"
#include "proto/sdp/phone.h"
#include "session/sip/conference_mix.h"
#include "session/sip/sip_reception.h"
#include "session/sip/sip_voice.h"
#include "stream/publisher.h"
#include "stream/registry.h"

namespace weir::session {

class SipConference;

// One caller of a conference.
class ConferenceParty final : private Counted<ConferenceParty> {
  public:
    static constexpr ObjectName kObjectName{"sip_party", "sip"};
    static constexpr size_t kMaxFrames = 3;  // that came from a worker and are not mixed yet

    struct Setup {
        media::Codec codec = media::Codec::kUnknown;
        uint32_t clock_hz = 8000;
        uint32_t ssrc = 0;                  // of what it hears
        io::WorkerPool* workers = nullptr;  // may be null: then G.711 only
    };

    // A payload of 20 ms for the phone.
    using Output = std::function<void(MonoTime now, ByteSpan payload, uint32_t rtp_time)>;
    using Over = std::function<void(net::EndClass why, std::string_view detail)>;

    // Joins. `over`: the conference ends; must not take this apart right away.
    ConferenceParty(SipConference& conference, const Setup& setup, Output out, Over over);
    ~ConferenceParty();
    ConferenceParty(const ConferenceParty&) = delete;
    ConferenceParty& operator=(const ConferenceParty&) = delete;

    static bool takes(media::Codec codec, const io::WorkerPool* workers) {
        return is_g711(codec) || workers != nullptr;
    }

    void handle_packet(MonoTime now,
                       const rtp::PacketView& packet,
                       rtp::PlayoutPacketView::Content content);

    void handle_rtcp(MonoTime now, const rtcp::PacketView& packet) {
        reception_.on_rtcp(now, packet);
    }

    // A party on hold neither speaks nor hears.
    void set_ways(bool speaks, bool hears) {
        speaks_ = speaks;
        hears_ = hears;
    }

    // Reports to the phone, when they are due; the size of what was written.
    size_t report(MonoTime now, MonoTime unix_epoch, std::span<uint8_t> out);

    const rtp::PlayoutStats& stats() const { return voice_.stats(); }

    const SipConference& conference() const { return conference_; }

    // ---- for the conference ----

    // What it says in this tick; empty: nothing. Good until the next one.
    std::span<const int16_t> speak(MonoTime now);

    bool wide() const { return voice_.options().to_rate > 8'000; }

    // `ready`: the same in its codec, where that is G.711 and somebody has it already.
    void hear(MonoTime now, int64_t tick, std::span<const int16_t> samples, ByteSpan ready);

    bool hears() const { return hears_; }

    bool is_g711_of(media::Codec codec) const { return setup_.codec == codec; }

    void end(net::EndClass why, std::string_view detail) { over_(why, detail); }

  private:
    void send(MonoTime now, ByteSpan payload, uint32_t rtp_time);

    SipConference& conference_;
    Setup setup_;
    Output out_;
    Over over_;
    bool speaks_ = true;
    bool hears_ = true;
    std::deque<std::vector<int16_t>> frames_;  // that came from its voice
    std::vector<int16_t> frame_;               // of this tick
    SipReception reception_;
    rtp::SenderStats sent_;
    uint32_t last_time_ = 0;  // RTP time of the last payload
    MonoTime last_sent_{};
    std::unique_ptr<net::AudioBridge> encoder_;  // of what is not G.711
    SipVoice voice_;                             // last: it gives frames
};

class SipConference final : public stream::Publisher, private Counted<SipConference> {
  public:
    static constexpr ObjectName kObjectName{"sip_conference", "sip"};
    static constexpr size_t kMaxParties = ConferenceMix::kMaxParties;
    static constexpr Micros kTick = Millis(20);
    static constexpr int kMaxTicks = 5;  // at once, when the media thread was busy
    static constexpr media::Codec kPublished = media::Codec::kG711U;
    static constexpr uint32_t kPublishedRate = 8'000;

    // `place`: of its stream, which begins. `workers`: for players who need AAC; may be null.
    SipConference(std::string name,
                  stream::Stream& stream,
                  net::AdmittedPublisher place,
                  io::WorkerPool* workers);
    ~SipConference();  // end() must have been called
    SipConference(const SipConference&) = delete;
    SipConference& operator=(const SipConference&) = delete;

    Error begin(MonoTime now);
    void end(net::EndClass why, std::string_view detail);

    const std::string& name() const { return name_; }

    stream::Stream& stream() { return stream_; }

    size_t parties() const { return parties_.size(); }

    // Often; does what is due.
    void tick(MonoTime now);

    // Calls that hold it, parties or not yet. False: it is full.
    bool take_seat();

    // True: that was the last one.
    bool leave_seat() { return --seats_ == 0; }

    // stream::Publisher
    std::string describe() const override;

    std::string_view client_id() const override { return client_->id(); }

    std::string_view client_ip() const override { return client_->ip(); }

    std::string_view client_transport() const override { return "sip"; }

    void on_taken_over() override;

    void on_sink() override {
        if (aac_) {
            aac_->on_sink();
        }
    }

  private:
    friend class ConferenceParty;

    void step(MonoTime now);
    void publish(MonoTime now);
    ByteSpan common(media::Codec codec);
    void end_calls(net::EndClass why, std::string_view detail);

    std::string name_;
    stream::Stream& stream_;
    std::unique_ptr<net::Client> client_;  // its row
    net::PublishRules rules_;
    std::vector<ConferenceParty*> parties_;
    ConferenceMix mix_;
    size_t seats_ = 0;
    bool published_ = false;
    std::optional<net::DerivedAac> aac_;
    MonoTime due_{};
    int64_t tick_ = 0;  // number of the next one

    // What is the same for all who say nothing, in this tick.
    std::array<int16_t, ConferenceMix::kNarrowFrame> all_narrow_{};
    std::array<int16_t, ConferenceMix::kWideFrame> all_wide_{};
    std::array<Bytes, 2> encoded_;  // A-law, mu-law; empty: not made in this tick
};

// The conferences of a server, by name.
class SipConferences {
  public:
    explicit SipConferences(stream::Registry& registry) : registry_(registry) {}

    // Yields. The conference of that name, with a seat taken in it; begun, if there is none, with
    // these `workers` (may be null).
    // kFull: kMaxParties have called. Otherwise the errors of net::Admission::publish() and of
    // Stream::start_publish().
    Result<SipConference*> enter(const std::string& name,
                                 net::Admission& admission,
                                 const net::NewcomerView& who,
                                 io::WorkerPool* workers);

    // Gives the seat back; the last one ends the conference.
    void leave(SipConference& conference);

    void tick(MonoTime now);

    size_t size() const { return all_.size(); }

    size_t parties() const;

  private:
    Result<SipConference*> seat_in(SipConference& conference);

    stream::Registry& registry_;
    std::map<std::string, std::unique_ptr<SipConference>, std::less<>> all_;
};

}  // namespace weir::session
