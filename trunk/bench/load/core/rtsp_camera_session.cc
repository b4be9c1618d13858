#include "bench/load/core/rtsp_camera_session.h"

#include <utility>

#include <fmt/format.h>

#include "base/version.h"
#include "proto/rtsp/header_values.h"
#include "proto/rtsp/method.h"
#include "proto/rtsp/url.h"

namespace weir::load {
namespace {

using rtsp::Method;

constexpr size_t kSessionId = 12;
constexpr std::chrono::seconds kSessionTimeout{60};
constexpr std::string_view kTrack = "/trackID=";
constexpr rtsp::MethodSet kMethods{Method::kOptions, Method::kDescribe,     Method::kSetup,
                                   Method::kPlay,    Method::kGetParameter, Method::kTeardown};

// "rtsp://host/camera/0/trackID=1" without its track and the slash at its end.
std::string_view base_of(std::string_view url) {
    url = url.substr(0, url.rfind(kTrack));
    return url.ends_with('/') ? url.substr(0, url.size() - 1) : url;
}

}  // namespace

Error RtspCameraSession::feed(ByteSpan bytes) {
    using Status = rtsp::ConnectionReader::Status;
    for (;;) {
        switch (reader_.next(bytes)) {
            case Status::kNeedMore: return {};
            case Status::kRequest: WEIR_TRY(obey(reader_.request())); break;
            case Status::kResponse:
            case Status::kFrame: break;  // receiver reports
            case Status::kHttp:
            case Status::kError: return make_error(ErrorCode::kMalformed, "this is no RTSP");
        }
    }
}

Error RtspCameraSession::obey(const rtsp::Request& request) {
    rtsp::Response response;
    switch (request.method) {
        case Method::kOptions: response.headers.add("Public", kMethods.write()); break;
        case Method::kDescribe: describe(request); return {};
        case Method::kSetup: set_up(request); return {};
        case Method::kPlay: play(request); return {};
        case Method::kGetParameter:
        case Method::kSetParameter: break;
        case Method::kTeardown:
            playing_ = false;
            answer(request, std::move(response));
            return make_error(ErrorCode::kClosed, "the client has left");
        default: response.status = 501; break;
    }
    answer(request, std::move(response));
    return {};
}

void RtspCameraSession::answer(const rtsp::Request& request, rtsp::Response response) {
    response.cseq = request.cseq;
    response.headers.add("Server", fmt::format("weir-bench/{}", kVersion));
    if (!session_.empty()) {
        response.headers.add("Session", rtsp::write(rtsp::SessionField{session_, kSessionTimeout}));
    }
    output_ += rtsp::write(response);
}

// False: there is no such camera.
bool RtspCameraSession::open(std::string_view url) {
    if (source_) {
        return true;
    }
    const auto parsed = rtsp::Url::parse(base_of(url));
    source_ = parsed.ok() ? host_.open(parsed->target) : nullptr;
    if (!source_) {
        return false;
    }
    auto cutter = RtspFrameCutter::create(source_->opening(), host_.random);
    if (!cutter.ok()) {
        source_.reset();
        return false;
    }
    cutter_ = std::move(*cutter);
    tracks_.assign(cutter_->tracks(), std::nullopt);
    base_ = base_of(url);
    return true;
}

void RtspCameraSession::describe(const rtsp::Request& request) {
    rtsp::Response response;
    if (open(request.url)) {
        response.headers.add("Content-Base", base_ + "/");
        response.headers.add("Content-Type", "application/sdp");
        response.body = cutter_->describe(address_);
    } else {
        response.status = 404;
    }
    answer(request, std::move(response));
}

void RtspCameraSession::set_up(const rtsp::Request& request) {
    rtsp::Response response;
    response.status = 404;
    if (!open(request.url)) {
        answer(request, std::move(response));
        return;
    }
    size_t track = 0;
    while (track < tracks_.size() && !request.url.ends_with(RtspFrameCutter::control_of(track))) {
        track++;
    }
    if (track == tracks_.size()) {
        answer(request, std::move(response));
        return;
    }
    response.status = 461;
    for (rtsp::Transport& offer :
         rtsp::parse_transports(request.headers.get("Transport").value_or(""))) {
        const bool by_udp = !offer.tcp && offer.client_port && host_.ports;
        if (offer.secure || offer.multicast || (!offer.tcp && !by_udp)) {
            continue;
        }
        if (by_udp) {
            offer.server_port = host_.ports;
        } else if (!offer.interleaved) {
            const auto channel = static_cast<uint8_t>(2 * track);
            offer.interleaved = rtsp::ChannelPair{channel, static_cast<uint8_t>(channel + 1)};
        }
        if (session_.empty()) {
            session_ = random_id(host_.random, kSessionId);
        }
        response.status = 200;
        response.headers.add("Transport", rtsp::write(offer));
        tracks_[track] = std::move(offer);
        break;
    }
    answer(request, std::move(response));
}

void RtspCameraSession::play(const rtsp::Request& request) {
    rtsp::Response response;
    if (session_.empty()) {
        response.status = 455;
        answer(request, std::move(response));
        return;
    }
    std::vector<rtsp::RtpInfo> first;
    for (size_t i = 0; i < tracks_.size(); i++) {
        if (tracks_[i]) {
            first.push_back({fmt::format("{}/{}", base_, RtspFrameCutter::control_of(i)),
                             cutter_->next_sequence(i), cutter_->rtp_time(i, 0)});
        }
    }
    response.headers.add("Range", "npt=now-");
    response.headers.add("RTP-Info", rtsp::write(first));
    answer(request, std::move(response));
    playing_ = true;
}

void RtspCameraSession::send(MonoTime now, const SourceMessage& message) {
    if (playing_) {
        cutter_->send(now, message, *this);
    }
}

void RtspCameraSession::on_rtsp_packet(size_t track, bool rtcp, ByteSpan bytes) {
    const std::optional<rtsp::Transport>& to = tracks_[track];
    if (!to) {
        return;
    }
    if (!to->tcp) {
        host_.send(rtcp, rtcp ? to->client_port->rtcp : to->client_port->rtp, bytes);
        return;
    }
    const auto header = rtsp::frame_header(rtcp ? to->interleaved->rtcp : to->interleaved->rtp,
                                           static_cast<uint16_t>(bytes.size()));
    output_.append(header.begin(), header.end());
    output_ += as_text(bytes);
}

}  // namespace weir::load
