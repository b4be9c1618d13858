// What a build with ./configure --transcode=off has instead of audio_transcoder.cc.
#if !WEIR_TRANSCODE

#include "transcode/audio_transcoder.h"

namespace weir::transcode {

struct AudioTranscoder::Impl {};

AudioTranscoder::AudioTranscoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

AudioTranscoder::~AudioTranscoder() = default;

Result<std::unique_ptr<AudioTranscoder>> AudioTranscoder::create(const AudioOptions&) {
    return make_error(ErrorCode::kUnsupported,
                      "this build transcodes no sound: ./configure --transcode=on makes one that "
                      "does");
}

const Bytes& AudioTranscoder::output_config() const {
    static const Bytes none;
    return none;
}

Error AudioTranscoder::transcode(ByteSpan, int64_t, const Output&) {
    return {};
}

}  // namespace weir::transcode

#endif  // !WEIR_TRANSCODE
