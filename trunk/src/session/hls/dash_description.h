// What a stream's segments are to a player of DASH. Never yields.
#pragma once

#include "net/segments/segment_store.h"
#include "proto/dash/mpd.h"

namespace weir::session {

// Whether the open segment may be listed: a player has to know where it will end, or it takes it
// for another one when it has ended elsewhere.
bool can_grow(const net::SegmentStore& store);

// Of the listed segments; `grows`: the last one may be read while it is written. Views are of the
// store's formats, and good until it changes. Without periods: there is nothing to play.
dash::Presentation describe_segments(const net::SegmentStore& store, bool grows);

// When what is listed began, since the epoch; 0: nothing is.
int64_t begin_of(const dash::Presentation& presentation);

}  // namespace weir::session
