// Where the files of a stream lie below the folder of `hls { path; }`. Pure.
//
//     APP/STREAM.m3u8             what players are given
//     APP/STREAM/index.m3u8       the media playlist
//     APP/STREAM/init-N.mp4, N.m4s, N.ts
//
// With the vhost in front where it is not the default one. Names are as those of recordings.
#pragma once

#include <string>

#include "stream/stream_key.h"

namespace weir::session {

// "live/cam". Two streams never have the same, nor one the playlist of another: the names "index"
// and "x.m3u8" are written as "%69ndex" and "x%2Em3u8".
std::string hls_folder_of(const stream::StreamKey& key);

}  // namespace weir::session
