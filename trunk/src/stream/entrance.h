// Entrance: puts the video of one publisher in order before its stream keeps it. What goes on is
// whole pictures of whole units, in the parameters that are announced, whatever was sent
// (doc/streams.md).
//
// - Messages of one time that belong to one picture are joined (ISO/IEC 14496-15 clause 5: a sample
//   is an access unit). Messages without a slice are put before the picture that follows.
// - Units that are empty, cut off or not to be read are left out; so is the message of which
//   nothing remains.
// - Parameter sets that pictures bring along and that differ from those in force become a codec
//   configuration before the next key picture.
//
// Nobody waits who sends whole pictures. Of a publisher that has been seen to send a picture in
// several messages, each picture waits for the message behind it; of the first one, which is a
// single unit, it is not known yet, and it waits for any message; both for two seconds at most.
// Pure; never yields. Of codecs without units (VP8, VP9) and of multitrack messages everything
// passes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "media/avc.h"
#include "media/packet.h"
#include "media/parameter_sets.h"
#include "media/picture_message.h"

namespace weir::stream {

// Of one publisher.
struct EntranceStats {
    uint64_t messages_joined = 0;   // that were put to the picture before or behind them
    uint64_t units_left_out = 0;    // broken ones
    uint64_t messages_dropped = 0;  // nothing of use was in them
    uint64_t pictures_damaged = 0;  // that lost a slice
    uint64_t configs_made = 0;      // of parameter sets that pictures brought along
    uint64_t start_codes = 0;       // messages that had them in place of lengths

    bool any() const {
        return messages_joined + units_left_out + messages_dropped + pictures_damaged +
                   configs_made + start_codes >
               0;
    }
};

class Entrance {
  public:
    // Larger ones go on in pieces; no encoder has such.
    static constexpr size_t kMaxPictureBytes = size_t{8} << 20U;
    // Of messages without a slice, that wait for their picture.
    static constexpr size_t kMaxFrontBytes = size_t{64} << 10U;
    // Picture parameter sets that change more often than this are not announced any more: they are
    // with the key pictures.
    static constexpr uint64_t kMaxPictureSetChanges = 8;
    static constexpr int64_t kForgetChangesMs = 3'600'000;  // they count anew after so long
    // Lengths of FLV and RTMP have 24 bits.
    static constexpr size_t kMaxBodyBytes = 0xFFFFFF;

    // What goes on, in this order.
    class Ready {
      public:
        void add(Ref<media::MediaPacket> packet) { packets_[count_++] = std::move(packet); }

        Ref<media::MediaPacket>* begin() { return packets_.data(); }

        Ref<media::MediaPacket>* end() { return packets_.data() + count_; }

      private:
        // The picture that waited, with its configuration, and the same of the new one.
        std::array<Ref<media::MediaPacket>, 4> packets_;
        size_t count_ = 0;
    };

    // A message of video; the publisher's clock.
    void take(Ref<media::MediaPacket> packet, Ready& ready);

    // A message of something else: a first picture that waits is whole.
    void take_other(Ready& ready) {
        if (waiting_ && !in_pieces_) {
            release(ready);
        }
    }

    // Nothing more comes: what waits goes on.
    void release(Ready& ready);

    // Called once a second: what has waited for a whole one goes on.
    void release_old(Ready& ready) {
        if (waiting_ && std::exchange(waiting_->old, true)) {
            release(ready);
        }
    }

    bool has_waiting() const { return waiting_.has_value(); }

    // The next message is of another publisher.
    void clear() { *this = Entrance(); }

    const EntranceStats& stats() const { return stats_; }

    // Whether the last key picture that went on turned out to be a part of one only. Tells once.
    bool take_broken_key() { return std::exchange(broken_key_, false); }

  private:
    struct Picture {
        media::PacketInfo info;
        int64_t time_ms = 0;
        Bytes body;
        uint8_t fields = 0;  // avc::Structure of the pictures that begin in it
        bool old = false;    // it waited already a second ago
    };

    void take_config(Ref<media::MediaPacket> packet, Ready& ready);
    void take_units(Ref<media::MediaPacket> packet,
                    const media::PictureMessage& message,
                    Ready& ready);
    void keep_front(ByteSpan units);
    void note_sets(const media::MediaPacket& packet, ByteSpan units);
    void note_damage(const media::MediaPacket& packet);
    uint8_t structure_of(ByteSpan units) const;
    void note_sequence_header(ByteSpan units);
    bool belongs_to_waiting(const media::MediaPacket& packet,
                            const media::PictureMessage& message,
                            uint8_t structure) const;
    void give(Ref<media::MediaPacket> packet, Ready& ready);
    void announce_sets(const media::MediaPacket& packet, Ready& ready);

    EntranceStats stats_;
    media::UnitForm form_;
    bool in_pieces_ = false;                     // pictures come in several messages
    bool split_seen_ = false;                    // messages without a slice have come
    bool starts_seen_ = false;                   // first slices of pictures
    std::optional<media::avc::Sps> fields_sps_;  // of a configuration that may have field pictures
    bool begun_ = false;                         // a picture has gone on, or waits
    bool broken_key_ = false;
    bool sets_changed_ = false;
    uint64_t picture_set_changes_ = 0;
    int64_t changes_since_ms_ = 0;
    std::optional<Picture> waiting_;
    Bytes front_;                          // units that came before their picture
    std::optional<int64_t> last_time_ms_;  // of the picture that went on last
    bool last_key_ = false;
    media::PacketRef config_;     // in force
    media::PacketRef announced_;  // the publisher's own, that came last
    media::ParameterSets sets_;
    Bytes sequence_header_;  // AV1: that is to be announced
};

}  // namespace weir::stream
