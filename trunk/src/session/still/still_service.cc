#include "session/still/still_service.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "media/packet.h"
#include "net/http_newcomer.h"
#include "proto/http/access_token.h"
#include "stream/registry.h"
#include "stream/stream.h"
#include "transcode/picture.h"

namespace weir::session {
namespace {

constexpr std::string_view kSuffix = ".jpg";
constexpr size_t kMaxName = 1024;  // of app and of name, as in RTMP
constexpr Millis kLook{50};

int status_of(const Error& error) {
    switch (error.code()) {
        case ErrorCode::kDenied: return 403;
        case ErrorCode::kNotFound: return 404;
        case ErrorCode::kMalformed: return 400;
        case ErrorCode::kUnsupported: return 501;
        default: return 503;
    }
}

Bytes copy_of(ByteSpan bytes) {
    return Bytes(bytes.begin(), bytes.end());
}

// Yields.
void refuse(net::HttpExchange& exchange, const Error& why) {
    http::Fields fields = {{"Cache-Control", "no-store"}};
    if (status_of(why) == 503) {
        fields.add("Retry-After", "1");
    }
    (void)exchange.respond_error(status_of(why), why.message(), fields);
}

}  // namespace

void StillService::add_to(net::HttpRouter& router) {
    net::HttpRouteOptions options;
    options.cors = true;
    router.add_suffix(std::string(kSuffix), options,
                      [this](net::HttpExchange& exchange) { handle(exchange); });
}

void StillService::tick(MonoTime now) {
    for (auto at = pictures_.begin(); at != pictures_.end();) {
        Picture& picture = *at->second;
        if (picture.busy || now - picture.asked <= kForget) {
            ++at;
            continue;
        }
        keep(picture, nullptr);
        at = pictures_.erase(at);
    }
}

void StillService::keep(Picture& picture, std::shared_ptr<const Bytes> jpeg) {
    bytes_ -= picture.jpeg ? picture.jpeg->size() : 0;
    picture.jpeg = std::move(jpeg);
    bytes_ += picture.jpeg ? picture.jpeg->size() : 0;
    while (bytes_ > kMaxBytes) {
        Picture* oldest = nullptr;
        for (const auto& [key, each] : pictures_) {
            const bool other = each.get() != &picture && each->jpeg;
            if (other && (oldest == nullptr || each->asked < oldest->asked)) {
                oldest = each.get();
            }
        }
        if (oldest == nullptr) {
            return;
        }
        bytes_ -= oldest->jpeg->size();
        oldest->jpeg = nullptr;
        oldest->made = {};
    }
}

// Yields.
void StillService::handle(net::HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    std::string_view path = request.path;
    path.remove_suffix(kSuffix.size());
    const size_t slash = path.rfind('/');
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == path.size() ||
        path.size() > kMaxName) {
        refuse(exchange, make_error(ErrorCode::kNotFound, "an address is /app/stream.jpg"));
        return;
    }
    const stream::StreamKey key = services_.policy.key_of(
        request.query.get_or("vhost", ""), path.substr(1, slash - 1), path.substr(slash + 1));
    const std::optional<std::string_view> token = http::access_token(request);
    if (!rules_.has_stills(key) || !token) {
        refuse(exchange, token ? make_error(ErrorCode::kNotFound,
                                            "there are no pictures of this stream (play {{ "
                                            "snapshots on; }} turns them on)")
                               : make_error(ErrorCode::kMalformed,
                                            "that is no token: Authorization: Bearer TOKEN"));
        return;
    }
    const std::string url = net::url_of(request);
    net::NewcomerView who = net::newcomer_of(exchange, key, *token, kTransport, url);
    who.may_wait = false;
    who.begins = false;
    auto admitted = admission_.play(who);
    if (!admitted.ok()) {
        refuse(exchange, admitted.error());
        return;
    }
    if (admitted->client) {  // a hook server has allowed it, and hears of the end
        net::begin_turn(*admitted->client, net::ClientRole::kPlayer, key);
    }
    answer(exchange, key);
    if (admitted->client) {
        admitted->client->end_quietly(net::EndClass::kPeerClosed, "picture sent");
    }
}

