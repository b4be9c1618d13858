#include "media/codec.h"

namespace weir::media {

std::string_view to_string(Codec codec) {
    switch (codec) {
        case Codec::kUnknown: return "unknown";
        case Codec::kH264: return "H264";
        case Codec::kHevc: return "HEVC";
        case Codec::kAv1: return "AV1";
        case Codec::kVp8: return "VP8";
        case Codec::kVp9: return "VP9";
        case Codec::kOtherVideo: return "other video";
        case Codec::kAac: return "AAC";
        case Codec::kMp3: return "MP3";
        case Codec::kOpus: return "Opus";
        case Codec::kG711A: return "G711A";
        case Codec::kG711U: return "G711U";
        case Codec::kAc3: return "AC3";
        case Codec::kEac3: return "EAC3";
        case Codec::kFlac: return "FLAC";
        case Codec::kSpeex: return "Speex";
        case Codec::kG722: return "G722";
        case Codec::kPcm: return "PCM";
        case Codec::kOtherAudio: return "other audio";
    }
    return "unknown";
}

std::string_view to_string(TrackKind kind) {
    switch (kind) {
        case TrackKind::kAudio: return "audio";
        case TrackKind::kVideo: return "video";
        case TrackKind::kData: return "data";
    }
    return "data";
}

}  // namespace weir::media
