// Makes the index of an MP4 file (ISO 14496-12): the first video track (H.264, HEVC, AV1) and the
// first audio track (AAC), with the offset of the first edit. Fragmented files (§8.8) are read too.
//
// Every box is bounded by the one around it, every sample by the file. The errors name the box, the
// place in the file, what was found and what was expected.
#pragma once

#include <span>
#include <string_view>

#include "bench/load/core/media_file.h"
#include "bench/load/core/mp4_box.h"
#include "bench/load/core/mp4_fragments.h"

namespace weir::load {

// `type`: of the first box of a file.
bool is_mp4(std::string_view type);

// A frame of an MP4 file has its prefix in front: says in it what differs from frame to frame.
void complete_video_prefix(std::span<uint8_t> body, const FileFrame& frame);

class Mp4FileReader {
  public:
    explicit Mp4FileReader(MediaFile& file) : file_(file) {}

    Error read();

  private:
    // One of the two that are published.
    struct Track {
        media::TrackKind kind = media::TrackKind::kVideo;
        uint32_t scale = 1;
        int64_t shift_ms = 0;
        Mp4FragmentedTrack data;
    };

    FileTrack& described(media::TrackKind kind) const {
        return kind == media::TrackKind::kVideo ? file_.video_ : file_.audio_;
    }

    Error read_top_box(std::string_view type, uint64_t at, const Mp4BoxHeader& header);
    Error read_movie(const Mp4Box& movie);
    Error read_track(const Mp4Box& track);
    Error describe(const Mp4Box& descriptions, media::TrackKind kind);
    Error add_frames(const Track& track);
    std::vector<Mp4FragmentedTrack*> fragmented_tracks();

    MediaFile& file_;
    uint32_t movie_scale_ = 1000;
    std::vector<Track> tracks_;
    bool has_movie_ = false;
    bool fragmented_ = false;
};

}  // namespace weir::load
