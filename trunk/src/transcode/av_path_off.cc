// What a build with ./configure --transcode=off has instead of av_path.cc and av_picture.cc.
#if !WEIR_TRANSCODE

#include "transcode/audio_path.h"
#include "transcode/picture.h"

namespace weir::transcode {

Result<std::unique_ptr<AudioPath>> make_av_path(const AudioOptions&) {
    return make_error(ErrorCode::kUnsupported,
                      "this build transcodes no sound: ./configure --transcode=on makes one that "
                      "does");
}

Result<Bytes> make_jpeg(const KeyFrameView&) {
    return make_error(ErrorCode::kUnsupported,
                      "this build makes no pictures: ./configure --transcode=on makes one that "
                      "does");
}

}  // namespace weir::transcode

#endif  // !WEIR_TRANSCODE
