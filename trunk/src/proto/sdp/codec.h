// Payload formats in offers: which codec a payload type is, and which of several fits.
//
// The parameters are those of RFC 6184 §8 (H.264), RFC 7798 §7 (HEVC), RFC 7741 §6 (VP8),
// RFC 9628 §6 (VP9), the AV1 RTP specification §7, RFC 7587 §6 (Opus), RFC 3551 (G.711, G.722),
// RFC 5574 §3 (Speex).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "media/codec.h"
#include "proto/sdp/attributes.h"

namespace weir::sdp {

// A payload type of an m= section, with everything that its attributes say of it.
struct PayloadFormat {
    uint8_t payload_type = 0;
    std::string name;  // of rtpmap: "opus", "H264"
    media::Codec codec = media::Codec::kUnknown;
    uint32_t clock_hz = 0;
    uint8_t channels = 1;
    std::string fmtp;
    Feedback feedback;
    std::optional<uint8_t> rtx_payload_type;  // RFC 4588: the payload type that resends this one

    bool operator==(const PayloadFormat&) const = default;
};

// The codec of an encoding name (case does not matter); kUnknown for what is no codec of media
// (rtx, red, ulpfec, CN, telephone-event ...) and for those that are not spoken.
media::Codec codec_of(std::string_view encoding_name);

// The name in rtpmap, e.g. "opus"; empty for codecs that have no RTP format here.
std::string_view encoding_name_of(media::Codec codec);

// Codecs that have a format here and that telephones alone use: WebRTC and RTSP neither offer nor
// take them.
bool is_telephony_only(media::Codec codec);

// Formats beside the codec (RFC 4733, RFC 3389); their codec is kUnknown. They go with the audio
// format of the same clock.
bool is_telephone_event(const PayloadFormat& format);
bool is_comfort_noise(const PayloadFormat& format);

// Samples a second of a codec whose RTP clock is this. They differ for G.722 only, which has two
// samples in a tick of its clock (RFC 3551 §4.5.2).
uint32_t sample_rate_of(media::Codec codec, uint32_t clock_hz);

// Static payload types (RFC 3551 §6) need no rtpmap. Only those of codecs that are spoken.
std::optional<RtpMap> static_payload_type(uint8_t payload_type);

// The profiles of H.264 as RFC 6184 §8.1, table 5, tells them apart by profile_idc and
// constraint_set flags; the order is that of what a decoder can do.
enum class H264Profile : uint8_t {
    kUnknown,
    kConstrainedBaseline,
    kBaseline,
    kMain,
    kConstrainedHigh,
    kHigh,
    kHigh10,
    kHigh422,
    kHigh444,
};

struct H264Level {
    H264Profile profile = H264Profile::kUnknown;
    uint8_t level_idc = 0;
};

// From the three bytes profile_idc, constraint flags, level_idc: of profile-level-id, of an SPS, of
// an AVCDecoderConfigurationRecord.
H264Level h264_level(uint32_t profile_level_id);

// "42e01f" -> 0x42e01f.
std::optional<uint32_t> parse_profile_level_id(std::string_view text);

// True when a decoder of `decoder` plays a stream of `stream`.
bool h264_decodes(H264Profile decoder, H264Profile stream);

// What this side can send in a payload format. Zeros: not known, anything fits.
struct SendCodec {
    media::Codec codec = media::Codec::kUnknown;
    uint32_t h264_profile_level_id = 0;  // the three bytes after the NAL header of the SPS
    uint8_t profile = 0;   // HEVC: general_profile_idc; VP9: profile; AV1: seq_profile
    uint8_t channels = 2;  // audio

    bool operator==(const SendCodec&) const = default;
};

enum class Fit : uint8_t {
    kNone,
    kOtherProfile,  // the same codec and packetization, but a profile that does not cover it
    kUnsaidMode,    // covers it, and H.264's packetization mode is not said
    kCovers,        // a profile that covers it
    kExact,
};

// Whether a stream of `mine` may be sent as `offered`. H.264 and HEVC levels are not compared.
// Deviation from RFC 6184 §8.2.2: browsers name level 3.1 whatever they decode.
Fit fit_for_sending(const SendCodec& mine, const PayloadFormat& offered);

// The best format for `mine`; the first one of equals. `lenient` admits kOtherProfile.
struct SendChoice {
    const PayloadFormat* format = nullptr;  // null: none fits
    Fit fit = Fit::kNone;
};

SendChoice choose_for_sending(const SendCodec& mine,
                              std::span<const PayloadFormat> offered,
                              bool lenient);

// Why nothing of `offered` fits although the codec is there, and what to offer instead; empty when
// the codec is not there.
std::string why_none_fits(const SendCodec& mine, std::span<const PayloadFormat> offered);

// The best format to receive `codec` in; null when none is understood. H.264 in packetization
// mode 1 before 0, profile 0 of VP9 and AV1 and Main of HEVC before others, then the order of the
// offer. Never H.264 in packetization mode 2 or HEVC over several streams: both interleave.
const PayloadFormat* choose_for_receiving(media::Codec codec,
                                          std::span<const PayloadFormat> offered);

// The fmtp of the answer (RFC 3264 §6.1, RFC 6184 §8.2.2), empty for none. Receiving: H.264 gets
// level 5.2 where the offer allows levels to differ, Opus asks for stereo.
std::string fmtp_for_receiving(const PayloadFormat& offered);
std::string fmtp_for_sending(const SendCodec& mine, const PayloadFormat& offered);

}  // namespace weir::sdp
