// Cuts frames into RTP payloads, once per stream: the base of one class per payload format.
//
// Input are frames as MediaPacket::payload() has them: length-prefixed NAL units for H.264 and
// HEVC, OBUs with their sizes for AV1, the codec's own bytes for all others. Output are the parts
// of each payload: bytes of the format, which live in the packetizer, and slices of the frame.
// Nothing is copied or allocated per packet. RTP headers are the caller's.
//
// Payloads of a frame have equal sizes, the last one excepted, so that one call with UDP GSO can
// send them: a piece of a frame that does not fit (a NAL unit, an OBU, a VP8 frame) is cut into
// equal parts instead of full ones and a rest. NAL units of one frame are cut one by one, so a
// frame of several large ones is several such runs, and small units in front of them (parameter
// sets) are a packet of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/bytes.h"
#include "media/codec.h"

namespace weir::rtp {

// Least room for a payload that packetizers work with.
inline constexpr size_t kMinPayloadRoom = 64;

class PayloadSink {
  public:
    PayloadSink() = default;
    PayloadSink(const PayloadSink&) = delete;
    PayloadSink& operator=(const PayloadSink&) = delete;

    // One payload: its parts in order, at most kMaxPayloadParts, valid during the call. `last`: of
    // the frame, which is the RTP marker in video.
    virtual void on_payload(std::span<const ByteSpan> parts, bool last) = 0;

  protected:
    ~PayloadSink() = default;
};

inline constexpr size_t kMaxPayloadParts = 33;

class Packetizer {
  public:
    Packetizer() = default;
    Packetizer(const Packetizer&) = delete;
    Packetizer& operator=(const Packetizer&) = delete;
    virtual ~Packetizer() = default;

    // The codec configuration in force from the next frame on, as the payload of a sequence header:
    // avcC and hvcC give the size of lengths and the parameter sets that go before each key frame
    // without its own, av1C the sequence header likewise. Other formats do not look at it. False
    // when it cannot be read; the one before stays in force then.
    virtual bool set_config(ByteSpan /*record*/) { return true; }

    // Gives the payloads of one frame to the sink, none longer than max_payload (at least
    // kMinPayloadRoom). False, and nothing given, when the frame is malformed or has nothing to
    // send. The frame stays unchanged during the call.
    virtual bool packetize(ByteSpan frame, size_t max_payload, PayloadSink& sink) = 0;
};

// How a piece is cut into parts of equal size, the last one at most as long.
struct EqualParts {
    EqualParts(size_t total, size_t room)
        : count((total + room - 1) / room), size(count == 0 ? 0 : (total + count - 1) / count) {}

    size_t count;
    size_t size;
};

// nullptr for codecs that have no RTP payload format here.
std::unique_ptr<Packetizer> make_packetizer(media::Codec codec);

}  // namespace weir::rtp
