#include "bench/load/core/rtsp_publish_client.h"

#include <utility>

#include <fmt/format.h>

#include "base/version.h"

namespace weir::load {
namespace {

rtsp::ClientOptions options_of(const rtsp::Url& url) {
    rtsp::ClientOptions options;
    options.url = url;
    options.user_agent = fmt::format("weir-bench/{}", kVersion);
    options.allow_basic = true;
    return options;
}

}  // namespace

RtspPublishClient::RtspPublishClient(const rtsp::Url& url,
                                     RandomSource& random,
                                     RtspPublishSockets sockets)
    : session_(options_of(url), random), sockets_(std::move(sockets)) {}

Result<std::unique_ptr<RtspPublishClient>> RtspPublishClient::create(
    const rtsp::Url& url,
    const std::vector<SourceMessage>& opening,
    RandomSource& random,
    RtspPublishSockets sockets) {
    // lint: allow-new - private constructor
    std::unique_ptr<RtspPublishClient> client(
        new RtspPublishClient(url, random, std::move(sockets)));
    WEIR_TRY_ASSIGN(client->cutter_, RtspFrameCutter::create(opening, random));
    WEIR_TRY(client->announce());
    return client;
}

Error RtspPublishClient::announce() {
    std::vector<rtsp::ClientTrack> tracks;
    for (size_t i = 0; i < cutter_->tracks(); i++) {
        rtsp::Transport offer;
        if (sockets_) {
            offer.client_port = sockets_.bind(i);
            if (!offer.client_port) {
                return make_error(ErrorCode::kBusy, "there are no two free UDP ports for a track");
            }
        } else {
            const auto channel = static_cast<uint8_t>(2 * i);
            offer.tcp = true;
            offer.interleaved = rtsp::ChannelPair{channel, static_cast<uint8_t>(channel + 1)};
        }
        tracks.push_back({RtspFrameCutter::control_of(i), {std::move(offer)}});
    }
    session_.publish(cutter_->describe("0.0.0.0"), std::move(tracks));
    return {};
}

Error RtspPublishClient::feed(MonoTime now, ByteSpan bytes) {
    for (;;) {
        switch (session_.next(now, bytes)) {
            case rtsp::ClientEvent::kNeedMore: return {};
            case rtsp::ClientEvent::kStarted: WEIR_TRY(check_ports()); break;
            case rtsp::ClientEvent::kError: return session_.take_error();
            case rtsp::ClientEvent::kEnded:
                return make_error(ErrorCode::kClosed, "the server ended the session");
            case rtsp::ClientEvent::kRedirected:
                return make_error(ErrorCode::kUnsupported,
                                  "the server redirects, which the load client does not follow");
            default: break;
        }
    }
}

// Packets have to go somewhere.
Error RtspPublishClient::check_ports() const {
    for (size_t i = 0; i < session_.tracks(); i++) {
        const std::optional<rtsp::Transport>& agreed = session_.transport(i);
        if (agreed && !agreed->tcp && !agreed->server_port) {
            return make_error(ErrorCode::kMalformed,
                              "the server does not say to which ports packets are to be sent");
        }
    }
    return {};
}

void RtspPublishClient::send(MonoTime now, const SourceMessage& message) {
    if (!started()) {
        return;
    }
    session_.handle_timeout(now);
    cutter_->send(now, message, *this);
}

void RtspPublishClient::on_rtsp_packet(size_t track, bool rtcp, ByteSpan bytes) {
    const std::optional<rtsp::Transport>& agreed = session_.transport(track);
    if (!agreed) {
        return;
    }
    if (agreed->tcp) {
        session_.send_frame(rtcp ? agreed->interleaved->rtcp : agreed->interleaved->rtp, bytes);
    } else if (agreed->server_port) {
        sockets_.send(track, rtcp, rtcp ? agreed->server_port->rtcp : agreed->server_port->rtp,
                      bytes);
    }
}

}  // namespace weir::load
