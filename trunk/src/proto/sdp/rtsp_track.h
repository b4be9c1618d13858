// The tracks of an RTSP description: of a publisher's ANNOUNCE, or of a camera's or server's answer
// to DESCRIBE (RFC 2326 appendix C).
//
// Cameras write what they like: attributes may be missing, twice, or in any case, lines may be
// broken, and a track that cannot be received does not spoil the others. So only text that is no
// SDP is an error; a track says itself why it is not supported. All values are owned.
//
// Peers: rtp
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "media/codec.h"
#include "proto/rtp/payload_parameters.h"
#include "proto/sdp/attributes.h"
#include "proto/sdp/description.h"
#include "proto/sdp/sdes.h"

namespace weir::sdp {

inline constexpr size_t kMaxControlBytes = 2048;  // of a=control; a longer one is as if not there
inline constexpr size_t kMaxNamedParameterSets = 16;  // of a track; more are not read
inline constexpr size_t kMaxNamedSetBytes = 1024;     // of one of them
inline constexpr size_t kMaxNamedConfigBytes = 256;   // of config=

struct RtspTrack {
    media::TrackKind kind = media::TrackKind::kData;
    media::Codec codec = media::Codec::kUnknown;
    bool transport_stream = false;  // MP2T: the codecs are inside
    std::string unsupported;        // why it cannot be received; empty: it can
    std::string encoding;           // as named in rtpmap: "H264"
    uint8_t payload_type = 0;
    uint32_t clock_hz = 0;
    uint8_t channels = 0;  // of audio
    std::string control;   // as written; empty: none
    std::string language;  // of a=lang, BCP 47: "en"; empty: not said
    std::string name;      // of i=, a=title or a=label; untrusted, short; empty: not said
    Direction direction = Direction::kSendRecv;
    uint16_t port = 0;
    std::string protocol;    // "RTP/AVP"
    std::string connection;  // of its c= line or the session's: "IN IP4 239.1.2.3/127"
    Bytes config;            // AudioSpecificConfig of AAC; empty: not said, or packets bring it
    std::vector<Bytes> parameter_sets;  // NAL units of H.264 and HEVC, in the order of the text
    rtp::PayloadParameters parameters;
    std::vector<CryptoLine> crypto;  // a=crypto and a=key-mgmt, of the track or of all

    bool is_supported() const { return unsupported.empty(); }

    // RTP/SAVP or RTP/SAVPF: packets are encrypted.
    bool is_secure() const { return protocol.starts_with("RTP/SAVP"); }
};

struct RtspDescription {
    std::string name;     // of s=
    std::string control;  // of the session, as written; empty: none. Of several the first.
    std::string range;    // "npt=now-"; empty: not said
    std::vector<RtspTrack> tracks;  // in the order of their m= lines, supported or not

    // kMalformed or kLimit, with the number of the line (kMaxTextBytes, kMaxMedia and the others of
    // description.h).
    static Result<RtspDescription> parse(std::string_view text);
};

// One m= section of a session, for those that have parsed it already.
RtspTrack read_rtsp_track(const Session& session, const Media& media);

}  // namespace weir::sdp
