// The media path of a WebRTC session behind its keys: what a publisher or a player may send once it
// is connected. Bytes are a list of packets and steps of time. Nothing it sends may stop or grow
// the server, and no timer may want to run at once and again.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "session/webrtc/rtc_ingest.h"
#include "session/webrtc/rtc_sender.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data,
                                      size_t size);  // NOLINT(readability-identifier-naming)

namespace weir::session {
namespace {

constexpr uint8_t kTwccId = 3;
constexpr MonoTime kStart{Seconds(1000)};

struct Codecs {
    media::Codec video;
    media::Codec audio;
};

constexpr Codecs kCodecs[] = {
    {media::Codec::kH264, media::Codec::kOpus}, {media::Codec::kHevc, media::Codec::kG711A},
    {media::Codec::kVp8, media::Codec::kOpus},  {media::Codec::kVp9, media::Codec::kG711U},
    {media::Codec::kAv1, media::Codec::kOpus},
};

// Section 0 is video with RTX, section 1 audio; payload types 96 to 98.
sdp::Answer make_answer(uint8_t flags) {
    const Codecs codecs = kCodecs[flags % std::size(kCodecs)];
    sdp::Answer answer;
    for (const media::Codec codec : {codecs.video, codecs.audio}) {
        const bool video = codec == codecs.video;
        sdp::NegotiatedMedia& media = answer.media.emplace_back();
        media.kind = video ? media::TrackKind::kVideo : media::TrackKind::kAudio;
        media.codec = codec;
        media.accepted = true;
        media.direction = sdp::Direction::kSendRecv;
        media.payload_type = video ? 96 : 98;
        media.clock_hz = video ? 90'000 : codec == media::Codec::kOpus ? 48'000 : 8'000;
        media.ssrc = video ? 1 : 3;
        media.feedback.nack = video && (flags & 0x10U) != 0;
        media.feedback.pli = (flags & 0x20U) != 0;
        media.feedback.fir = true;
        media.feedback.remb = true;
        media.feedback.transport_cc = (flags & 0x40U) != 0;
        media.extensions.set(sdp::Extension::kTransportCc, kTwccId);
        media.extensions.set(sdp::Extension::kAbsSendTime, 2);
        if (video && (flags & 0x80U) != 0) {
            media.rtx_payload_type = 97;
            media.rtx_ssrc = 2;
            media.remote_ssrcs.push_back({1, 2});
        }
    }
    return answer;
}

class Publishing final : public stream::Publisher {
  public:
    explicit Publishing(uint8_t flags) {
        WEIR_CHECK(!stream_.start_publish(*this, stream::PublishConflict::kRefuse, now_));
        stream_.attach(muxer_);
        RtcIngestOptions options;
        options.key_frame_interval = Seconds(flags % 3);
        publisher_ = std::make_unique<RtcIngest>(stream_, *this, make_answer(flags), options);
    }

    ~Publishing() {
        stream_.detach(muxer_);
        stream_.end_publish(*this, now_);
    }

    std::string describe() const override { return "fuzz"; }

    std::string_view client_id() const override { return "fuzz"; }

    void on_taken_over() override {}

    void rtp(ByteSpan packet) {
        publisher_->on_rtp(now_, packet);
        drain();
    }

    // A packet with a right header, and a transport-wide number.
    void media(uint8_t type, uint8_t ssrc, uint16_t step, ByteSpan payload) {
        sequence_ = static_cast<uint16_t>(sequence_ + step);
        time_ += 3000U * (step == 0 ? 0U : 1U);
        std::array<uint8_t, 2> number;
        store_u16(number.data(), sequence_);
        const rtp::Extension extension{kTwccId, number};
        Bytes bytes(rtp::header_size({&extension, 1}));
        rtp::write_header(
            {static_cast<uint8_t>(96 + type % 4), (type & 4U) != 0, sequence_, time_, ssrc % 40U},
            {&extension, 1}, bytes.data());
        bytes.insert(bytes.end(), payload.begin(), payload.end());
        rtp(bytes);
    }

    void rtcp(ByteSpan compound) {
        rtcp::PacketView packet;
        for (rtcp::CompoundReader reader(compound); reader.next(packet);) {
            publisher_->on_rtcp(now_, packet);
        }
        drain();
    }

    void advance(Micros by) {
        now_ += by;
        publisher_->handle_timeout(now_);
        drain();
    }

  private:
    void drain() {
        std::array<uint8_t, 1180> out{};
        for (int i = 0; publisher_->poll_transmit(now_, out) > 0; i++) {
            WEIR_CHECK(i < 1000);
        }
        WEIR_CHECK(*publisher_->next_timeout() > now_);
        WEIR_CHECK(muxer_.log().bytes() <= 2 * stream::RtpLog::kMaxBytes);
    }

