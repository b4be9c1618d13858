#include "session/srt/srt_link.h"

#include <utility>

#include "io/deadline.h"
#include "io/socket_address.h"
#include "net/link_facts.h"

namespace weir::session {

SrtLink::~SrtLink() {
    set_client(nullptr);
    if (id_ != 0) {
        engine_.close(id_);
    }
}

void SrtLink::take(const io::SrtNewcomer& newcomer) {
    id_ = newcomer.id;
    connected_ = true;
    encrypted_ = newcomer.encrypted;
    remote_ = newcomer.peer.to_string();
    engine_.attach(id_, *this);
}

Error SrtLink::connect(const io::SocketAddress& to, const io::SrtOptions& options) {
    WEIR_TRY(engine_.start());
    if (id_ != 0) {
        engine_.close(std::exchange(id_, 0));
    }
    ended_.reset();
    remote_ = to.to_string();
    id_ = engine_.connect(to, options, *this);
    // libsrt gives up by itself; this is for a thread that does not come to it.
    const io::Deadline deadline = io::Deadline::after(options.connect_timeout + Seconds(2));
    while (!connected_ && !ended_) {
        WEIR_TRY(changed_.wait_until(deadline, "an SRT handshake"));
    }
    return ended_ ? make_error(ended_->code, "{}", ended_->detail) : Error();
}

void SrtLink::set_receiver(std::function<void(ByteSpan)> receiver) {
    receiver_ = std::move(receiver);
    receives_ = true;
    const Bytes held = std::exchange(held_, {});
    if (receiver_ && !held.empty()) {
        receiver_(held);
    }
}

void SrtLink::set_client(net::Client* client) {
    if (client_ != nullptr) {
        client_->probe = nullptr;
        client_->kick = nullptr;
    }
    client_ = client;
    if (client_ != nullptr) {
        client_->probe = this;
        client_->encrypted = encrypted_;
        client_->kick = [this] { end(net::EndClass::kKicked, "kicked by the API"); };
        on_srt_stats(stats_);
    }
}

void SrtLink::end(net::EndClass why, std::string detail) {
    if (!ended_) {
        ended_ = End{why, std::move(detail), ErrorCode::kClosed};
        notify();
    }
}

void SrtLink::notify() {
    changed_.notify_all();
}

Error SrtLink::wait(io::Deadline deadline) {
    return ended_ ? Error() : changed_.wait_until(deadline, "an SRT connection");
}

// ---- io::SrtPeer ----

void SrtLink::on_srt_connected(bool encrypted) {
    connected_ = true;
    encrypted_ = encrypted;
    notify();
}

void SrtLink::on_srt_data(ByteSpan data) {
    if (receiver_) {
        receiver_(data);
    } else if (!receives_ && held_.size() + data.size() <= kMaxHeld) {
        const bool first = held_.empty();
        held_.insert(held_.end(), data.begin(), data.end());
        if (first) {
            notify();
        }
    }
}

void SrtLink::on_srt_stats(const io::SrtStats& stats) {
    stats_ = stats;
    if (client_ != nullptr) {
        client_->sent_bytes += stats.sent_bytes - counted_.sent_bytes;
        client_->received_bytes += stats.received_bytes - counted_.received_bytes;
        client_->dropped_bytes += stats.unread_dropped - counted_.unread_dropped;
        counted_ = stats;
    }
    if (on_sample_) {
        on_sample_();
    }
}

void SrtLink::on_srt_end(Error why) {
    id_ = 0;
    if (!ended_) {
        ended_ = End{
            why.code() == ErrorCode::kLimit ? net::EndClass::kStalled : net::end_class(why.code()),
            std::string(why.message()), why.code()};
    }
    notify();
}

// ---- figures ----

std::optional<net::LinkFacts> SrtLink::link_facts() const {
    net::LinkFacts facts;
    facts.state = connected_ ? "connected" : "connecting";
    facts.transport = "udp";
    facts.remote = remote_;
    facts.rtt = stats_.rtt;
    const uint64_t packets = stats_.sent_packets + stats_.received_packets;
    const uint64_t lost = stats_.send_lost + stats_.receive_lost;
    facts.loss = packets == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(packets + lost);
    facts.packets = packets;
    facts.retransmitted = stats_.retransmitted;
    facts.lost = lost;
    facts.skipped = stats_.send_dropped + stats_.receive_dropped;
    return facts;
}

std::optional<net::LagFacts> SrtLink::lag_facts() const {
    return net::LagFacts{stats_.backlog_bytes > 0 ? "blocked" : "flowing",
                         static_cast<int64_t>(stats_.send_buffer_ms), stats_.backlog_bytes};
}

std::optional<net::SrtFacts> SrtLink::srt_facts() const {
    net::SrtFacts facts;
    facts.rtt = stats_.rtt;
    facts.latency = stats_.latency;
    facts.sent_packets = stats_.sent_packets;
    facts.received_packets = stats_.received_packets;
    facts.lost = stats_.send_lost + stats_.receive_lost;
    facts.retransmitted = stats_.retransmitted;
    facts.dropped = stats_.send_dropped + stats_.receive_dropped;
    facts.undecrypted = stats_.undecrypted;
    facts.flight = stats_.flight;
    facts.send_buffer_ms = stats_.send_buffer_ms;
    facts.bandwidth_bps = stats_.bandwidth_bps;
    facts.unread_dropped_bytes = stats_.unread_dropped;
    return facts;
}

}  // namespace weir::session
