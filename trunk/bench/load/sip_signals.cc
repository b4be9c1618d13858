#include "bench/load/sip_signals.h"

#include <array>
#include <utility>

#include "base/random.h"
#include "io/deadline.h"

namespace weir::load {
namespace {

constexpr int kSocketBuffer = 4 << 20;  // a storm comes at once
constexpr size_t kBatchesPerTurn = 64;
constexpr size_t kReadBytes = 2048;
constexpr uint64_t kConnection = 1;
constexpr size_t kMaxOutput = 4 << 20;
constexpr size_t kMaxBenchCalls = 100'000;

sip::UserAgentOptions agent_options() {
    sip::UserAgentOptions options;
    options.product = "weir-bench";
    options.max_calls = kMaxBenchCalls;
    options.transactions.max_transactions = 10 * kMaxBenchCalls;
    options.transactions.max_bytes = size_t{1} << 30U;
    return options;
}

}  // namespace

SipSignals::SipSignals(SipSignalsOwner& owner)
    : owner_(owner), agent_(agent_options(), system_random()) {}

SipSignals::~SipSignals() = default;

Error SipSignals::bind(const NetAddress& local) {
    io::UdpOptions options;
    options.receive_buffer_bytes = options.send_buffer_bytes = kSocketBuffer;
    WEIR_TRY_ASSIGN(socket_, io::UdpSocket::bind(io::SocketAddress::of(local), options));
    local_ = local.with_port(socket_->local().port());
    socket_->set_handler(this);
    read_datagrams();
    return {};
}

Error SipSignals::connect(const io::SocketAddress& server, io::Deadline deadline) {
    WEIR_TRY_ASSIGN(stream_, io::TcpStream::connect(server, deadline));
    local_ = stream_->local().net_address();
    server_ = server.net_address();
    stream_->set_handler(this);
    read_stream();
    return {};
}

sip::Flow SipSignals::flow_to(const NetAddress& remote) const {
    return stream_ ? sip::Flow{sip::Transport::kTcp, kConnection, server_, local_}
                   : sip::Flow{sip::Transport::kUdp, kConnection, remote, local_};
}

void SipSignals::on_ready(uint8_t) {
    if (stream_) {
        flush();
        read_stream();
    } else {
        read_datagrams();
    }
}

void SipSignals::read_datagrams() {
    more_ = true;
    for (size_t i = 0; i < kBatchesPerTurn && more_; i++) {
        more_ = socket_->receive([this](std::span<uint8_t> bytes, const io::UdpPath& path) {
            feed(sip::parse_datagram(bytes), flow_to(path.peer));
        });
    }
    work();
}

void SipSignals::read_stream() {
    using Status = sip::StreamReader::Status;
    std::array<uint8_t, kReadBytes> buffer;
    while (!broken_) {
        const io::IoResult got = stream_->try_read(buffer);
        if (got.status == io::IoStatus::kWouldBlock) {
            break;
        }
        if (got.status != io::IoStatus::kDone) {
            broken_ = true;
            break;
        }
        ByteSpan bytes(buffer.data(), got.bytes);
        for (Status status = reader_.next(bytes); status != Status::kNeedMore;
             status = reader_.next(bytes)) {
            if (status == Status::kError) {
                malformed_++;
                broken_ = true;
                break;
            }
            if (status == Status::kMessage) {
                feed(std::move(reader_.parsed()), flow_to(server_));
            }
        }
    }
    work();
}

void SipSignals::feed(sip::Parsed parsed, const sip::Flow& flow) {
    if (parsed.kind == sip::Parsed::Kind::kKeepAlive) {
        return;
    }
    (parsed.kind == sip::Parsed::Kind::kMessage ? received_ : malformed_)++;
    agent_.on_parsed(MonoClock::now(), std::move(parsed), flow);
}

void SipSignals::look(MonoTime now) {
    if (std::exchange(more_, false)) {
        read_datagrams();
    }
    if (const auto due = agent_.next_timeout(); due && *due <= now) {
        agent_.handle_timeout(now);
        work();
    }
}

// An event may make more of both.
void SipSignals::work() {
    if (std::exchange(working_, true)) {
        return;
    }
    for (bool more = true; more;) {
        more = false;
        while (const auto out = agent_.poll_transmit()) {
            send(*out);
        }
        while (auto event = agent_.poll_event()) {
            owner_.on_sip(std::move(*event));
            more = true;
        }
    }
    working_ = false;
}

void SipSignals::send(const sip::Transmit& out) {
    sent_++;
    if (stream_) {
        unsent_ += output_.size() > kMaxOutput ? 1U : 0U;
        output_ += output_.size() > kMaxOutput ? std::string() : out.bytes;
        flush();
        return;
    }
    const io::IoResult done = socket_->send({out.flow.remote, {}}, as_bytes(out.bytes));
    unsent_ += done.status == io::IoStatus::kDone ? 0 : 1;
}

void SipSignals::flush() {
    while (!output_.empty() && !broken_) {
        const io::IoResult done = stream_->try_write(as_bytes(output_));
        if (done.status == io::IoStatus::kWouldBlock) {
            return;
        }
        if (done.status != io::IoStatus::kDone) {
            broken_ = true;
            return;
        }
        output_.erase(0, done.bytes);
    }
}

}  // namespace weir::load
