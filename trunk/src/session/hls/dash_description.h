// What a stream's segments, and those of its other qualities, are to a player of DASH. Never
// yields.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "net/segments/segment_store.h"
#include "proto/dash/mpd.h"
#include "session/hls/dash_ladder.h"

namespace weir::session {

// Whether the open segment may be listed: a player has to know where it will end, or it takes it
// for another one when it has ended elsewhere.
bool can_grow(const net::SegmentStore& store);

// Of the listed segments; `grows`: the last one may be read while it is written. Views are of the
// store's formats, and good until it changes. Without periods: there is nothing to play.
dash::Presentation describe_segments(const net::SegmentStore& store, bool grows);

// Another quality of what `presentation` describes.
struct DashVariant {
    size_t number = 0;                         // from 1 on: its folder
    const net::SegmentStore* store = nullptr;  // not null; as above, views are of its formats
    std::optional<LadderLead> lead = {};       // nothing: one of both streams is not live
};

// Adds its video to each period that it has segments in. A quality that is late by more than two
// target durations is not added to the last period: nobody publishes it any more. `home`: the store
// that `presentation` is of. Audio is the stream's own.
void add_variant(const DashVariant& variant,
                 const net::SegmentStore& home,
                 DashLadder& ladder,
                 dash::Presentation& presentation);

// Each period that has audio has these audio tracks, in this order: where one is not there, the
// main one stands in, as its files do (ffmpeg tells them apart by their places, and gives a
// description up that has more or less of them than before). Nothing in `offered`: what the last
// period has, which it then names.
void keep_audio(dash::Presentation& presentation, std::optional<std::vector<std::string>>& offered);

// When what is listed began, since the epoch; 0: nothing is.
int64_t begin_of(const dash::Presentation& presentation);

}  // namespace weir::session
