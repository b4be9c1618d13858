#include "session/webrtc/rtc_transport.h"

#include <algorithm>

#include <net/if.h>

#include <fmt/format.h>
#include <ifaddrs.h>

#include "base/check.h"
#include "base/random.h"
#include "io/deadline.h"
#include "session/webrtc/rtc_tcp.h"

namespace weir::session {
namespace {

constexpr size_t kTimersPerSlice = 64;

// The addresses of this machine, loopback last and only when there is nothing else.
std::vector<NetAddress> interface_addresses() {
    std::vector<NetAddress> found;
    std::vector<NetAddress> loopback;
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) {
        return found;
    }
    for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
        if (at->ifa_addr == nullptr || (at->ifa_flags & IFF_UP) == 0) {
            continue;
        }
        const NetAddress address = NetAddress::from_sockaddr(*at->ifa_addr);
        if (address.empty() || address.is_link_local()) {
            continue;
        }
        (address.is_loopback() ? loopback : found).push_back(address.with_port(0));
    }
    freeifaddrs(list);
    return found.empty() ? loopback : found;
}

}  // namespace

RtcTransport::RtcTransport(const net::Services& services,
                           const RtcServerOptions& options,
                           RtcServerStats& stats)
    : services_(services),
      options_(options),
      stats_(stats),
      acceptors_("rtc accept",
                 [this](std::unique_ptr<io::TcpStream> stream,
                        const std::shared_ptr<const net::Ingress>& ingress) {
                     serve_tcp(std::move(stream), ingress);
                 }),
      last_number_(random_u32(system_random())) {
    links_.resize(kMaxUdpLinks);
}

RtcTransport::~RtcTransport() {
    WEIR_CHECK(sessions_.empty() && ended_.empty());
}

Error RtcTransport::start() {
    if (started_) {
        return {};
    }
    WEIR_TRY(tasks_.spawn("rtc timers", io::StackSize::kNormal, [this] { run_timers(); }));
    started_ = true;
    return {};
}

Error RtcTransport::stop(io::Deadline deadline) {
    stopping_ = true;
    while (!sessions_.empty()) {
        sessions_.begin()->second.session->end(net::EndClass::kStopping, "server stopping");
    }
    bury();
    acceptors_.stop();
    tasks_.interrupt_all();
    Error late = tasks_.join_all(deadline);
    while (!sockets_.empty()) {
        close(*sockets_.back());
        sockets_.pop_back();
    }
    return late;
}

// ---- datagrams ----

// `may_pass`: to another process, whose it may be.
void RtcTransport::take(MonoTime now,
                        std::span<uint8_t> datagram,
                        const ice::Path& from,
                        bool may_pass) {
    if (datagram.empty()) {
        return;
    }
    const uint8_t first = datagram[0];
    if (first <= 3) {
        take_stun(now, datagram, from, may_pass);
        return;
    }
    RtcSession* const owner = paths_.owner(from);
    if (owner == nullptr) {
        if (!may_pass || !shared_->pass(now, datagram, from)) {
            stats_.unknown_datagrams++;
        }
        return;
    }
    RtcSession& session = *owner;
    if (first >= 20 && first <= 63) {
        session.on_dtls(now, datagram, from);
    } else if (first >= 128 && first <= 191) {
        session.on_media(now, datagram, from);
    } else {
        stats_.malformed++;
        return;
    }
    touch(session);
}

void RtcTransport::take_stun(MonoTime now,
                             ByteSpan datagram,
                             const ice::Path& from,
                             bool may_pass) {
    stun::MessageView message;
    if (stun::MessageView::parse(datagram, message) != stun::ParseStatus::kDone) {
        stats_.malformed++;
        return;
    }
    RtcSession* const session = session_of(message);
    if (session == nullptr) {
        if (!may_pass || !shared_->pass_stun(now, message, datagram, from)) {
            stats_.unknown_stun++;
        }
        return;
    }
    session->on_stun(now, message, from);
    touch(*session);
}

