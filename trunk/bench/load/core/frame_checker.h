// Compares one synthetic frame with what must have been sent, in place, while its bytes stream by:
// nothing is assembled, only the head (at most kHeadSize bytes) is copied when a read ends inside
// it. Frames of a file (file_stamp.h) are compared with the checksum in their stamp.
//
// Driven by begin(), feed() with the parts in order, end(). One per track of a player.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"

#include "bench/load/core/frame_sum.h"
#include "bench/load/core/stamp.h"

namespace weir::load {

enum class FrameType : uint8_t {
    kConfig,     // a sequence header, or another message that is no frame (end of sequence)
    kIntact,     // every byte is as sent
    kDamaged,    // the stamp is readable, something else differs
    kIllegible,  // our mark is there, the stamp is not readable
    kForeign,    // not a frame of a stamped stream
};

struct FrameResult {
    FrameType type = FrameType::kForeign;
    bool key = false;  // by the FLV header
    Stamp stamp;       // kIntact and kDamaged
};

class FrameChecker {
  public:
    explicit FrameChecker(FillerKind kind) : kind_(kind) {}

    // `length`: bytes of the tag body that will be fed.
    void begin(uint32_t length);

    void feed(ByteSpan part);

    FrameResult end();

  private:
    static constexpr uint32_t kHeadSize =
        224;  // parameter sets and delimiter that a server put in front, and the stamp

    enum class State : uint8_t { kHead, kBody, kSum, kDone };

    // A run of expected bytes: literal, or `data` null for filler.
    struct Segment {
        const uint8_t* data = nullptr;
        uint32_t size = 0;
    };

    void parse_head(ByteSpan head);
    void parse_video_head(ByteSpan head);
    void parse_audio_head(ByteSpan head);
    void parse_file_head(ByteSpan head);
    void take_stamp(ByteSpan at_stamp, uint32_t body_at);
    Segment segment(unsigned index) const;
    void compare(ByteSpan part);
    void finish(FrameType type);

    FillerKind kind_;
    State state_ = State::kDone;
    uint8_t segment_ = 0;
    bool padded_ = false;
    uint32_t segment_at_ = 0;
    uint32_t length_ = 0;
    uint32_t head_have_ = 0;
    uint32_t body_at_ = 0;  // where comparing starts
    FrameResult result_;
    FrameSum sum_;  // kSum
    std::array<uint8_t, kHeadSize> head_;
};

}  // namespace weir::load
