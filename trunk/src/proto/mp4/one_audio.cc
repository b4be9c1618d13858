#include "proto/mp4/one_audio.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "proto/mp4/box_reader.h"

namespace weir::mp4 {
namespace {

constexpr size_t kHandlerAt = 8;  // in HandlerBox, §8.4.3.2
constexpr std::string_view kNobodys = "meta";

// Where the handlers of audio tracks stand, from the beginning of the moov's content.
std::vector<size_t> audio_handlers(ByteSpan moov) {
    std::vector<size_t> places;
    for_each_box(moov, [&](std::string_view trak, ByteSpan track, size_t trak_at) {
        if (trak != "trak") {
            return;
        }
        for_each_box(track, [&](std::string_view mdia, ByteSpan media, size_t mdia_at) {
            if (mdia != "mdia") {
                return;
            }
            for_each_box(media, [&](std::string_view hdlr, ByteSpan content, size_t at) {
                if (hdlr == "hdlr" && content.size() >= kHandlerAt + 4 &&
                    as_text(content.subspan(kHandlerAt, 4)) == "soun") {
                    places.push_back(trak_at + mdia_at + at + kHandlerAt);
                }
            });
        });
    });
    return places;
}

}  // namespace

std::optional<Bytes> one_audio_header(ByteSpan header) {
    std::vector<size_t> places;
    for_each_box(header, [&](std::string_view type, ByteSpan moov, size_t at) {
        if (type == "moov" && places.empty()) {
            places = audio_handlers(moov);
            std::ranges::for_each(places, [at](size_t& place) { place += at; });
        }
    });
    if (places.size() < 2) {
        return std::nullopt;
    }
    Bytes out(header.begin(), header.end());
    for (size_t i = 1; i < places.size(); i++) {
        std::ranges::copy(kNobodys, out.begin() + static_cast<std::ptrdiff_t>(places[i]));
    }
    return out;
}

}  // namespace weir::mp4
