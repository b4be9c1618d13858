// Audio and video messages for players that know FLV and Enhanced RTMP v1, and nothing of v2
// (mpegts.js, flv.js, ffmpeg before 7.1, rtmpdump, VLC): one track of a kind, no ModEx, no metadata
// frames, and the old header where the codec has one (H.264, AAC, MP3). A message of any other form
// ends the playing in mpegts.js, and makes a second stream or broken frames in others.
//
// Pure; never yields.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "media/packet.h"

namespace weir::flv {

// The message in which `track_id` of the packet is plain: the packet itself where it is so already.
// Null: it has no such track, or nothing for such a player. Data messages stay as they are. What
// stream and session have put into the info (audience, layer, time) is kept.
media::PacketRef plain_form(const media::PacketRef& packet, uint8_t track_id);

// The same for a stream, whose default track of each kind is that of its first message; one that is
// attached later has to be told the default audio track. One for each wire format that serves plain
// players.
class PlainTracks {
  public:
    using Packets = std::vector<media::PacketRef>;

    // Calls `write(packet, start)` with the plain form of a packet that has one. `start`: a player
    // may begin here, so if the packet is video, its track is the default; the configurations,
    // metadata and early audio in it come in their order as far as they have a plain form. Null
    // elsewhere, as for `write`.
    template <class Write>
    void take(const media::PacketRef& packet, const Packets* start, Write&& write) {
        // First: it says which track is the default.
        const media::PacketRef plain = plain_of(packet, start != nullptr);
        const Packets configs = start ? plain_of(*start) : Packets();
        if (plain) {
            write(plain, start ? &configs : nullptr);
        }
    }

    // Nothing: that of the next audio message.
    void set_default_audio(std::optional<uint8_t> track_id) {
        tracks_[static_cast<size_t>(media::TrackKind::kAudio)] = track_id;
    }

    // The next message is of another publisher.
    void forget() { tracks_ = {}; }

  private:
    media::PacketRef plain_of(const media::PacketRef& packet, bool start);
    Packets plain_of(const Packets& packets);

    std::array<std::optional<uint8_t>, 2> tracks_;  // by TrackKind
};

}  // namespace weir::flv
