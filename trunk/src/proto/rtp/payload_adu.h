// RTP payload of MP3 as mpa-robust (RFC 5219): each unit (ADU) has all data of one frame, whereas a
// frame of MP3 may use bytes of those before it. In only; interleaved units (§7) are refused.
//
//     C T size 6, or C T size 14 | ADU or a piece of one | C T size | ADU ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/bytes.h"
#include "proto/rtp/depacketizer.h"

namespace weir::rtp {

inline constexpr size_t kMaxAdus = 64;            // in a packet
inline constexpr size_t kMaxMainDataBegin = 511;  // 9 bits, ISO/IEC 11172-3 §2.4.1.7
inline constexpr size_t kMaxSilentFrames = 8;     // before one unit

// Makes frames of MP3 of ADUs (RFC 5219 §6 and appendix A.2): puts the data of each unit back to
// where its frame says that it begins. Where units are missing, the room for it is made by silent
// frames.
class AduFrames {
  public:
    struct Mp3Frame {
        Bytes data;
        uint32_t rtp_time = 0;
    };

    // `ticks` is set to the duration of the unit. False: it is none, or its data has no place.
    bool push(ByteSpan adu, uint32_t rtp_time, uint32_t clock_hz, uint32_t& ticks);

    // The next frame that no later unit can add to.
    bool next(Mp3Frame& out);

  private:
    struct Waiting {
        Bytes head;       // header, CRC, side information
        size_t room = 0;  // bytes of main data behind it
        uint32_t rtp_time = 0;
    };

    bool make_room(ByteSpan head, size_t begin, uint32_t rtp_time, uint32_t ticks);

    std::deque<Waiting> waiting_;
    Bytes data_;       // main data of all that wait, one behind the other
    size_t used_ = 0;  // of data_: up to there it has come
};

class AduDepacketizer final : public Depacketizer {
  public:
    explicit AduDepacketizer(const PayloadParameters& parameters, size_t reserved_front = 0);

    FeedStatus feed(ByteSpan payload, const PayloadInfo& info) override;

  private:
    FeedStatus take_whole(ByteReader& payload, size_t first_size, uint32_t rtp_time);
    FeedStatus take_piece(ByteSpan piece, size_t whole, bool continues, uint32_t rtp_time);
    bool take_adu(ByteSpan adu, uint32_t& rtp_time);
    FeedStatus refuse();
    void drop_pieces();

    AduFrames frames_;
    uint32_t clock_hz_;
    Bytes pieces_;  // of the unit that comes in pieces; empty: none
    size_t whole_size_ = 0;
    uint32_t pieces_time_ = 0;
    bool after_loss_ = false;
};

}  // namespace weir::rtp