// Of a check by its user name, of an answer to a check of ours by what marks that.
RtcSession* RtcTransport::session_of(const stun::MessageView& message) const {
    if (message.message_class == stun::MessageClass::kSuccess) {
        const auto found = by_number_.find(ice::check_tag(message.transaction));
        return found == by_number_.end() ? nullptr : found->second;
    }
    const std::string_view ufrag = ice::split_username(message.username.value_or("")).local;
    const auto found = ufrag.size() == ice::kUfragCharacters ? by_ufrag_.find(std::string(ufrag))
                                                             : by_ufrag_.end();
    return found == by_ufrag_.end() ? nullptr : found->second;
}

bool RtcTransport::transmit(const ice::Path& path, ByteSpan data, size_t segment_bytes) {
    RtcLink* link = link_of(path);
    return link == nullptr || link->send(path.remote, data, segment_bytes);
}

bool RtcTransport::takes_burst(const ice::Path& path) const {
    const RtcLink* link = link_of(path);
    return link == nullptr || link->takes_burst();
}

void RtcTransport::on_tcp_writable(const ice::Path& path) {
    if (RtcSession* const session = paths_.owner(path)) {
        session->on_writable();
    }
}

void RtcTransport::unbind_ufrag(std::string_view ufrag, RtcSession& session) {
    const auto found = by_ufrag_.find(std::string(ufrag));
    if (found != by_ufrag_.end() && found->second == &session) {
        by_ufrag_.erase(found);
    }
}

void RtcTransport::count(srtp::Status status) {
    stats_.unauthentic += status == srtp::Status::kUnauthentic ? 1 : 0;
    stats_.replayed += status == srtp::Status::kReplayed ? 1 : 0;
    stats_.malformed += status == srtp::Status::kMalformed ? 1 : 0;
}

// ---- timers ----

void RtcTransport::touch(RtcSession& session) {
    if (touched_.empty() || touched_.back() != &session) {
        touched_.push_back(&session);
    }
}

void RtcTransport::settle_touched(MonoTime now) {
    for (size_t i = 0; i < touched_.size(); i++) {  // it may grow
        RtcSession& session = *touched_[i];
        session.settle(now);
        schedule(session);
        if (shared_) {
            shared_->follow(session);
        }
    }
    touched_.clear();
}

void RtcTransport::schedule(RtcSession& session) {
    const std::optional<MonoTime> due = session.next_timeout();
    const auto found = sessions_.find(session.id());
    if (!due || found == sessions_.end() || *due >= found->second.queued) {
        return;
    }
    MonoTime& queued = found->second.queued;
    if (queued == MonoTime::max()) {
        timers_.insert({*due, &session});
    } else {
        auto node = timers_.extract({queued, &session});
        node.value().first = *due;
        timers_.insert(std::move(node));
    }
    queued = *due;
    if (timers_.begin()->second == &session) {
        timer_signal_.notify_one();
    }
}

void RtcTransport::run_timers() {
    io::set_log_id({});
    while (!io::interrupted()) {
        const MonoTime now = MonoClock::now();
        for (size_t handled = 0;
             handled < kTimersPerSlice && !timers_.empty() && timers_.begin()->first <= now;
             handled++) {
            RtcSession& session = *timers_.begin()->second;
            timers_.erase(timers_.begin());
            sessions_.find(session.id())->second.queued = MonoTime::max();
            session.handle_timeout(now);
            touch(session);
            settle_touched(now);
        }
        bury();
        if (retired() > 0) {
            close_retired(now);
        }
        if (shared_) {
            shared_->read_more();
        }
        const MonoTime next = timers_.empty() ? now + Seconds(1) : timers_.begin()->first;
        if (next <= now || (shared_ && shared_->has_more())) {
            io::yield();
        } else if (timer_signal_.wait_until(io::Deadline::at(next)).code() ==
                   ErrorCode::kInterrupted) {
            return;
        }
    }
}

