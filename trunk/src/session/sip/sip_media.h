// The media of one call: its UDP ports, what the phone sends as packets of a stream, and what it
// hears as a player of another. Never yields.
//
// RTP is symmetric: packets go to where the phone's come from. Only the addresses that its
// description or its signalling named may send; of everybody else nothing is taken.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/object_count.h"
#include "net/client_table.h"
#include "net/policy.h"
#include "net/rate_guard.h"
#include "net/rtp/rtp_ingest.h"
#include "net/rtp/rtp_ports.h"
#include "net/rtp/rtp_sender.h"
#include "proto/rtp/telephone_event.h"
#include "proto/sdp/phone.h"
#include "session/sip/sip_log_writer.h"

namespace weir::session {

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

    // `unix_epoch`: MonoTime of 1970.
    SipMedia(SipMediaOwner& owner, MonoTime unix_epoch) : owner_(owner), unix_epoch_(unix_epoch) {}

    ~SipMedia();  // stop() must have been called, if it was ever begun
    SipMedia(const SipMedia&) = delete;
    SipMedia& operator=(const SipMedia&) = delete;

    // Ports for one or both tracks, of an address of this host. kBusy: no pair is free.
    Error open(const NetAddress& local, const net::PortRange& range, bool audio, bool video);

    uint16_t port(size_t track) const;

    // What was agreed, at first and again (hold, another address, another codec). `signalling`:
    // where the phone's messages come from.
    void agree(const sdp::PhoneAgreement& agreed, const NetAddress& signalling);

    // The phone hears the pump's stream; `client` is the row of that. The pump is held.
    void play(SipPump& pump, net::Client& client);

    // What the phone says is `stream`, which this has begun to publish; `client` is its row.
    void publish(stream::Stream& stream, const net::PublishRules& rules, net::Client& client);

    // A few times a second.
    void tick(MonoTime now);

    // Ends both.
    void stop();

    bool plays() const { return pump_ != nullptr; }

    // When the phone sent something last; of the beginning before that.
    MonoTime last_heard() const { return last_heard_; }

    const SipMediaCounters& counters() const { return counters_; }

    std::optional<net::LinkFacts> play_facts() const;
    std::optional<net::LinkFacts> publish_facts() const;

    // stream::Publisher
    std::string describe() const override;
    std::string_view client_id() const override;
    std::string_view client_ip() const override;
    std::string_view client_transport() const override;
    void on_taken_over() override;

    void on_key_frame_wanted() override { wants_picture_ = true; }

  private:
    struct Way {
        std::unique_ptr<net::RtpPorts> ports;
        NetAddress rtp;  // where it goes
        NetAddress rtcp;
    };

    const sdp::PhoneTrack& track(size_t index) const {
        return index == kAudio ? agreed_.audio : agreed_.video;
    }

    // net::RtpPortsOwner
    void on_datagram(size_t track, bool rtcp, ByteSpan bytes, const NetAddress& from) override;

    void on_more_datagrams() override { more_ = true; }

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
    void send_rtcp(size_t index, ByteSpan compound);
    void ask_for_key_frame(MonoTime now);

    SipMediaOwner& owner_;
    MonoTime unix_epoch_;
    std::array<Way, 2> ways_;  // by track
    NetAddress signalling_;
    sdp::PhoneAgreement agreed_;
    MonoTime last_heard_{};
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

    // Publishing.
    stream::Stream* stream_ = nullptr;
    net::Client* publisher_ = nullptr;
    std::optional<net::RateGuard> rate_;
    std::unique_ptr<net::RtpIngest> ingest_;
    std::array<std::optional<size_t>, 2> places_;  // in the ingest's list, by track
    std::optional<rtp::TelephoneEventReceiver> events_;
};

}  // namespace weir::session
