// The requests of a connection that publishes: ANNOUNCE, SETUP, RECORD, and its media. Each yields
// where it has to be asked or waited for.
#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"
#include "net/limits.h"
#include "proto/rtsp/transport.h"
#include "session/rtsp/rtsp_connection.h"
#include "session/rtsp/rtsp_server.h"
#include "stream/registry.h"

namespace weir::session {
namespace {

// Whether the URL of a SETUP is that of the track.
bool is_of_track(std::string_view url, std::string_view control) {
    if (control.empty()) {
        return false;
    }
    return url == control || (url.size() > control.size() && url.ends_with(control) &&
                              url[url.size() - control.size() - 1] == '/');
}

}  // namespace

// Yields.
Error RtspConnection::handle_announce(const rtsp::Request& request) {
    if (!session_.id.empty() || publish_) {
        return refuse(request, 455, "TEARDOWN ends the session that is there");
    }
    const auto type = request.headers.get("Content-Type");
    if (type && type->find("application/sdp") == std::string_view::npos) {
        return refuse(request, 415, "descriptions are application/sdp");
    }
    RtspTarget target;
    WEIR_TRY_ASSIGN(const bool begun, begin_request(request, true, target));
    if (!begun) {
        return {};
    }
    announced_.clear();
    Result<net::PublishRules> rules = server_.services().policy.may_publish(access());
    if (!rules.ok()) {
        return refuse_question(request, true, rules.take_error());
    }
    Result<sdp::RtspDescription> description = sdp::RtspDescription::parse(request.body);
    if (!description.ok()) {
        return refuse(request, 400, description.error().message());
    }
    std::string why = "the description has no track";
    bool any = false;
    for (sdp::RtspTrack& track : description->tracks) {
        std::optional<RtspSrtpKey> key;
        if (track.is_secure()) {
            if (const std::string_view no_srtp = why_no_srtp(); !no_srtp.empty()) {
                announced_.clear();
                return refuse(request, 461, no_srtp);
            }
            key = find_rtsp_srtp_key(track.crypto);
            if (!key && track.is_supported() && !track.crypto.empty()) {
                track.unsupported = "RTP/SAVP needs a=crypto with " + std::string(kRtspSrtpSuites);
            }
        }
        why = track.is_supported() ? why : track.unsupported;
        any = any || track.is_supported();
        announced_.push_back({std::move(track), std::nullopt, nullptr, key});
    }
    if (!any) {
        announced_.clear();
        return refuse(request, 415, why);
    }
    phase_since_ = MonoClock::now();
    return answer(request, 200);
}

// Yields.
Error RtspConnection::handle_publisher_setup(const rtsp::Request& request) {
    if (publish_) {
        return refuse(request, 455, "it is being published already");
    }
    std::string_view url = request.url;
    const std::string_view without_query = url.substr(0, url.find('?'));
    auto found = std::ranges::find_if(announced_, [&](const RtspAnnounced& each) {
        return is_of_track(url, each.track.control) ||
               is_of_track(without_query, each.track.control);
    });
    if (found == announced_.end()) {  // without a=control tracks are set up in their order
        found = std::ranges::find_if(announced_, [](const RtspAnnounced& each) {
            return !each.transport && each.track.control.empty();
        });
    }
    if (found == announced_.end()) {
        return refuse(request, 404, "the description has no such track");
    }
    const auto index = static_cast<size_t>(found - announced_.begin());
    if (found->track.is_secure() && !found->key) {  // GStreamer says it here
        found->key = key_of_setup(request);
        if (!found->key && found->track.is_supported()) {
            return refuse(
                request, 461,
                "RTP/SAVP needs keys in the description (a=crypto, a=key-mgmt) or in SETUP "
                "(KeyMgmt)");
        }
    }
    std::unique_ptr<RtspUdpTrack> udp;
    WEIR_TRY_ASSIGN(std::optional<rtsp::Transport> chosen, choose_transport(request, index, udp));
    if (!chosen) {
        return {};
    }
    if (chosen->tcp && !chosen->interleaved) {
        const auto first = static_cast<uint8_t>(2 * index);
        chosen->interleaved = rtsp::ChannelPair{first, static_cast<uint8_t>(first + 1)};
    }
    chosen->record = true;
    found->transport = *chosen;
    found->udp = std::move(udp);
    return answer_setup(request, *chosen);
}

// Yields.
Error RtspConnection::handle_record(const rtsp::Request& request) {
    if (session_.id.empty() || announced_.empty() || publish_) {
        return refuse(request, 455, "ANNOUNCE and SETUP come before RECORD");
    }
    RtspTarget target;
    WEIR_TRY_ASSIGN(const bool begun, begin_request(request, true, target));
    if (!begun) {
        return {};
    }
    const net::Services& services = server_.services();
    const net::NewcomerView who = newcomer();
    Result<net::AdmittedPublisher> admitted = server_.admission().publish(who);
    if (!admitted.ok()) {
        return refuse_access(request, true, admitted.take_error());
    }
    const MonoTime now = MonoClock::now();
    stream::Stream& target_stream =
        services.registry.get_or_create(target_.key, admitted->rules.stream, now);
    RtspPublish::Callbacks callbacks{
        .taken_over =
            [this] { end_by(net::EndClass::kReplaced, "another publisher took the stream over"); },
        .too_fast =
            [this] {
                server_.services().limits.count(net::Refusal::kPublishBitrate);
                end_by(net::EndClass::kRefused,
                       "the publisher sends more than it may (max_publish_bitrate)");
            }};
    auto publish = std::make_unique<RtspPublish>(*client_, target_stream, admitted->rules,
                                                 std::move(callbacks));
    publish->ticket = std::move(admitted->ticket);
    if (Error busy = target_stream.start_publish(*publish, admitted->rules.conflict, now)) {
        publish->ticket.end(*client_, net::EndClass::kRefused, busy.message());
        return refuse_access(request, true, std::move(busy));
    }
    if (Error failed = publish->begin(announced_, server_.udp().control())) {
        target_stream.end_publish(*publish, now);
        publish->ticket.end(*client_, net::EndClass::kError, failed.message());
        services.registry.release(target_stream);
        return refuse_access(request, true, std::move(failed));
    }
    publish_ = std::move(publish);
    net::begin_turn(*client_, net::ClientRole::kPublisher, target_.key);
    rtsp::Response out = answer_to(request, 200);
    out.headers.add("Session", session_.field());
    return send(out);
}

// Never yields. False: more than max_publish_bitrate.
Result<bool> RtspConnection::take_frame(const rtsp::FrameView& frame) {
    if (!publish_) {
        return true;  // of somebody who does not wait for an answer
    }
    for (size_t i = 0; i < announced_.size(); i++) {
        const auto& transport = announced_[i].transport;
        if (!transport || !transport->interleaved) {
            continue;
        }
        if (frame.channel == transport->interleaved->rtp) {
            const bool fits = publish_->on_rtp(MonoClock::now(), frame.payload, i);
            if (!fits) {
                server_.services().limits.count(net::Refusal::kPublishBitrate);
            }
            return fits;
        }
        if (frame.channel == transport->interleaved->rtcp) {
            publish_->on_rtcp(MonoClock::now(), frame.payload, i);
            return true;
        }
    }
    return true;
}

void RtspConnection::end_publish(net::EndClass why, std::string_view detail) {
    if (!publish_) {
        return;
    }
    stream::Stream& stream = publish_->stream();
    if (client_->turns <= net::kToldTurns) {
        log::info("unpublish stream={}", log::token(stream.key().to_string()));
    }
    stream.end_publish(*publish_, MonoClock::now());
    publish_->ticket.end(*client_, why, detail);
    publish_.reset();
    server_.services().registry.release(stream);
    phase_since_ = MonoClock::now();
}

}  // namespace weir::session
