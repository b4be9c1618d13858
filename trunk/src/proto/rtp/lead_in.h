// The lead-in: an access unit of H.264 or HEVC that no decoder shows, sent in front of the first
// key frame to players that are made with libavformat (ffmpeg).
//
// libavformat gives the first access unit of an RTP stream no time. When the stream has B-frames
// and that unit is a key frame, `ffmpeg -c copy` fails: no muxer takes a packet without a time.
// ffmpeg drops all units in front of the first key frame, so the lead-in is the unit without a
// time, and is dropped. Pure.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "media/codec.h"

namespace weir::rtp {

// RTP ticks of a lead-in before the frame behind it: 1 ms.
inline constexpr uint32_t kLeadInTicks = 90;

// The payload of its only packet, at most 100 bytes. `config`: the avcC or hvcC in force, whose SPS
// it refers to. Empty: the pictures of the stream are not reordered, the codec is another one, or
// the configuration cannot be read.
//
// It has three units:
// - a PPS of its own, with a number that no PPS of the stream has;
// - a slice. H.264: of a redundant coded picture, which decoders ignore (redundant_pic_cnt, H.264
//   §7.4.3). HEVC: of a skipped leading picture (RASL), which decoders drop in front of the first
//   random access point (H.265 §8.1.3);
// - an end of sequence. Without it ffmpeg's decoder of H.264 reports a unit without a picture, and
//   the one of HEVC (version 9) tries to decode the leading pictures of the key frame.
//
// Deviation: no standard lets a redundant picture or a RASL picture stand alone, nor an end of
// sequence in front of the first picture. libavformat needs it.
Bytes make_lead_in(media::Codec codec, ByteSpan config);

}  // namespace weir::rtp