// Yields.
void StillService::answer(net::HttpExchange& exchange, const stream::StreamKey& key) {
    std::shared_ptr<Picture> picture;
    if (const Error error = find(key, picture)) {
        refuse(exchange, error);
        return;
    }
    const std::shared_ptr<const Bytes> jpeg = picture->jpeg;
    stats_.answered++;
    (void)exchange.respond(200, "image/jpeg", as_text(*jpeg), {{"Cache-Control", "no-cache"}});
}

// One of another publisher never is.
bool StillService::is_new_enough(const stream::StreamKey& key, const Picture& picture) const {
    const stream::Stream* const stream = services_.registry.find(key);
    const bool other =
        stream != nullptr && stream->live() && stream->live_since() != picture.live_since;
    return !other && MonoClock::now() - picture.made < kMaxAge;
}

// Yields. One that is new enough.
Error StillService::find(const stream::StreamKey& key, std::shared_ptr<Picture>& out) {
    if (!pictures_.contains(key) && pictures_.size() >= kMaxPictures) {
        return make_error(ErrorCode::kFull, "pictures of {} streams are made already",
                          pictures_.size());
    }
    std::shared_ptr<Picture>& place = pictures_[key];
    place = place ? place : std::make_shared<Picture>();
    out = place;
    Picture& picture = *out;
    picture.asked = MonoClock::now();
    const auto deadline = io::Deadline::after(kMakeWait);
    while (picture.busy) {
        WEIR_TRY(picture.done.wait_until(deadline, "a picture"));
    }
    if (!is_new_enough(key, picture)) {
        picture.busy = true;
        Error error = make(key, picture);
        picture.busy = false;
        picture.done.notify_all();
        WEIR_TRY(std::move(error));
    }
    return picture.jpeg ? Error() : make_error(ErrorCode::kUnsupported, "{}", picture.why);
}

// Yields.
Error StillService::make(const stream::StreamKey& key, Picture& picture) {
    const auto deadline = io::Deadline::after(kKeyFrameWait);
    Bytes config;
    Bytes payload;
    media::Codec codec = media::Codec::kUnknown;
    for (bool asked = false;;) {
        stream::Stream* const stream = services_.registry.find(key);
        if (stream == nullptr || !stream->live()) {  // perhaps a source brings it
            if (deadline.passed() || !services_.registry.want(key)) {
                return make_error(ErrorCode::kNotFound, "no such stream: nobody publishes it");
            }
            WEIR_TRY(io::sleep_for(kLook));
            continue;
        }
        if (const media::MediaPacket* const frame = stream->key_frame()) {
            if (picture.jpeg && picture.time_ms == frame->time_ms() &&
                picture.live_since == stream->live_since()) {
                picture.made = MonoClock::now();
                return {};
            }
            const media::MediaPacket* const known = stream->config(media::TrackKind::kVideo);
            config = known != nullptr ? copy_of(known->payload()) : Bytes();
            payload = copy_of(frame->payload());
            codec = frame->info().codec;
            picture.time_ms = frame->time_ms();
            picture.live_since = stream->live_since();
            break;
        }
        if (!std::exchange(asked, true)) {
            stream->want_key_frame();
        }
        const bool settled = MonoClock::now() - stream->live_since() > kTracksSettle;
        if (deadline.passed() || (settled && !stream->has_video())) {
            return stream->has_video()
                       ? make_error(ErrorCode::kTimeout, "no key frame came in time")
                       : make_error(ErrorCode::kNotFound, "this stream has no picture");
        }
        WEIR_TRY(io::sleep_for(kLook));
    }
    if (!maker_) {
        WEIR_TRY_ASSIGN(maker_, make_workers_(1, kMaxJobs));
    }
    Result<Bytes> made = make_error(ErrorCode::kInternal, "nothing was made");
    WEIR_TRY(maker_->run([&] {
        made = transcode::make_jpeg({.codec = codec, .config = config, .payload = payload});
    }));
    picture.made = MonoClock::now();
    if (!made.ok()) {
        stats_.failed++;
        keep(picture, nullptr);
        picture.why = std::string(made.error().message());
        log::warn("no picture of stream={}: {}", log::token(key.to_string()), picture.why);
        return {};
    }
    stats_.made++;
    keep(picture, std::make_shared<const Bytes>(std::move(*made)));
    return {};
}

}  // namespace weir::session
