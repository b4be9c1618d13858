// SRTP (RFC 3711) of RTSP sessions whose keys stand in the description (a=crypto, RFC 4568, and
// a=key-mgmt, RFC 4567) or in SETUP (KeyMgmt), which must go through an encrypted connection: what
// a player is sent, and what a publisher sends. Never yields.
//
// A receiver that knows only the key takes the roll-over counter for 0, so a player has a key and
// sequence numbers of its own; SSRC, times and payloads are those of the log that all players
// share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/object_count.h"
#include "base/random.h"
#include "proto/sdp/sdes.h"
#include "proto/srtp/keys.h"
#include "proto/srtp/protector.h"
#include "proto/srtp/rtcp_unprotector.h"
#include "proto/srtp/unprotector.h"
#include "stream/rtp_log.h"

namespace weir::session {

struct RtspSrtpKey {
    srtp::Profile profile = srtp::Profile::kAes128CmSha1_80;
    srtp::MasterKey master;
};

// What publishers may name; players are given the first.
inline constexpr std::string_view kRtspSrtpSuites =
    "AES_CM_128_HMAC_SHA1_80 or AES_CM_128_HMAC_SHA1_32";

RtspSrtpKey make_rtsp_srtp_key(RandomSource& random);

sdp::CryptoLine rtsp_crypto_line(const RtspSrtpKey& key);

// The same for a=key-mgmt.
std::string rtsp_key_mgmt(const RtspSrtpKey& key, RandomSource& random);

// Of the first line whose suite is known here.
std::optional<RtspSrtpKey> find_rtsp_srtp_key(const std::vector<sdp::CryptoLine>& lines);

// Of one player.
class RtspSrtpSender final : private Counted<RtspSrtpSender> {
  public:
    // Keys of a player by encrypted RTP.
    static constexpr ObjectName kObjectName{"rtsp_srtp_sender", "rtsp"};
    static constexpr size_t kTracks = 2;

    // Under which a player sends its reports of each track; none: under the key that it was given.
    using ReportKeys = std::array<std::optional<RtspSrtpKey>, kTracks>;

    // `control` must outlive this.
    RtspSrtpSender(const RtspSrtpKey& key,
                   const ReportKeys& reports,
                   srtp::ControlCipher& control,
                   RandomSource& random);

    // The packets of a run, end to end, each of `packet_bytes` but the last. Good until the next
    // call of any. Empty: they do not fit.
    struct Sealed {
        ByteSpan bytes;
        size_t packet_bytes = 0;
    };

    // Of a log whose payloads are packets with their headers. A run may come again as it was.
    Sealed seal(const stream::RtpRun& run);

    // Of the first packet that seal() makes of a track.
    uint16_t first_sequence(uint8_t track) const {
        return static_cast<uint16_t>(tracks_[track].first_index);
    }

    // Something was sealed.
    bool begun() const { return tracks_[0].origin || tracks_[1].origin; }

    // In place, as srtp::Protector::protect_rtcp().
    size_t seal_rtcp(std::span<uint8_t> buffer, size_t size) {
        return protector_.protect_rtcp(buffer, size);
    }

    // The plain compound, good until the next call of any; empty: it is not authentic.
    ByteSpan open_rtcp(uint8_t track, ByteSpan packet);

  private:
    struct Track {
        uint64_t first_index = 0;             // of the packet number `origin`
        std::optional<uint64_t> origin = {};  // of the log's numbers, that was sent first
    };

    srtp::Protector protector_;
    srtp::RtcpUnprotector unprotector_;
    // Of tracks whose reports have a key of their own.
    std::array<std::unique_ptr<srtp::RtcpUnprotector>, kTracks> by_track_;
    std::array<Track, kTracks> tracks_;
};

// Of one track of a publisher.
class RtspSrtpReceiver final : private Counted<RtspSrtpReceiver> {
  public:
    // Keys of a track that comes by encrypted RTP.
    static constexpr ObjectName kObjectName{"rtsp_srtp_receiver", "rtsp"};

    // kInternal: the library cannot start.
    static Result<std::unique_ptr<RtspSrtpReceiver>> create(const RtspSrtpKey& key,
                                                            srtp::ControlCipher& control);

    RtspSrtpReceiver(const RtspSrtpKey& key,
                     srtp::ControlCipher& control,
                     std::unique_ptr<srtp::Unprotector> unprotector)
        : unprotector_(std::move(unprotector)), protector_(key.profile, key.master, control) {}

    // The plain packet, good until the next call of any; empty: it is not authentic, or came
    // before.
    ByteSpan open_rtp(ByteSpan packet);
    ByteSpan open_rtcp(ByteSpan packet);

    // Our reports, under the publisher's key: an ANNOUNCE is answered with no other.
    size_t seal_rtcp(std::span<uint8_t> buffer, size_t size) {
        return protector_.protect_rtcp(buffer, size);
    }

  private:
    std::unique_ptr<srtp::Unprotector> unprotector_;
    srtp::Protector protector_;
};

}  // namespace weir::session
