#include "bench/load/mcast_client.h"

#include <cstring>

#include "io/deadline.h"

#include "bench/load/run_control.h"

namespace weir::load {
namespace {

constexpr int kReadsPerTurn = 16;
constexpr Millis kSilence{30'000};  // of a server that plays to nobody any more
constexpr Millis kLook{1};          // a member, at its socket

}  // namespace

McastClient::~McastClient() {
    stop();
}

Error McastClient::start(io::Deadline deadline) {
    started_ns_ = now_ns();
    WEIR_TRY_ASSIGN(coroutine_,
                    io::Coroutine::spawn("mcast client", io::StackSize::kNormal, [this, deadline] {
                        Error error = receive(deadline);
                        ended_ = error.code() != ErrorCode::kInterrupted;
                        why_ = error.message();
                    }));
    return {};
}

void McastClient::stop() {
    coroutine_.interrupt();
    coroutine_.join();
}

void McastClient::set_connected() {
    connected_ = true;
    asked_ns_ = now_ns();
    totals_.connect.add((asked_ns_ - started_ns_) / 1000);
    check_.joined(asked_ns_);
}

void McastClient::feed(ByteSpan bytes) {
    const uint64_t now = now_ns();
    if (check_.counts().bytes == 0) {
        totals_.first_byte.add((now - asked_ns_) / 1000);
    }
    check_.feed(bytes, now);
}

// ---- over HTTP ----

Error McastHttpClient::receive(io::Deadline connect) {
    WEIR_TRY_ASSIGN(auto stream, io::TcpStream::connect(server_, connect, from_));
    set_connected();
    WEIR_TRY(stream->write_all(as_bytes(request_), connect));
    for (;;) {
        WEIR_TRY(stream->wait_readable(io::Deadline::after(kSilence)));
        bool more = false;
        WEIR_TRY(read_all(*stream, more));
        if (more) {
            io::yield();
            if (io::interrupted()) {
                return make_error(ErrorCode::kInterrupted, "interrupted");
            }
        }
    }
}

// What is there, within a budget: `more` says that it was used up.
Error McastHttpClient::read_all(io::TcpStream& stream, bool& more) {
    for (int i = 0; i < kReadsPerTurn; i++) {
        const io::IoResult result = stream.try_read(buffer_);
        if (result.status == io::IoStatus::kWouldBlock) {
            return {};
        }
        if (result.status != io::IoStatus::kDone) {
            return make_error(ErrorCode::kClosed, "{}",
                              result.error_number != 0 ? std::strerror(result.error_number)
                                                       : "closed by the server");
        }
        if (!body_.feed(ByteSpan(buffer_).first(result.bytes),
                        [this](ByteSpan part) { feed(part); })) {
            return make_error(ErrorCode::kDenied, "{}", body_.failure());
        }
        if (body_.ended()) {
            return make_error(ErrorCode::kClosed, "the server ended the stream");
        }
    }
    more = true;
    return {};
}

// ---- by joining ----

Error McastMember::receive(io::Deadline) {
    WEIR_TRY_ASSIGN(receiver_, net::GroupReceiver::open(address_));
    set_connected();
    for (;;) {
        WEIR_TRY(io::sleep_for(kLook));
        order_.handle_timeout(MonoClock::now());
        while (receiver_->read(
            [this](ByteSpan datagram) { order_.feed(MonoClock::now(), datagram); })) {
            io::yield();
            if (io::interrupted()) {
                return make_error(ErrorCode::kInterrupted, "interrupted");
            }
        }
    }
}

uint64_t McastMember::kernel_drops() const {
    return receiver_ ? receiver_->stats().kernel_drops : 0;
}

}  // namespace weir::load