void RtcTransport::forget(RtcSession& session) {
    const auto found = sessions_.find(session.id());
    WEIR_CHECK(found != sessions_.end());
    if (found->second.queued != MonoTime::max()) {
        timers_.erase({found->second.queued, &session});
    }
    by_number_.erase(session.number());
    unbind_ufrag(session.agent().credentials().ufrag_text(), session);
    unbind_ufrag(session.agent().previous_ufrag(), session);
    if (shared_) {
        shared_->forget(session);
    }
    if (!session.is_connected()) {
        stats_.never_connected++;
    }
    // Whoever called is still inside of it.
    ended_.push_back(std::move(found->second.session));
    sessions_.erase(found);
    timer_signal_.notify_one();  // it buries
}

void RtcTransport::bury() {
    if (touched_.empty()) {
        ended_.clear();
    }
    if (shared_) {
        shared_->flush();
        if (touched_.empty()) {
            shared_->bury();
        }
    }
}

// ---- sessions ----

ice::Credentials RtcTransport::make_credentials() const {
    ice::Credentials made;
    do {
        made = ice::Credentials::make(system_random(),
                                      shared_ ? std::optional(shared_->mark()) : std::nullopt);
    } while (by_ufrag_.contains(std::string(made.ufrag_text())));
    return made;
}

uint32_t RtcTransport::make_number() {
    while (by_number_.contains(++last_number_)) {
    }
    return last_number_;
}

void RtcTransport::add(std::unique_ptr<RtcSession> session) {
    RtcSession& added = *session;
    by_number_[added.number()] = &added;
    sessions_[added.id()].session = std::move(session);
    rebind(added);
}

void RtcTransport::rebind(RtcSession& session) {
    by_ufrag_[std::string(session.agent().credentials().ufrag_text())] = &session;
    schedule(session);
}

RtcSession* RtcTransport::find(std::string_view id) const {
    const auto found = sessions_.find(std::string(id));
    return found == sessions_.end() ? nullptr : found->second.session.get();
}

// ---- candidates ----

// Of those that are bound, as peers reach them.
std::vector<NetAddress> RtcTransport::addresses(std::span<const NetAddress> all_bound,
                                                const NetAddress& reached_at) const {
    std::vector<NetAddress> ips =
        options_.candidates.empty() ? interface_addresses() : options_.candidates;
    if (!reached_at.empty() && !reached_at.is_any() &&
        std::ranges::none_of(ips, [&](const NetAddress& ip) { return ip.same_ip(reached_at); })) {
        ips.push_back(reached_at);
    }
    std::vector<NetAddress> all;
    for (const NetAddress& bound : all_bound) {
        for (const NetAddress& ip : ips) {
            const bool reachable =
                bound.is_any() ? (ip.is_v4() || !bound.is_v4()) : bound.same_ip(ip);
            if (reachable || !options_.candidates.empty()) {
                all.push_back(ip.with_port(
                    ip.port() != 0 && !options_.candidates.empty() ? ip.port() : bound.port()));
            }
        }
        if (!bound.is_any() && all.empty()) {
            all.push_back(bound);
        }
    }
    return all;
}

std::vector<NetAddress> RtcTransport::udp_addresses(const NetAddress& reached_at) const {
    std::vector<NetAddress> bound;
    for (const auto& port : sockets_) {
        if (!port->retired) {
            const io::SocketAddress local = port->socket->local();
            bound.push_back(local.net_address());
        }
    }
    return addresses(bound, reached_at);
}

std::vector<NetAddress> RtcTransport::tcp_addresses(const NetAddress& reached_at) const {
    std::vector<NetAddress> bound;
    for (const io::SocketAddress& local : acceptors_.locals()) {
        bound.push_back(local.net_address());
    }
    return addresses(bound, reached_at);
}

std::string RtcTransport::candidate_text() const {
    std::string text;
    const auto append = [&text](const NetAddress& address, std::string_view transport) {
        text += fmt::format("{}{}/{}", text.empty() ? "" : " ", address.to_string(), transport);
    };
    for (const NetAddress& address : udp_addresses({})) {
        append(address, "udp");
    }
    for (const NetAddress& address : tcp_addresses({})) {
        append(address, "tcp");
    }
    return text;
}

std::vector<ice::Candidate> RtcTransport::candidates(const NetAddress& reached_at) const {
    return ice::make_host_candidates(udp_addresses(reached_at), tcp_addresses(reached_at));
}

}  // namespace weir::session
