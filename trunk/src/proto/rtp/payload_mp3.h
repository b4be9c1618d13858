// RTP payload of MP3 as MPA (RFC 2250 §3): whole frames, or a piece of one.
//
//     zero 2 | offset of the piece in its frame 2 | frame, frame ... or a piece
//
// Only layer III is taken.
#pragma once

#include <cstddef>
#include <cstdint>

#include "proto/rtp/depacketizer.h"
#include "proto/rtp/packetizer.h"

namespace weir::rtp {

inline constexpr uint32_t kMpaClockHz = 90'000;  // whatever the sample rate is

class Mp3Packetizer final : public Packetizer {
  public:
    // `frame`: one frame, or several, which are cut apart where they do not fit together.
    bool packetize(ByteSpan frame, size_t max_payload, PayloadSink& sink) override;
};

class Mp3Depacketizer final : public Depacketizer {
  public:
    explicit Mp3Depacketizer(const PayloadParameters& parameters = {}, size_t reserved_front = 0)
        : Depacketizer(reserved_front),
          clock_hz_(parameters.clock_hz == 0 ? kMpaClockHz : parameters.clock_hz) {}

    FeedStatus feed(ByteSpan payload, const PayloadInfo& info) override;

  private:
    FeedStatus take_frames(ByteSpan data, uint32_t rtp_time);
    FeedStatus take_piece(ByteSpan piece, size_t offset, uint32_t rtp_time);
    FeedStatus refuse();
    void give_frame(ByteSpan frame, uint32_t rtp_time);
    void drop_pieces();

    uint32_t clock_hz_;
    Bytes pieces_;  // of the frame that comes in pieces; empty: none
    size_t whole_size_ = 0;
    uint32_t pieces_time_ = 0;
    bool after_loss_ = false;
};

}  // namespace weir::rtp
