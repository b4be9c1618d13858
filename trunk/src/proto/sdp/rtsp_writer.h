// Writes the description of a stream that RTSP players are given for DESCRIBE (RFC 2326 appendix
// C), and that an ANNOUNCE of ours carries: live or recorded, one m= section for each track, with
// the codec's configuration where it is known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "media/codec.h"
#include "proto/sdp/sdes.h"

namespace weir::sdp {

// First payload type of those that are given at will.
inline constexpr uint8_t kFirstDynamicType = 96;

struct RtspTrackOffer {
    media::Codec codec = media::Codec::kUnknown;  // that has an RTP payload format here
    uint8_t payload_type = kFirstDynamicType;
    uint32_t clock_hz = 0;  // of the RTP times; 0: the usual one, see rtsp_clock()
    uint8_t channels = 2;   // of audio
    // The payload of the codec's sequence header (avcC, hvcC, av1C, vpcC, AudioSpecificConfig);
    // empty or unreadable: not known.
    Bytes config;
    std::string control;  // "trackID=0"
    uint16_t port = 0;    // of multicast; 0: SETUP says it
    std::vector<CryptoLine> crypto;
    std::string key_mgmt;  // the value of a=key-mgmt; empty: none
};

struct RtspOffer {
    std::string name;             // of the stream; control characters are left out
    uint64_t session_id = 1;      // of o=
    uint64_t version = 1;         // of o=; grows with each change
    std::string address;          // of the server, numeric; its family is told by ':'
    std::string multicast_group;  // empty: unicast
    uint8_t multicast_ttl = 16;
    std::string tool;     // a=tool; empty: not said
    bool secure = false;  // RTP/SAVP
    bool recorded = false;
    int64_t duration_ms = 0;  // of a recording; 0: open
    std::vector<RtspTrackOffer> tracks;
};

// Tracks of codecs without a payload format here are left out.
std::string write_rtsp_description(const RtspOffer& offer);

// The static payload type of a codec (PCMU, PCMA, MPA); nothing for all others.
std::optional<uint8_t> rtsp_payload_type(media::Codec codec);

// The clock of the RTP times of a codec with this configuration: the sample rate for AAC, fixed for
// all others. 0: AAC whose configuration is not known.
uint32_t rtsp_clock(media::Codec codec, ByteSpan config);

// "H264/90000"; empty: the codec has no payload format here.
std::string write_rtsp_rtpmap(media::Codec codec, uint32_t clock_hz, uint8_t channels);

// The text behind the payload type in a=fmtp; empty: there is nothing to say.
std::string write_rtsp_fmtp(media::Codec codec, ByteSpan config, uint8_t channels);

}  // namespace weir::sdp
