#include "proto/flv/metadata.h"

#include <algorithm>

#include "proto/amf/amf0.h"

namespace weir::flv {
namespace {

constexpr double kMaxPixels = 65536;
constexpr double kMaxFrameRate = 1000;
constexpr size_t kMaxEncoderName = 128;

}  // namespace

media::Description parse_metadata(ByteSpan body) {
    media::Description description;
    ByteReader reader(body);
    Result<amf::Value> name = amf::parse(reader);
    Result<amf::Value> values =
        name.ok() ? amf::parse(reader) : Result<amf::Value>(name.take_error());
    if (!values.ok() || !values->has_members()) {
        return description;
    }
    const auto number = [&](std::string_view key, double highest) {
        const double value = values->number_of(key);
        return value > 0 && value <= highest ? value : 0;  // also for NaN
    };
    description.width = static_cast<uint32_t>(number("width", kMaxPixels));
    description.height = static_cast<uint32_t>(number("height", kMaxPixels));
    description.frame_rate = number("framerate", kMaxFrameRate);
    description.names_video = values->find("videocodecid") != nullptr || description.width > 0;
    description.names_audio = values->find("audiocodecid") != nullptr;
    description.encoder = values->text_of("encoder").substr(0, kMaxEncoderName);
    return description;
}

}  // namespace weir::flv
