// The stamp in the frames of a file: the same sixty digits as in synthetic ones (stamp.h), in a
// place that decoders skip, with a checksum of the frame in the field that holds the size of the
// filler there.
//
//   H.264, HEVC: | header of the body | [access unit delimiter] | SEI unit: length 4, one user data
//                message { 05 4C UUID stamp }, 80 | the frame as it is in the file |
//   AAC:         | header of the body | data stream element: 81 40 "file" stamp | the frame |
//
// The checksum is over the header of the body and what lies behind the stamp. Place in GOP: frames
// since the last key frame.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "media/packet.h"

#include "bench/load/core/media_file.h"
#include "bench/load/core/stamp.h"

namespace weir::load {

// Whether frames of the track can carry a stamp: H.264 and HEVC with unit lengths of four bytes,
// AAC of the kinds that players know (Main, LC, SSR, LTP, with and without SBR and PS). Other
// tracks are published as they are, and only counted.
bool can_stamp(const FileTrack& track, media::TrackKind kind);

// Bytes that the stamp adds to a frame, at most.
constexpr size_t kMaxFileStampSize = 88;

// `body`: of a frame of a track that can_stamp(); `out` is replaced. stamp.filler is set to the
// checksum. False, and `out` is the body as it is, when the body is too short for its own header.
bool add_file_stamp(ByteSpan body, media::TrackKind kind, Stamp& stamp, Bytes& out);

struct FileStampPlace {
    std::optional<Stamp> stamp;  // nullopt: the mark is there, the stamp is not legible
    bool as_sent = false;        // the literal bytes around it are what they must be
    uint32_t header_size = 0;    // of the body
    uint32_t rest_at = 0;        // where the checksum continues
};

// Looks for the mark in the first bytes of a body. `info`: of the same bytes. Nothing: another
// publisher's frame.
std::optional<FileStampPlace> find_file_stamp(ByteSpan head, const media::PacketInfo& info);

}  // namespace weir::load
