// Access units of H.264 (ITU-T H.264 annex B) and HEVC (ITU-T H.265 annex B) in a transport stream.
//
// A unit ends where the next begins. Most multiplexers begin a PES packet with each: then it ends
// with its packet, and nothing waits. The two fields of an interlaced picture in one packet are one
// unit.
#pragma once

#include "proto/mpegts/framer.h"

namespace weir::mpegts {

inline constexpr size_t kMaxNals = 4096;  // of a unit

class VideoFramer final : public Framer {
  public:
    // kH264 or kHevc.
    explicit VideoFramer(Content content) : hevc_(content == Content::kHevc) {}

  private:
    size_t cut(bool last) override;
    bool begins_unit(ByteSpan bytes) const override;

    size_t max_bytes() const override { return kMaxPesBytes; }

    void view(const Cut& cut, Unit& out) const override;
    void forget() override;

    bool begins(ByteSpan nal) const;
    bool is_slice(ByteSpan nal) const;
    void take_start(size_t at);
    void close_unit(size_t end);
    void note(ByteSpan nal, Cut& cut);
    void set_times(Cut& cut);

    bool hevc_;
    bool interlaced_ = false;  // H.264: as the newest SPS says
    Bytes sps_;
    std::vector<ByteSpan> nals_;  // of all units of data()

    // The unit that is open: where its start codes are in data().
    std::vector<size_t> starts_;
    size_t scanned_ = 0;  // of data()
    bool has_slice_ = false;

    // Of the newest unit.
    std::optional<int64_t> last_dts_;
    int64_t interval_ = 3'600;  // between two units; 40 ms until it is known
};

}  // namespace weir::mpegts
