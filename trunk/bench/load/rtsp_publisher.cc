#include "bench/load/rtsp_publisher.h"

#include <algorithm>

#include "base/random.h"
#include "io/deadline.h"
#include "io/tls.h"

#include "bench/load/run_control.h"

namespace weir::load {
namespace {

constexpr Millis kWriteTimeout{10'000};
constexpr Millis kStopTimeout{2'000};
constexpr size_t kReadSize = 4096;
constexpr uint64_t kEarlyUs = 500;  // what is due within this is sent along
constexpr int kFramesPerFlush = 256;

}  // namespace

RtspPublishSockets RtspPublisher::sockets() {
    if (!by_udp_) {
        return {};
    }
    return {.bind = [this](size_t track) -> std::optional<rtsp::PortPair> {
                auto made = net::RtpPorts::bind(stream_->local().net_address(), track, *this);
                if (!made.ok()) {
                    return std::nullopt;
                }
                ports_.push_back(std::move(*made));
                return ports_.back()->ports();
            },
            .send =
                [this](size_t track, bool rtcp, uint16_t port, ByteSpan bytes) {
                    const NetAddress server = stream_->connection_peer().net_address();
                    ports_[track]->send(rtcp, server.with_port(port), bytes);
                }};
}

Error RtspPublisher::connect(io::Deadline deadline) {
    SourceAddresses sources(address_);
    WEIR_TRY_ASSIGN(stream_, io::TcpStream::connect(address_, deadline, sources.of(number_)));
    if (url_.tls) {
        WEIR_TRY_ASSIGN(const auto tls, io::TlsContext::client({.verify = false, .ca_file = {}}));
        WEIR_TRY(io::tls_connect(*stream_, *tls, url_.host, deadline));
    }
    WEIR_TRY_ASSIGN(
        client_, RtspPublishClient::create(url_, source().opening(), system_random(), sockets()));
    Bytes buffer(kReadSize);
    while (!client_->started()) {
        WEIR_TRY(flush(deadline));
        WEIR_TRY_ASSIGN(const size_t size, stream_->read_some(buffer, deadline));
        WEIR_TRY(client_->feed(MonoClock::now(), ByteSpan(buffer).first(size)));
    }
    for (const auto& each : ports_) {
        each->listen();
    }
    return {};
}

Error RtspPublisher::flush(io::Deadline deadline) {
    if (!client_->has_output()) {
        return {};
    }
    const std::string out = client_->take_output();
    return stream_->write_all(as_bytes(out), deadline);
}

Error RtspPublisher::publish() {
    io::Coroutine reader;
    WEIR_TRY_ASSIGN(reader, io::Coroutine::spawn("publisher-reader", io::StackSize::kNormal,
                                                 [this] { read_on(); }));
    Error error = send_frames();
    if (!error) {
        client_->leave();
        error = flush(io::Deadline::after(kStopTimeout));
    }
    reader.interrupt();
    reader.join();
    return error;
}

void RtspPublisher::read_on() {
    Bytes buffer(kReadSize);
    for (;;) {
        auto size = stream_->read_some(buffer, io::Deadline::forever());  // ended by publish()
        Error error = size.ok() ? client_->feed(MonoClock::now(), ByteSpan(buffer).first(*size))
                                : size.take_error();
        if (error) {
            if (error.code() != ErrorCode::kInterrupted && !asked_to_stop()) {
                note_failure(std::string(error.message()));
                stream_->shutdown();
            }
            return;
        }
    }
}

Error RtspPublisher::send_frames() {
    const uint64_t origin_us = now_ns() / 1000;
    while (!asked_to_stop()) {
        const uint64_t passed = now_ns() / 1000 - origin_us;
        for (int i = 0; i < kFramesPerFlush && source().next_due_us() <= passed + kEarlyUs; i++) {
            totals().lag.add(passed - std::min(passed, source().next_due_us()));
            WEIR_TRY(source().next(now_ns(), frame_));
            client_->send(MonoClock::now(), frame_);
            totals().frames++;
            totals().bytes += frame_.body.size();
        }
        WEIR_TRY(flush(io::Deadline::after(kWriteTimeout)));
        if (source().next_due_us() <= passed + kEarlyUs) {
            io::yield();  // a file may ask for any number of frames at once
            continue;
        }
        const uint64_t due = origin_us + source().next_due_us();
        WEIR_TRY(io::sleep_until(io::Deadline::at(MonoTime(Micros(static_cast<int64_t>(due))))));
    }
    return {};
}

}  // namespace weir::load
