// Reads fragmented MP4 as it comes (ISO 14496-12 §8.8), the header of a stream first, then its
// segments or parts one behind the other, and hands the samples on as messages with FLV tag bodies,
// like FlvScanner, for PlayerCheck: media is not assembled. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "media/codec.h"

#include "bench/load/core/mp4_fragments.h"
#include "bench/load/core/player_check.h"

namespace weir::load {

class Fmp4Scanner {
  public:
    static constexpr uint64_t kMaxHeader = 1U << 20;  // of a moov or moof
    static constexpr size_t kMaxTracks = 8;

    // False, here and below: these bytes are not what they should be; error() says why. A `moov`
    // among them sets the tracks anew.
    bool feed(ByteSpan bytes, PlayerCheck& check);

    // The body has ended. False: in the middle of a box.
    bool end();

    const std::string& error() const { return error_; }

  private:
    enum class State : uint8_t { kHead, kCollect, kMedia, kSkip };

    struct Track {
        media::Codec codec = media::Codec::kUnknown;
        bool video = false;
        uint32_t scale = 1;
        Mp4FragmentedTrack data;
    };

    struct Sample {
        uint64_t offset = 0;  // from the beginning of the moof
        uint32_t size = 0;
        uint32_t timestamp = 0;  // decoding time, ms
        bool key = false;
        media::Codec codec = media::Codec::kUnknown;
        bool video = false;
    };

    bool fail(std::string why);
    Error take_head();
    Error take_box();
    Error take_movie(const Mp4Box& movie);
    Error take_track(const Mp4Box& track);
    Error take_fragment(const Mp4Box& fragment);
    void take_media(ByteSpan bytes, PlayerCheck& check);

    State state_ = State::kHead;
    Bytes collected_;    // a box's head, then a moov or moof
    uint64_t left_ = 0;  // of the box
    uint64_t at_ = 0;    // from the beginning of the newest moof
    std::vector<Track> tracks_;
    std::vector<Sample> samples_;  // of the newest moof, by offset
    size_t next_ = 0;
    uint32_t fed_ = 0;  // bytes of samples_[next_]
    std::string error_;
};

}  // namespace weir::load
