// How a codec and its configuration are named in playlists and manifests (RFC 6381 §3.3, ISO/IEC
// 14496-15 annex E, and the bindings of AV1, VP9 and Opus): "avc1.64001F", "mp4a.40.2". Pure.
#pragma once

#include <string>

#include "base/bytes.h"
#include "media/codec.h"

namespace weir::mp4 {

// `config`: the codec's configuration as media::MediaPacket::payload() has it; empty where the
// codec has none. Empty: the codec has no name, or the configuration cannot be read.
std::string codec_string(media::Codec codec, ByteSpan config);

}  // namespace weir::mp4