    MonoTime now_ = kStart;
    stream::Stream stream_{{"v", "a", "s"}, {}, kStart};
    RtcLogWriter muxer_{nullptr, 0, "s"};
    uint16_t sequence_ = 0;
    uint32_t time_ = 0;
    std::unique_ptr<RtcIngest> publisher_;
};

class Numbers final : public RandomSource {
  public:
    void fill(std::span<uint8_t> out) override { std::ranges::fill(out, uint8_t{0x7F}); }
};

class Playing final : private net::RtpOutlet {
  public:
    explicit Playing(uint8_t flags) : answer_(make_answer(flags)) {
        player_ =
            std::make_unique<RtcSender>(log_, protector_, answer_.find(media::TrackKind::kAudio),
                                        answer_.find(media::TrackKind::kVideo), numbers_, now_);
    }

    void frame(uint8_t flags, ByteSpan bytes) {
        stream::RtpLog::Frame frame;
        frame.track = flags & 1U;
        frame.start = frame.key = (flags & 6U) == 6;
        frame.discardable = (flags & 8U) != 0;
        frame.time_ms = time_ms_ += flags >> 4U;
        frame.rtp_time = static_cast<uint32_t>(time_ms_ * 90);
        log_.begin_frame(frame);
        for (size_t i = 0; i < 1U + flags % 5; i++) {
            log_.add_packet(bytes, as_bytes("payload"));
        }
        log_.end_frame();
    }

    void rtcp(ByteSpan compound) {
        rtcp::PacketView packet;
        for (rtcp::CompoundReader reader(compound); reader.next(packet);) {
            player_->on_rtcp(now_, packet, *this);
        }
        WEIR_CHECK(player_->estimate_bps() > 0);
    }

    void flush(bool blocked) {
        blocked_ = blocked;
        for (int i = 0; player_->flush(now_, *this, 8) == net::RtpFlush::kMore; i++) {
            WEIR_CHECK(i < 10'000);
        }
        blocked_ = false;
    }

    void advance(Micros by) {
        now_ += by;
        time_ms_ += by.count() / 1000;
        std::array<uint8_t, 1180> out{};
        player_->report(now_, MonoTime{}, out);
        player_->handle_timeout(now_);
        WEIR_CHECK(player_->next_report() > now_);
    }

    void forget() { log_.forget_start(); }

  private:
    bool send_burst(ByteSpan packets, size_t segment_bytes) override {
        WEIR_CHECK(!packets.empty() && segment_bytes <= packets.size());
        return !blocked_;
    }

    MonoTime now_ = kStart;
    int64_t time_ms_ = 0;
    bool blocked_ = false;
    sdp::Answer answer_;
    Numbers numbers_;
    stream::RtpLog log_;
    srtp::ControlCipher control_;
    srtp::Protector protector_{srtp::Profile::kAeadAes128Gcm, srtp::MasterKey{}, control_};
    std::unique_ptr<RtcSender> player_;
};

void publish(ByteReader& in) {
    Publishing machine(in.u8());
    while (!in.empty()) {
        const uint8_t op = in.u8();
        const uint8_t value = in.u8();
        const auto take = [&in, value] { return in.take(std::min<size_t>(value, in.remaining())); };
        switch (op % 5) {
            case 0: {
                const uint8_t ssrc = in.u8();
                const uint8_t step = in.u8();
                machine.media(op / 5, ssrc, step, take());
                break;
            }
            case 1: machine.rtp(take()); break;
            case 2: machine.rtcp(take()); break;
            case 3: machine.media(op / 5, 1, 1, take()); break;
            default: machine.advance(Millis(value * (op / 5 + 1))); break;
        }
    }
}

void play(ByteReader& in) {
    Playing machine(in.u8());
    while (!in.empty()) {
        const uint8_t op = in.u8();
        const uint8_t value = in.u8();
        switch (op % 5) {
            case 0: machine.frame(value, in.take(std::min<size_t>(op / 5, in.remaining()))); break;
            case 1: machine.rtcp(in.take(std::min<size_t>(value, in.remaining()))); break;
            case 2: machine.flush((value & 1U) != 0); break;
            case 3: value == 0 ? machine.forget() : machine.flush(false); break;
            default: machine.advance(Millis(value * (op / 5 + 1))); break;
        }
    }
}

}  // namespace
}  // namespace weir::session

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    weir::ByteReader in({data, size});
    (in.u8() & 1U) != 0 ? weir::session::publish(in) : weir::session::play(in);
    return 0;
}
