// The media of one call: its UDP ports, what the phone sends as packets of a stream, and what it
// hears as a player of another. Never yields.
//
// RTP is symmetric: packets go to where the phone's come from. Only the addresses that its
// description or its signalling named, or that ICE found, may send; of everybody else nothing is
// taken. What protects a track is in SipSecure; a plain one without ICE has none.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/object_count.h"
#include "net/client_table.h"
#include "net/link_facts.h"
#include "net/policy.h"
#include "net/rate_guard.h"
#include "net/rtp/rtp_ports.h"
#include "net/rtp/rtp_sender.h"
#include "proto/rtp/telephone_event.h"
#include "proto/sdp/phone.h"
#include "session/sip/sip_audio_out.h"
#include "session/sip/sip_audio_pacer.h"
#include "session/sip/sip_conference.h"
#include "session/sip/sip_ingest.h"
#include "session/sip/sip_log_writer.h"
#include "session/sip/sip_secure.h"
#include "session/sip/sip_stream_voice.h"

namespace weir::session {

class SipPump;

// What holds before anything does. Never null.
std::shared_ptr<const sdp::PhoneAgreement> nothing_agreed();

class SipMediaOwner {
  public:
    // Keys that were pressed.
    virtual void on_digit(char digit) = 0;

    // More than max_publish_bitrate, or another client has taken the stream.
    virtual void on_publish_over(net::EndClass why, std::string_view detail) = 0;

    // It cannot be played on: the pump said so.
    virtual void on_play_over(net::EndClass why, std::string_view detail) = 0;

