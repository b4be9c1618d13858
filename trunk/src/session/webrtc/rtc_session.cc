#include "session/webrtc/rtc_session.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "proto/rtp/header.h"
#include "session/webrtc/rtc_player.h"
#include "session/webrtc/rtc_publisher.h"
#include "session/webrtc/rtc_server.h"

namespace weir::session {
namespace {

constexpr size_t kRtcpBuffer = 1200;

}  // namespace

RtcSession::RtcSession(RtcServer& server, RtcSessionSetup setup, MonoTime now)
    : server_(server),
      id_(std::move(setup.id)),
      number_(setup.number),
      client_(std::move(setup.client)),
      unproven_(std::move(setup.unproven)),
      connect_deadline_(now + 2 * server.options().ice.connect_timeout),
      transport_(server, *this, setup, now) {
    answer_ = std::move(setup.answer);
    if (setup.pump != nullptr) {
        role_ = std::make_unique<RtcPlayer>(*this, *setup.pump, setup.layer);
    } else {
        role_ = std::make_unique<RtcPublisher>(*this, setup.publish_rules);
    }
    client_->kick = [this] { end(net::EndClass::kKicked, "kicked by the API"); };
    client_->probe = this;
    client_->encrypted = true;
}

RtcSession::~RtcSession() {
    WEIR_CHECK(ended_);
}

// ---- datagrams ----

void RtcSession::on_media(MonoTime now, std::span<uint8_t> datagram, const ice::Path& from) {
    client_->received_bytes += datagram.size();
    if (ended_ || !media_begun_) {
        return;
    }
    const bool rtcp = rtp::is_rtcp(datagram);
    if (!rtcp && !role_->takes_rtp(now, datagram.size())) {
        return;
    }
    const srtp::Unprotected plain =
        rtcp ? transport_.open_rtcp(datagram) : transport_.open_rtp(datagram);
    if (!plain.ok()) {
        return;
    }
    transport_.note_authentic(now, from, datagram.size());
    const std::span<uint8_t> bytes = datagram.first(plain.size);
    if (rtcp) {
        on_rtcp(now, bytes);
    } else {
        role_->on_rtp(now, bytes);
    }
}

void RtcSession::on_rtcp(MonoTime now, ByteSpan compound) {
    rtcp::PacketView packet;
    for (rtcp::CompoundReader reader(compound); reader.next(packet) && !ended_;) {
        role_->on_rtcp(now, packet);
    }
}

bool RtcSession::send_burst(ByteSpan packets, size_t segment_bytes) {
    const ice::Path* path = agent().media_path();
    if (path == nullptr) {
        return true;  // nowhere to send to: lost on the way
    }
    const bool sent = server_.transport().transmit(*path, packets, segment_bytes);
    client_->sent_bytes += sent ? packets.size() : 0;
    return sent;
}

void RtcSession::send_due_rtcp(MonoTime now) {
    std::array<uint8_t, kRtcpBuffer> buffer;
    while (media_begun_ && !ended_) {
        const size_t size =
            role_->poll_transmit(now, std::span(buffer).first(kRtcpBuffer - srtp::kMaxOverhead));
        if (size == 0) {
            return;
        }
        const size_t whole = transport_.protector().protect_rtcp(buffer, size);
        if (whole == 0) {
            end(net::EndClass::kError, "too many RTCP packets for one key");
            return;
        }
        send_burst(std::span(buffer).first(whole), 0);
    }
}

std::string RtcSession::path_text() const {
    return fmt::format(" path={}", agent().media_path()->remote.to_string());
}

// Media begins when there are keys and a nominated path that is proven, whichever comes last.
void RtcSession::begin_media(MonoTime now) {
    if (ended_ || media_begun_ || !transport_.ready()) {
        return;
    }
    media_begun_ = true;
    unproven_.release();
    role_->begin(now, answer_);
    answer_ = {};
}

void RtcSession::handle_timeout(MonoTime now) {
    transport_.handle_ice_timeout(now);
    if (!ended_ && !media_begun_ && now >= connect_deadline_) {
        end(net::EndClass::kTimeout, "never connected");
    }
    if (ended_) {
        return;
    }
    transport_.handle_dtls_timeout(now);
    if (media_begun_) {
        role_->handle_timeout(now);
    }
}

void RtcSession::settle(MonoTime now) {
    if (!ended_) {
        transport_.settle(now);
    }
    if (!ended_) {
        send_due_rtcp(now);
    }
}

std::optional<MonoTime> RtcSession::next_timeout() const {
    if (ended_) {
        return std::nullopt;
    }
    std::optional<MonoTime> due = transport_.next_timeout();
    const auto sooner = [&due](const std::optional<MonoTime>& other) {
        if (other && (!due || *other < *due)) {
            due = other;
        }
    };
    sooner(media_begun_ ? role_->next_timeout() : connect_deadline_);
    return due;
}

// ---- the end ----

void RtcSession::log_never_connected() const {
    server_.log_trouble(
        *client_, "never connected",
        fmt::format("stream={} {}; offered candidates: {}", log::token(client_->key.to_string()),
                    ice::describe_arrivals(agent()), server_.transport().candidate_text()));
}

void RtcSession::end(net::EndClass why, std::string_view reason) {
    if (ended_) {
        return;
    }
    ended_ = true;
    const bool never_connected = !media_begun_ && why == net::EndClass::kTimeout;
    if (never_connected) {
        log_never_connected();
    }
    transport_.close();
    role_->end(MonoClock::now());
    transport_.give_back_paths();
    if (never_connected) {
        client_->end_quietly(why, reason);  // log_never_connected() has said it
    } else {
        client_->log_summary(why, reason);
    }
    client_->kick = nullptr;
    client_->probe = nullptr;
    server_.transport().forget(*this);
}

}  // namespace weir::session
