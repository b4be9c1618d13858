#include "bench/load/rtc_publisher.h"

#include <algorithm>

#include "io/deadline.h"

#include "bench/load/http_exchange.h"
#include "bench/load/run_control.h"

namespace weir::load {
namespace {

constexpr int kCreated = 201;
constexpr Millis kStopTimeout{1'500};
constexpr uint64_t kEarlyUs = 500;  // what is due within this is sent along
constexpr int kFramesPerTurn = 64;

}  // namespace

Result<std::unique_ptr<RtcPublishShared>> RtcPublishShared::create() {
    auto shared = std::make_unique<RtcPublishShared>();
    WEIR_TRY_ASSIGN(shared->identity, dtls::Identity::create());
    shared->rtc.emplace(webrtc::ClientShared{*shared->identity, shared->control, system_random()});
    return shared;
}

Error RtcPublisher::connect(io::Deadline deadline) {
    const MonoTime asked = MonoClock::now();
    WEIR_TRY_ASSIGN(client_,
                    RtcPublishClient::create(*shared_.rtc, out_, shared_.totals, shared_.stats,
                                             source().opening(), deadline.time() - asked));
    SourceAddresses sources(http_);
    WEIR_TRY_ASSIGN(
        const HttpAnswer answer,
        http_exchange(http_, rtc_post_request(url_.authority(), url_.path, "", client_->offer()),
                      deadline, sources.of(number_)));
    if (answer.status != kCreated) {
        return make_error(ErrorCode::kDenied, "refused with {}", describe(answer));
    }
    location_ = answer.location;
    WEIR_TRY(client_->take_answer(answer.body, false));
    WEIR_TRY_ASSIGN(link_, UdpLink::open(client_->address(), sources.of(number_), *this));
    out_.to = link_.get();
    client_->begin(asked, MonoClock::now());
    while (!client_->connected()) {
        WEIR_TRY(go_on(deadline));
    }
    return {};
}

void RtcPublisher::on_ready(uint8_t) {
    readable_ = true;
    readable_signal_.notify_one();
}

// Waits for datagrams or the client's timer, at most until `next`, and does what they ask for.
Error RtcPublisher::go_on(io::Deadline next) {
    const MonoTime due = std::min(next.time(), client_->next_timeout());
    if (!readable_) {
        Error error = readable_signal_.wait_until(io::Deadline::at(due));
        if (error && error.code() != ErrorCode::kTimeout) {
            return error;
        }
    }
    const MonoTime now = MonoClock::now();
    if (readable_) {
        readable_ = false;
        while (link_->receive([&](std::span<uint8_t> datagram) {
            client_->handle_packet(now, datagram, client_->address());
            return true;
        })) {
        }
    }
    if (client_->next_timeout() <= now) {
        client_->handle_timeout(now);
    }
    return client_->over() ? make_error(ErrorCode::kClosed, "{}", client_->failure().message())
                           : Error();
}

Error RtcPublisher::publish() {
    const uint64_t origin_us = now_ns() / 1000;
    while (!asked_to_stop()) {
        WEIR_TRY(send_due(origin_us));
        const uint64_t due = origin_us + source().next_due_us();
        WEIR_TRY(go_on(io::Deadline::at(MonoTime(Micros(static_cast<int64_t>(due))))));
    }
    return {};
}

Error RtcPublisher::send_due(uint64_t origin_us) {
    for (int i = 0; i < kFramesPerTurn; i++) {
        const uint64_t now = now_ns();
        const uint64_t passed = now / 1000 - origin_us;
        const uint64_t due = source().next_due_us();
        if (due > passed + kEarlyUs) {
            return {};
        }
        totals().lag.add(passed - std::min(passed, due));
        WEIR_TRY(source().next(now, frame_));
        client_->send(MonoClock::now(), frame_);
        totals().frames++;
        totals().bytes += frame_.body.size();
    }
    return {};
}

void RtcPublisher::disconnect() {
    link_.reset();
    out_.to = nullptr;
    if (!location_.empty() && !io::interrupted()) {
        const auto answer = http_exchange(http_, rtc_delete_request(url_.authority(), location_),
                                          io::Deadline::after(kStopTimeout));
        if (!answer.ok()) {
            return;  // the server finds out by itself
        }
    }
}

}  // namespace weir::load