  protected:
    ~SipMediaOwner() = default;
};

struct SipMediaCounters {
    uint64_t received = 0;   // packets of RTP
    uint64_t strangers = 0;  // datagrams of an address that no description named
    uint64_t unusable = 0;   // of encrypted tracks, and of ICE: what brought no media
};

// What phones say is made even by a jitter buffer (SipStreamVoice).
struct SipVoiceRules {
    bool always = false;  // else only where it is needed: G.722, and silence that is not sent
    io::WorkerPool* workers = nullptr;
};

class SipMedia final : public stream::Publisher,
                       public net::RtpPlayer,
                       private net::RtpPortsOwner,
                       private net::RtpOutlet,
                       private Counted<SipMedia> {
  public:
    static constexpr ObjectName kObjectName{"sip_media", "sip"};
    static constexpr size_t kAudio = net::kRtpAudioTrack;
    static constexpr size_t kVideo = net::kRtpVideoTrack;
    static constexpr Micros kKeyFramePeriod = Seconds(1);  // between two that the phone asks for

    static constexpr size_t kMaxDatagram = 4096;  // of encrypted tracks; longer ones are no media

    // `unix_epoch`: MonoTime of 1970. `security` must outlive this.
    SipMedia(SipMediaOwner& owner, MonoTime unix_epoch, SipSecurity& security);

    ~SipMedia();  // stop() must have been called, if it was ever begun
    SipMedia(const SipMedia&) = delete;
    SipMedia& operator=(const SipMedia&) = delete;

    // Ports for one or both tracks, of an address of this host. kBusy: no pair is free.
    Error open(const NetAddress& local, const net::PortRange& range, bool audio, bool video);

    uint16_t port(size_t track) const;

    // What was agreed, at first and again (hold, another address, another codec). `signalling`:
    // where the phone's messages come from.
    void agree(std::shared_ptr<const sdp::PhoneAgreement> agreed, const NetAddress& signalling);

    // Before publish().
    void use_voice(const SipVoiceRules& rules) { voice_rules_ = rules; }

    // The phone hears the pump's stream; `client` is the row of that. The pump is held.
    void play(SipPump& pump, net::Client& client);

    // The phone hears nothing any more; play() may follow. Not inside of on_play_over().
    void stop_playing();

    // What the phone says is `stream`, which this has begun to publish; `client` is its row.
    void publish(stream::Stream& stream, const net::PublishRules& rules, net::Client& client);

    // The phone is a party of a conference; `client` is its row. Instead of the two above.
    void join(SipConference& conference, net::Client& client);

    // Each 20 ms.
    void tick(MonoTime now);

    // The phone hears these keys, by telephone-event; false: it does not take that, or too many
    // wait already. Then none is sent.
    bool send_digits(std::string_view digits, Micros duration);

    bool takes_digits() const { return audio_out_.takes_digits(); }

    // The phone wants a key frame, by whatever means it said so.
    void want_picture(MonoTime now);

    // Ends both.
    void stop();

    bool plays() const { return pump_ != nullptr || party_ != nullptr; }

    // When the phone sent something last; of the beginning before that.
    MonoTime last_heard() const { return last_heard_; }

    const SipMediaCounters& counters() const { return counters_; }

    // How the tracks in use are encrypted, and whether ICE found the phone.
    sdp::PhoneKeys keys() const;
    bool found_by_ice() const;

    // Of the jitter buffer; null: the phone's packets are the stream's.
    const rtp::PlayoutStats* voice_stats() const {
        return voice_ ? &voice_->stats() : party_ ? &party_->stats() : nullptr;
    }

    std::optional<net::LinkFacts> play_facts() const;
    std::optional<net::LinkFacts> publish_facts() const;

    // stream::Publisher
    std::string describe() const override;
    std::string_view client_id() const override;
    std::string_view client_ip() const override;
    std::string_view client_transport() const override;
    void on_taken_over() override;

    void on_sink() override {
        if (ingest_) {
            ingest_->on_sink();
        }
    }

    void on_key_frame_wanted() override { wants_picture_ = true; }

  private:
    struct Way {
        std::unique_ptr<net::RtpPorts> ports;
        std::unique_ptr<SipSecure> secure;  // null: plain, and without ICE
        NetAddress rtp;                     // where it goes
        NetAddress rtcp;
    };

    const sdp::PhoneTrack& track(size_t index) const {
        return index == kAudio ? agreed_->audio : agreed_->video;
    }

    // net::RtpPortsOwner
    void on_datagram(size_t track, bool rtcp, ByteSpan bytes, const NetAddress& from) override;

    void on_more_datagrams() override { more_ = true; }

    void take_secured(size_t index, bool rtcp, ByteSpan bytes, const NetAddress& from);
    void secure(size_t index);
    void tick_secure(MonoTime now);
    void transmit(MonoTime now, Way& way);
    bool waits_for_keys() const;
    bool may_hear(size_t index) const;
    NetAddress destination(const Way& way, bool rtcp) const;
    void take_media(MonoTime now,
                    size_t index,
                    bool rtcp_port,
                    bool rtcp,
                    ByteSpan bytes,
                    const NetAddress& from);
    void take_rtp(MonoTime now, size_t index, ByteSpan bytes, const NetAddress& from);
    void take_rtcp(MonoTime now, size_t index, ByteSpan compound);
    void take_digits(MonoTime now, uint32_t rtp_time, ByteSpan payload);
    void tell_digits();
    bool may_send(const Way& way, const NetAddress& from) const;

    // net::RtpPlayer
    net::RtpFlush flush(MonoTime now, size_t most_runs) override;
    Fate look(MonoTime now) override;
    void end_playing(net::EndClass why, std::string_view reason) override;

    // net::RtpOutlet
    bool send_burst(ByteSpan packets, size_t segment_bytes) override;

    void begin_sender(MonoTime now);
    void begin_ingest();
    void begin_voice();
    void take_payload(MonoTime now, size_t index, ByteSpan bytes, const rtp::PacketView& packet);
    void send_rtp(size_t index, ByteSpan packet);
    void send_due_audio(MonoTime now);
    void send_rtcp(size_t index, ByteSpan compound);
    void keep_alive(MonoTime now);
    void send_mixed(MonoTime now, ByteSpan payload, uint32_t rtp_time);
    void set_party_ways();
    void ask_for_key_frame(MonoTime now);

    SipMediaOwner& owner_;
    MonoTime unix_epoch_;
    SipSecurity& security_;
    std::array<Way, 2> ways_;  // by track
    NetAddress signalling_;
    std::shared_ptr<const sdp::PhoneAgreement> agreed_;  // the call has it, too; never null
    MonoTime last_heard_{};
    MonoTime ticked_{};
    SipMediaCounters counters_;
    bool more_ = false;
    bool wants_picture_ = false;

    // Playing.
    SipPump* pump_ = nullptr;
    net::Client* player_ = nullptr;
    net::PlainRtpSealer sealer_;
    std::unique_ptr<net::RtpSender> sender_;
    std::array<uint32_t, 2> ssrcs_{};  // by track
    MonoTime key_asked_{};
    SipAudioPacer audio_pacer_;
    SipAudioOut audio_out_;
    MonoTime video_sent_{};  // any packet

    // Publishing.
    stream::Stream* stream_ = nullptr;
    net::Client* publisher_ = nullptr;
    std::optional<net::RateGuard> rate_;
    std::unique_ptr<SipIngest> ingest_;
    std::array<std::optional<size_t>, 2> places_;  // in the ingest's list, by track
    std::optional<rtp::TelephoneEventReceiver> events_;
    SipVoiceRules voice_rules_;
    std::unique_ptr<SipStreamVoice> voice_;

    // In a conference.
    std::unique_ptr<ConferenceParty> party_;
    bool only_speaks_ = false;  // it never wanted to hear anything
};

}  // namespace weir::session
