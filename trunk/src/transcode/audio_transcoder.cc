#include "transcode/audio_transcoder.h"

#include <utility>

#include "transcode/audio_path.h"

namespace weir::transcode {
namespace {

using media::Codec;

constexpr Millis kMinFrame{10};
constexpr Millis kMaxFrame{60};

Error check(const AudioOptions& options) {
    if (options.frame_duration < kMinFrame || options.frame_duration > kMaxFrame ||
        options.frame_duration.count() % 10 != 0) {
        return make_error(ErrorCode::kMalformed, "audio frames of {} ms",
                          options.frame_duration.count());
    }
    if (options.to_channels < 1 || options.to_channels > 2) {
        return make_error(ErrorCode::kMalformed, "audio of {} channels", options.to_channels);
    }
    for (const uint32_t rate : {options.from_rate, options.to_rate}) {
        if (rate > 192'000 || (rate != 0 && rate < 8'000)) {
            return make_error(ErrorCode::kMalformed, "audio of {} Hz", rate);
        }
    }
    return {};
}

}  // namespace

uint32_t output_rate(const AudioOptions& options) {
    switch (options.to) {
        case Codec::kG711A:
        case Codec::kG711U: return 8'000;
        case Codec::kG722: return 16'000;
        default: return options.to_rate == 0 ? kAudioClockHz : options.to_rate;
    }
}

uint8_t output_channels(const AudioOptions& options) {
    return options.to == Codec::kAac || options.to == Codec::kOpus ? options.to_channels
                                                                   : uint8_t{1};
}

AudioTranscoder::AudioTranscoder(std::unique_ptr<AudioPath> path) : path_(std::move(path)) {}

AudioTranscoder::~AudioTranscoder() = default;

bool AudioTranscoder::is_plain(const AudioOptions& options) {
    return has_plain_path(options);
}

Result<std::unique_ptr<AudioTranscoder>> AudioTranscoder::create(const AudioOptions& options) {
    WEIR_TRY(check(options));
    if (has_plain_path(options)) {
        return std::unique_ptr<AudioTranscoder>(new AudioTranscoder(make_plain_path(options)));
    }
    WEIR_TRY_ASSIGN(std::unique_ptr<AudioPath> path, make_av_path(options));
    return std::unique_ptr<AudioTranscoder>(new AudioTranscoder(std::move(path)));
}

const Bytes& AudioTranscoder::output_config() const {
    return path_->output_config();
}

Error AudioTranscoder::transcode(ByteSpan frame, int64_t time_us, const Output& out) {
    if (frame.empty() || frame.size() > kMaxInputFrame) {
        return make_error(ErrorCode::kMalformed, "a frame of {} bytes", frame.size());
    }
    return path_->transcode(frame, time_us, out);
}

}  // namespace weir::transcode
