// What stands in a transport stream of a frame of a codec: NAL units with start codes, a delimiter
// and parameter sets (H.264 and HEVC annex B; ISO/IEC 13818-1 §2.14, §2.17), AAC with ADTS headers,
// Opus with control headers, MP3, AC-3 and E-AC-3 as they are.
//
// In go configurations and frames as media::MediaPacket::payload() has them. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "media/adts.h"
#include "media/codec.h"
#include "proto/mpegts/psi.h"

namespace weir::mpegts {

class EsWriter {
  public:
    // Whether a transport stream can carry frames of this codec.
    static bool carries(media::Codec codec);

    // `codec`: one that it carries.
    explicit EsWriter(media::Codec codec) : codec_(codec) {}

    media::Codec codec() const { return codec_; }

    // The codec's configuration. False: frames with it cannot be written (AAC with channels that
    // only a program config element says, for one), and none is until there is another.
    bool set_config(ByteSpan config);

    // What the PMT says of it; nothing while that is not known.
    std::optional<StreamInfo> stream() const;

    // The bytes of a frame in pieces: views of `frame` and of this object, good until the next
    // call. Empty: it cannot be written (no configuration, broken NAL units, too long).
    std::span<const ByteSpan> write(ByteSpan frame, bool key);

  private:
    bool set_video_config(ByteSpan config);
    bool add_nals(ByteSpan frame, bool key);
    bool is_left_out(ByteSpan nal) const;
    bool is_sps(ByteSpan nal) const;
    void add_control_header(size_t size);

    media::Codec codec_;
    bool ready_ = false;
    size_t length_size_ = 4;  // of NAL units
    Bytes parameter_sets_;    // with start codes
    media::adts::Header adts_;
    uint8_t channels_ = 2;     // of Opus
    uint8_t stream_type_ = 3;  // of MPEG audio
    Bytes header_;             // of the frame
    std::vector<ByteSpan> parts_;
};

}  // namespace weir::mpegts
