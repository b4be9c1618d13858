// Makes frames of RTP payloads again: the bases of one class per payload format.
//
// Driven by the packets of one source in the order of their sequence numbers, as a jitter buffer
// gives them: feed() each, then next() until it gives nothing. The caller says before which packet
// others will not come any more. A frame that lost a packet is never given out; after a loss a
// frame counts only when its first packet is surely the first. Not driven by time, knows no RTP
// headers.
//
// A marker ends a frame at once, until the source shows that its markers do not tell (RFC 6184
// §5.1: a receiver must not rely on them): a slice or a fragment that continues the picture comes
// behind one. From then on a frame ends where another one begins.
//
// Frames come out as MediaPacket::payload() has them: length-prefixed NAL units for H.264 and HEVC
// without parameter sets (those are in the configuration), OBUs with their sizes for AV1, the
// codec's own bytes for all others. Several frames of one packet have the times that follow from
// its time and their durations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "media/codec.h"
#include "proto/rtp/payload_parameters.h"

namespace weir::rtp {

inline constexpr size_t kMaxFrameSize = size_t{8} << 20U;

// What the depacketizer needs to know of a packet besides its payload.
struct PayloadInfo {
    uint32_t rtp_time = 0;
    bool marker = false;
    bool gap = false;  // packets right before this one are lost
};

struct Frame {
    // Behind as many zero bytes as the caller wished for a header of its own.
    Bytes data;
    // The codec configuration (avcC, hvcC, av1C, vpcC) where it has changed with this key frame,
    // else empty. The first key frame always has it; of audio only AAC as LATM, whose packets may
    // bring it along (AudioSpecificConfig).
    Bytes config;
    uint32_t rtp_time = 0;
    uint32_t width = 0;  // in pixels, of the configuration in force; 0: unknown
    uint32_t height = 0;
    uint8_t temporal_id = 0;
    bool key = false;
    bool discardable = false;  // surely no other frame refers to it
    bool after_loss = false;   // packets were lost since the frame before
};

enum class FeedStatus : uint8_t {
    kTaken,
    kLost,       // frames are missing, or a packet was left out because its frame is not whole
    kMalformed,  // breaks the payload format; its frame is lost
};

// Frames that one packet may complete: audio formats put many into one.
inline constexpr size_t kMaxReadyFrames = 256;

class Depacketizer {
  public:
    // `reserved_front`: zero bytes before the frame in Frame::data.
    explicit Depacketizer(size_t reserved_front) : reserved_front_(reserved_front) {}

    Depacketizer(const Depacketizer&) = delete;
    Depacketizer& operator=(const Depacketizer&) = delete;
    virtual ~Depacketizer() = default;

    // An empty payload (a probe) is taken and means nothing.
    virtual FeedStatus feed(ByteSpan payload, const PayloadInfo& info) = 0;

    // A parameter set (NAL unit) that the source named in its SDP (sprop-parameter-sets, sprop-vps,
    // sprop-sps, sprop-pps) instead of sending it. False when it is none, or the codec has none.
    virtual bool add_parameter_set(ByteSpan /*nal*/) { return false; }

    // The next whole frame; call it until it gives nothing, before the next feed().
    bool next(Frame& out);

    // The first frame, which others refer to, is given out only when the next packet has shown that
    // the marker was its end, or at flush(). Call it before the first feed().
    virtual void hold_first_frame() {}

    // A frame whose marker has come is held.
    virtual bool holds_frame() const { return false; }

    // Gives the held frame out by next().
    virtual void flush() {}

    // Frames that were begun and not given out: lost packets, broken payloads.
    uint64_t dropped_frames() const { return dropped_frames_; }

  protected:
    // Puts a frame with these bytes in line for next(). What goes beyond kMaxReadyFrames is
    // dropped.
    void give(Frame&& frame, ByteSpan data);

    void count_dropped() { dropped_frames_++; }

  private:
    std::vector<Frame> ready_;
    size_t ready_at_ = 0;  // the first that was not given out
    size_t reserved_front_;
    uint64_t dropped_frames_ = 0;
};

// What all formats of video share, and formats of audio with one frame in a packet: packets of one
// RTP time up to a marker are one frame.
class FrameAssembler : public Depacketizer {
  public:
    using Depacketizer::Depacketizer;

    FeedStatus feed(ByteSpan payload, const PayloadInfo& info) final;

    void hold_first_frame() final { hold_ = !ends_frame(); }

    bool holds_frame() const final { return hold_ && ended_ && has_open_picture() && !is_cut(); }

    void flush() final;

    // False when a marker was seen that did not end its frame.
    bool trusts_markers() const { return trusts_markers_; }

  protected:
    // Whether this payload is certainly the first one of a frame.
    virtual bool begins_frame(ByteSpan payload) const = 0;

    // Whether a picture certainly begins in this payload that is none of the open frame, though it
    // has its time.
    virtual bool begins_picture(ByteSpan payload) const { return begins_frame(payload); }

    // Whether this payload certainly continues the picture of the payload before it.
    virtual bool continues_picture(ByteSpan /*payload*/) const { return false; }

    // Whether the open frame has some of a picture. Without, it belongs to the picture that
    // follows, whatever its marker and time (parameter sets, SEI).
    virtual bool has_picture() const { return true; }

    // Whether the open frame cannot end here: a unit in pieces, the first of two fields.
    virtual bool is_cut() const { return false; }

    // Whether every payload is a frame of its own, whatever its marker says (audio).
    virtual bool ends_frame() const { return false; }

    // Takes one payload of the frame that is being put together; false: malformed.
    virtual bool add(ByteSpan payload) = 0;

    enum class Completion : uint8_t {
        kFrame,    // data() is given out
        kNothing,  // no video in it: parameter sets alone
        kBroken,   // not whole, or not to be decoded
    };

    // All payloads of the frame have been added: says in `out` what it is. Time and loss are set,
    // and may be changed where frames of the same payloads are given before it; the data is data().
    virtual Completion complete(Frame& out) = 0;

    // Forgets the frame that is being put together.
    virtual void reset() = 0;

    // The frame so far.
    Bytes& data() { return data_; }

    // Appends to data(); false when it would be longer than kMaxFrameSize.
    bool append(ByteSpan bytes);

    // True when packets were lost before the frame that is being put together.
    bool is_after_loss() const { return after_loss_; }

    // True when the frame before had the same time.
    bool repeats_time() const { return last_time_ == rtp_time_; }

  private:
    bool has_open_picture() const { return open_ && has_picture(); }

    void lose(bool other_time);
    void judge_markers(ByteSpan payload, const PayloadInfo& info);
    FeedStatus finish();
    void close();
    void drop();

    Bytes data_;              // grows to the largest frame and stays
    uint32_t rtp_time_ = 0;   // of the frame that is open or skipped
    bool open_ = false;       // a frame has payloads
    bool skipping_ = false;   // the rest of a broken frame is left out
    bool need_start_ = true;  // packets are missing: only the certain start of a frame counts
    bool after_loss_ = false;
    bool ended_ = false;  // the packet before had a marker
    bool trusts_markers_ = true;
    bool hold_ = false;                  // the first frame
    std::optional<uint32_t> last_time_;  // of the frame that ended last
};

// nullptr for codecs that have no RTP payload format here.
std::unique_ptr<Depacketizer> make_depacketizer(media::Codec codec,
                                                size_t reserved_front = 0,
                                                const PayloadParameters& parameters = {});

}  // namespace weir::rtp
