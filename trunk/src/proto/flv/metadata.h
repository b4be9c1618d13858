// onMetaData (Adobe FLV 10.1 annex E.5): what a publisher says of its stream. Hints only: nothing
// is decoded by them.
//
// Peers: amf
#pragma once

#include "base/bytes.h"
#include "media/description.h"

namespace weir::flv {

// `body` is that of a script tag or data message. What is missing or no number stays as it was
// made; a broken body gives an empty description.
media::Description parse_metadata(ByteSpan body);

}  // namespace weir::flv
