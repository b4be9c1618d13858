// Invariants: a connection is in conns_ and in by_socket_ or in neither; one that has something to
// send is in busy_. Every socket is non-blocking and closed without lingering.
#if WEIR_SRT

#include "io/srt/srt_worker.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include "io/srt/srt_datagrams.h"
#include "io/srt/srt_greeting.h"
#include "io/srt/srt_library.h"
#include "io/srt/srt_sizes.h"

namespace weir::io {
namespace {

using std::chrono::milliseconds;

// What is ready is looked at this often. Waking up is what costs, so packets of some milliseconds
// are taken together.
constexpr milliseconds kTick{5};
constexpr milliseconds kIdleTick{20};  // only listeners
constexpr milliseconds kRest{1'000};   // nothing at all
constexpr milliseconds kSamplePeriod{1'000};
constexpr int kMaxEvents = 512;              // of one look
constexpr int kMaxReads = 512;               // messages of one connection in one look
constexpr size_t kBytesPerTick = 64 * 1024;  // to one connection: a new player's first bytes are
                                             // more than its network takes at once
constexpr int kBacklog = 256;
constexpr int kUdpHeader = 28;        // as libsrt counts
constexpr int kLargestPacket = 1500;  // libsrt's default
constexpr int kGcmTag = 16;           // libsrt 1.5.4 and newer take it from the payload (AES-GCM)
constexpr int kPacketOfPlayer = static_cast<int>(kSrtPayload + kSrtHeader) + kUdpHeader + kGcmTag;
constexpr int kFirstOfServers = 1000;  // codes from here on are those of the other application
constexpr milliseconds kMinGrace{2'000};
constexpr milliseconds kRoomLook{20};  // libsrt has been full for so long: it may need more
constexpr milliseconds kStuck{100};
constexpr Micros kGuessedRtt{100'000};     // what libsrt says before it knows
constexpr uint64_t kMaxDroppedShare = 10;  // one in so many packets

struct Queued {
    SrtBytes bytes;
    SrtClock::time_point since;
};

struct Conn {
    SrtId id = 0;
    SRTSOCKET socket = SRT_INVALID_SOCK;
    bool calling = false;   // not connected yet
    bool newcomer = false;  // accepted, and not admitted yet
    SrtSendLimits limits;
    std::deque<Queued> backlog;
    size_t sent_of_first = 0;
    uint64_t backlog_bytes = 0;
    uint64_t unread_batch = 0;  // of which `unread` bytes were told
    size_t unread = 0;
    uint64_t sent_bytes = 0;
    uint64_t received_bytes = 0;
    uint64_t unread_dropped = 0;
    uint32_t room = srt_send_buffer(0, 0, Micros(0));  // packets that libsrt may hold
    SrtClock::time_point full_since = SrtClock::now();
    uint64_t rate = 0;        // bits a second that came for it, of the last full second
    uint64_t came_bytes = 0;  // since the last sample
    bool began = false;       // its first bytes, which come at once, were in a sample
    // Of the span over which losses are judged:
    SrtClock::time_point judged_since = SrtClock::now();
    uint64_t judged_sent = 0;
    uint64_t judged_dropped = 0;
    uint64_t judged_lost = 0;
};

struct Listener {
    SRTSOCKET socket = SRT_INVALID_SOCK;
    int fd = -1;  // libsrt's
};

class SrtWorker {
  public:
    SrtWorker(SrtBridge& bridge, const SrtLibrary& srt) : bridge_(bridge), srt_(srt) {}

    void run();

  private:
    void obey(SrtListenCommand& command);
    void obey(SrtUnlistenCommand& command);
    void obey(SrtConnectCommand& command);
    void obey(SrtAdmitCommand& command);
    void obey(SrtCloseCommand& command);
    void obey(SrtSendCommand& command);

    SrtClock::duration tick() const;
    void look();
    bool is_listener(SRTSOCKET socket) const;
    void accept_all(SRTSOCKET listener);
    bool is_up(const Conn& conn) const;
    void take_ready(Conn& conn, int events);
    void read(Conn& conn);
    void take_data(Conn& conn, ByteSpan data);
    void send_all();
    bool send_some(Conn& conn, SrtClock::time_point now);
    size_t room_of(Conn& conn, SrtClock::time_point now) const;
    static void note_rate(Conn& conn);
    bool too_slow(const Conn& conn, SrtClock::time_point now) const;
    static bool loses_too_much(Conn& conn, const SrtStats& stats, SrtClock::time_point now);
    void sample();
    SrtStats stats_of(const Conn& conn) const;
    void end(Conn& conn, Error why);
    Error why_ended(const Conn& conn) const;
    void forget(Conn& conn);
    Conn& add(SrtId id, SRTSOCKET socket);
    bool set_common(SRTSOCKET socket);
    bool apply(SRTSOCKET socket, const SrtOptions& options);
    bool encrypted(SRTSOCKET socket) const;
    std::string stream_id_of(SRTSOCKET socket) const;
    std::string last_error() const;

    template <typename Value>
    bool set(SRTSOCKET socket, SRT_SOCKOPT option, const Value& value) const {
        return srt_.srt_setsockflag(socket, option, &value, sizeof value) == 0;
    }

    Conn* find(SrtId id) {
        const auto found = conns_.find(id);
        return found == conns_.end() ? nullptr : &found->second;
    }

    bool fit(SRTSOCKET socket, const SrtHandshakes::Decision& decision);
    static int on_handshake(
        void* self, SRTSOCKET socket, int, const sockaddr* peer, const char* id);

    SrtBridge& bridge_;
    const SrtLibrary& srt_;
    int poll_ = -1;
    std::map<uint32_t, Listener> listeners_;
    std::unordered_map<SrtId, Conn> conns_;
    std::unordered_map<SRTSOCKET, SrtId> by_socket_;
    std::set<SrtId> busy_;
    SrtId newcomers_ = 0;
    std::vector<SrtEvent> events_;
    std::array<char, SRT_LIVE_MAX_PLSIZE> message_;  // that is being read
    std::array<SRT_EPOLL_EVENT, kMaxEvents> ready_;
    size_t event_bytes_ = 0;
    SrtClock::time_point next_sample_{};
};

std::string SrtWorker::last_error() const {
    return srt_.srt_getlasterror_str();
}

// ---- options ----

bool SrtWorker::set_common(SRTSOCKET socket) {
    const linger none{};
    return set(socket, SRTO_RCVSYN, false) && set(socket, SRTO_SNDSYN, false) &&
           set(socket, SRTO_LINGER, none);
}

// Of a caller, or of a connection whose handshake is being answered.
bool SrtWorker::apply(SRTSOCKET socket, const SrtOptions& options) {
    bool done = set(socket, SRTO_LATENCY, static_cast<int>(options.latency.count())) &&
                set(socket, SRTO_PEERIDLETIMEO, static_cast<int>(options.peer_idle.count()));
    if (!options.passphrase.empty()) {
        done = done && srt_.srt_setsockflag(socket, SRTO_PASSPHRASE, options.passphrase.data(),
                                            static_cast<int>(options.passphrase.size())) == 0;
        if (options.key_bytes != 0) {
            done = done && set(socket, SRTO_PBKEYLEN, int{options.key_bytes});
        }
    }
    if (options.max_bandwidth != 0) {
        done = done && set(socket, SRTO_MAXBW, static_cast<int64_t>(options.max_bandwidth));
    }
    return done;
}

bool SrtWorker::encrypted(SRTSOCKET socket) const {
    int state = 0;
    int size = sizeof state;
    const bool known = srt_.srt_getsockflag(socket, SRTO_RCVKMSTATE, &state, &size) == 0;
    return known && state == SRT_KM_S_SECURED;
}

std::string SrtWorker::stream_id_of(SRTSOCKET socket) const {
    std::array<char, 520> name{};  // libsrt's limit is 512
    int size = name.size() - 1;
    const bool known = srt_.srt_getsockflag(socket, SRTO_STREAMID, name.data(), &size) == 0;
    return known ? std::string(name.data()) : std::string();  // as long as the gate sees it
}

// Before libsrt makes the tables of a connection that came in; a message of ours is its largest
// packet where nothing comes from the caller.
bool SrtWorker::fit(SRTSOCKET socket, const SrtHandshakes::Decision& decision) {
    const int window = static_cast<int>(decision.receive_window);
    const int packet = decision.verdict.receives ? kLargestPacket : kPacketOfPlayer;
    return set(socket, SRTO_MSS, packet) && set(socket, SRTO_FC, window) &&
           set(socket, SRTO_RCVBUF, window * (packet - kUdpHeader)) &&
           apply(socket, decision.verdict.options);
}

// By a thread of libsrt, which waits for the answer.
int SrtWorker::on_handshake(
    void* self, SRTSOCKET socket, int, const sockaddr* peer, const char* stream_id) {
    SrtWorker& worker = *static_cast<SrtWorker*>(self);
    SrtHandshakes::Decision decision =
        worker.bridge_.handshakes.decide(socket, NetAddress::from_sockaddr(*peer),
                                         stream_id == nullptr ? std::string_view() : stream_id,
                                         heard_srt_latency(), SrtClock::now());
    int& reject = decision.verdict.reject;
    if (reject == 0 && !worker.fit(socket, decision)) {
        reject = kSrtOverload;
    }
    if (reject != 0) {
        worker.srt_.srt_setrejectreason(socket, reject);
        return -1;
    }
    return 0;
}

// ---- commands ----

void SrtWorker::obey(SrtListenCommand& command) {
    const SRTSOCKET socket = srt_.srt_create_socket();
    // libsrt's receiving thread waits in a blocking call with a timeout of its own.
    const int flags = fcntl(command.fd, F_GETFL);
    const bool blocking = flags >= 0 && fcntl(command.fd, F_SETFL, flags & ~O_NONBLOCK) == 0;
    const int interest = SRT_EPOLL_IN | SRT_EPOLL_ERR;
    const bool fits = blocking && socket != SRT_INVALID_SOCK && set_common(socket);
    if (!fits) {
        ::close(command.fd);  // from srt_bind_acquire() on it is libsrt's, which closes it
    }
    set_srt_judge(command.fd, bridge_.handshakes);
    if (!fits || srt_.srt_bind_acquire(socket, command.fd) < 0 ||
        srt_.srt_listen_callback(socket, on_handshake, this) < 0 ||
        srt_.srt_listen(socket, kBacklog) < 0 ||
        srt_.srt_epoll_add_usock(poll_, socket, &interest) < 0) {
        events_.emplace_back(SrtListenFailedEvent{last_error()});
        forget_srt_judge(command.fd);
        if (socket != SRT_INVALID_SOCK) {
            srt_.srt_close(socket);
        }
        return;
    }
    listeners_[command.listener] = {socket, command.fd};
    bridge_.counters.listeners = listeners_.size();
}

void SrtWorker::obey(SrtUnlistenCommand& command) {
    if (const auto found = listeners_.find(command.listener); found != listeners_.end()) {
        srt_.srt_epoll_remove_usock(poll_, found->second.socket);
        srt_.srt_close(found->second.socket);
        forget_srt_judge(found->second.fd);
        listeners_.erase(found);
        bridge_.counters.listeners = listeners_.size();
    }
}

Conn& SrtWorker::add(SrtId id, SRTSOCKET socket) {
    Conn& conn = conns_[id];
    conn.id = id;
    conn.socket = socket;
    by_socket_[socket] = id;
    bridge_.counters.connections = conns_.size();
    return conn;
}

void SrtWorker::obey(SrtConnectCommand& command) {
    const SRTSOCKET socket = srt_.srt_create_socket();
    if (socket == SRT_INVALID_SOCK) {
        events_.emplace_back(
            SrtEndEvent{command.id, make_error(ErrorCode::kSystem, "srt: {}", last_error()), {}});
        return;
    }
    Conn& conn = add(command.id, socket);
    conn.calling = true;
    const int interest = SRT_EPOLL_OUT | SRT_EPOLL_ERR;
    const SrtOptions& options = command.options;
    const bool fits =
        set_common(socket) && set(socket, SRTO_FC, static_cast<int>(kSrtMostPackets)) &&
        apply(socket, options) &&
        set(socket, SRTO_CONNTIMEO, static_cast<int>(options.connect_timeout.count())) &&
        srt_.srt_setsockflag(socket, SRTO_STREAMID, options.stream_id.data(),
                             static_cast<int>(options.stream_id.size())) == 0 &&
        srt_.srt_epoll_add_usock(poll_, socket, &interest) == 0;
    if (!fits ||
        srt_.srt_connect(socket, command.to.raw(), static_cast<int>(command.to.raw_size())) < 0) {
        end(conn, make_error(ErrorCode::kSystem, "srt: {}", last_error()));
    }
}

void SrtWorker::obey(SrtAdmitCommand& command) {
    if (Conn* const conn = find(command.id)) {
        conn->limits = command.limits;
        if (std::exchange(conn->newcomer, false)) {
            bridge_.handshakes.admitted(conn->socket);
        }
    }
}

void SrtWorker::obey(SrtCloseCommand& command) {
    if (Conn* const conn = find(command.id)) {
        forget(*conn);
    }
}

void SrtWorker::obey(SrtSendCommand& command) {
    const SrtClock::time_point now = SrtClock::now();
    for (const SrtId id : command.to) {
        Conn* const conn = find(id);
        if (conn == nullptr || conn->calling) {
            continue;
        }
        // The first bytes of a player are as many as they are.
        if (!conn->backlog.empty() &&
            conn->backlog_bytes + command.bytes->size() > conn->limits.bytes) {
            bridge_.counters.slow++;
            end(*conn, make_error(ErrorCode::kLimit, "too slow: more than {} bytes waited for it",
                                  conn->limits.bytes));
            continue;
        }
        conn->backlog.push_back({command.bytes, now});
        conn->backlog_bytes += command.bytes->size();
        conn->came_bytes += command.bytes->size();
        busy_.insert(id);
    }
}

// ---- connections ----

void SrtWorker::forget(Conn& conn) {
    bridge_.handshakes.gone(conn.socket, SrtClock::now());
    srt_.srt_epoll_remove_usock(poll_, conn.socket);
    srt_.srt_close(conn.socket);
    by_socket_.erase(conn.socket);
    busy_.erase(conn.id);
    conns_.erase(conn.id);
    bridge_.counters.connections = conns_.size();
}

void SrtWorker::end(Conn& conn, Error why) {
    events_.emplace_back(SrtEndEvent{conn.id, std::move(why), stats_of(conn)});
    forget(conn);
}

Error SrtWorker::why_ended(const Conn& conn) const {
    if (!conn.calling) {
        return make_error(ErrorCode::kClosed, "the peer closed the connection or does not answer");
    }
    const int reason = srt_.srt_getrejectreason(conn.socket);
    if (reason == SRT_REJ_TIMEOUT || reason == SRT_REJ_UNKNOWN) {
        return make_error(ErrorCode::kTimeout, "no answer to the SRT handshake");
    }
    if (reason >= kFirstOfServers) {
        return make_error(ErrorCode::kDenied, "the other side refused the SRT connection: code {}",
                          reason);
    }
    const bool secret = reason == SRT_REJ_BADSECRET || reason == SRT_REJ_UNSECURE;
    return make_error(secret ? ErrorCode::kDenied : ErrorCode::kClosed,
                      "the SRT handshake failed: {}{}", srt_.srt_rejectreason_str(reason),
                      secret ? " (passphrase)" : "");
}

bool SrtWorker::is_listener(SRTSOCKET socket) const {
    return std::ranges::any_of(listeners_,
                               [socket](const auto& each) { return each.second.socket == socket; });
}

// libsrt gives no event for what went before the socket was added to the poll set.
bool SrtWorker::is_up(const Conn& conn) const {
    return conn.calling || srt_.srt_getsockstate(conn.socket) == SRTS_CONNECTED;
}

void SrtWorker::accept_all(SRTSOCKET listener) {
    for (;;) {
        sockaddr_storage address{};
        int size = sizeof address;
        const SRTSOCKET socket =
            srt_.srt_accept(listener, reinterpret_cast<sockaddr*>(&address), &size);
        if (socket == SRT_INVALID_SOCK) {
            return;
        }
        std::string stream_id = stream_id_of(socket);
        if (!bridge_.handshakes.succeeded(socket, stream_id, SrtClock::now())) {
            srt_.srt_close(socket);
            continue;
        }
        newcomers_ += 2;
        Conn& conn = add(newcomers_, socket);
        conn.newcomer = true;
        const int interest = static_cast<int>(SRT_EPOLL_IN) | static_cast<int>(SRT_EPOLL_ERR);
        srt_.srt_epoll_add_usock(poll_, socket, &interest);
        set_common(socket);
        events_.emplace_back(SrtNewcomerEvent{
            {conn.id, NetAddress::from_sockaddr(reinterpret_cast<const sockaddr&>(address)),
             std::move(stream_id), encrypted(socket)}});
        if (!is_up(conn)) {
            read(conn);  // ends it
        }
    }
}

void SrtWorker::take_ready(Conn& conn, int events) {
    const SRT_SOCKSTATUS state = srt_.srt_getsockstate(conn.socket);
    if (conn.calling) {
        if (state == SRTS_CONNECTED) {
            conn.calling = false;
            const int interest = static_cast<int>(SRT_EPOLL_IN) | static_cast<int>(SRT_EPOLL_ERR);
            srt_.srt_epoll_update_usock(poll_, conn.socket, &interest);
            events_.emplace_back(SrtConnectedEvent{conn.id, encrypted(conn.socket)});
        } else if ((static_cast<unsigned>(events) & SRT_EPOLL_ERR) != 0) {
            end(conn, why_ended(conn));
        }
        return;
    }
    read(conn);
}

// All that is there; the end of the connection comes behind it.
void SrtWorker::read(Conn& conn) {
    for (int i = 0; i < kMaxReads; i++) {
        const int got = srt_.srt_recvmsg2(conn.socket, message_.data(),
                                          static_cast<int>(message_.size()), nullptr);
        if (got > 0) {
            take_data(conn, {reinterpret_cast<const uint8_t*>(message_.data()),
                             static_cast<size_t>(got)});
            continue;
        }
        if (got == 0 || srt_.srt_getlasterror(nullptr) != SRT_EASYNCRCV) {
            end(conn, why_ended(conn));
        }
        return;
    }
}

void SrtWorker::take_data(Conn& conn, ByteSpan data) {
    conn.received_bytes += data.size();
    const uint64_t batch = bridge_.batch;
    if (conn.unread_batch != batch) {
        conn.unread_batch = batch;
        conn.unread = 0;
    }
    if (conn.unread + data.size() > SrtEngine::kMaxUnreadBytes ||
        bridge_.event_bytes + event_bytes_ > SrtEngine::kMaxEventBytes) {
        conn.unread_dropped += data.size();
        bridge_.counters.unread_dropped += data.size();
        return;
    }
    conn.unread += data.size();
    event_bytes_ += data.size();
    SrtDataEvent* last = events_.empty() ? nullptr : std::get_if<SrtDataEvent>(&events_.back());
    if (last == nullptr || last->id != conn.id) {
        last = &std::get<SrtDataEvent>(events_.emplace_back(SrtDataEvent{conn.id, {}}));
    }
    last->data.insert(last->data.end(), data.begin(), data.end());
}

void SrtWorker::look() {
    const int count = srt_.srt_epoll_uwait(poll_, ready_.data(), kMaxEvents, 0);
    for (int i = 0; i < std::min(count, kMaxEvents); i++) {  // libsrt may count one more
        const SRT_EPOLL_EVENT event = ready_[static_cast<size_t>(i)];
        if (const auto found = by_socket_.find(event.fd); found != by_socket_.end()) {
            take_ready(conns_[found->second], event.events);
        } else if (is_listener(event.fd)) {
            accept_all(event.fd);
        } else {
            srt_.srt_epoll_remove_usock(poll_, event.fd);  // ended since
        }
    }
}

// ---- sending ----

bool SrtWorker::too_slow(const Conn& conn, SrtClock::time_point now) const {
    return !conn.backlog.empty() && now - conn.backlog.front().since > conn.limits.time;
}

// libsrt copies what it is given, and gives the memory back at the end of the connection only: it
// gets as much as the network needs, and the rest waits here, where all players share it. Where
// nothing is acknowledged for longer than a round trip, a packet was lost more than once, and what
// comes after it needs room.
size_t SrtWorker::room_of(Conn& conn, SrtClock::time_point now) const {
    size_t packets = 0;
    size_t bytes = 0;
    if (srt_.srt_getsndbuffer(conn.socket, &packets, &bytes) < 0) {
        return 1;  // sending tells what is wrong
    }
    if (packets < conn.room) {
        conn.full_since = now;
        return conn.room - packets;
    }
    SRT_TRACEBSTATS figures{};
    if (now - conn.full_since < kRoomLook || srt_.srt_bistats(conn.socket, &figures, 0, 1) != 0) {
        return 0;
    }
    const Micros said(static_cast<int64_t>(figures.msRTT * 1000));
    const Micros rtt = said == kGuessedRtt ? Micros(0) : said;
    const bool stuck = now - conn.full_since > said + kStuck;
    conn.room = std::max(srt_send_buffer(conn.rate, conn.backlog_bytes, rtt),
                         stuck ? std::min(2 * conn.room, kSrtMostPackets) : conn.room);
    if (stuck) {
        conn.full_since = now;
    }
    return conn.room - std::min<size_t>(packets, conn.room);
}

void SrtWorker::note_rate(Conn& conn) {
    const uint64_t bytes = std::exchange(conn.came_bytes, 0);
    conn.rate = conn.began ? bytes * 8 * 1000 / kSamplePeriod.count() : 0;
    conn.began = conn.began || bytes > 0;
}

// False: it has ended.
bool SrtWorker::send_some(Conn& conn, SrtClock::time_point now) {
    size_t sent = 0;
    size_t room = room_of(conn, now);
    while (!conn.backlog.empty() && sent < kBytesPerTick && room > 0) {
        room--;
        const Bytes& bytes = *conn.backlog.front().bytes;
        const size_t size = std::min(kSrtPayload, bytes.size() - conn.sent_of_first);
        const int taken = srt_.srt_sendmsg2(
            conn.socket, reinterpret_cast<const char*>(bytes.data()) + conn.sent_of_first,
            static_cast<int>(size), nullptr);
        if (taken < 0) {
            if (srt_.srt_getlasterror(nullptr) != SRT_EASYNCSND) {
                end(conn, why_ended(conn));
                return false;
            }
            break;
        }
        sent += size;
        conn.sent_bytes += size;
        conn.backlog_bytes -= size;
        conn.sent_of_first += size;
        if (conn.sent_of_first == bytes.size()) {
            conn.backlog.pop_front();
            conn.sent_of_first = 0;
        }
    }
    if (too_slow(conn, now)) {
        bridge_.counters.slow++;
        end(conn, make_error(ErrorCode::kLimit, "too slow: its media waited for {} ms",
                             conn.limits.time.count()));
        return false;
    }
    return true;
}

void SrtWorker::send_all() {
    const SrtClock::time_point now = SrtClock::now();
    for (auto at = busy_.begin(); at != busy_.end();) {
        const SrtId id = *at++;  // an end removes it
        Conn& conn = conns_[id];
        if (send_some(conn, now) && conn.backlog.empty()) {
            busy_.erase(id);
        }
    }
}

// ---- figures ----

SrtStats SrtWorker::stats_of(const Conn& conn) const {
    SrtStats out;
    out.sent_bytes = conn.sent_bytes;
    out.received_bytes = conn.received_bytes;
    out.backlog_bytes = conn.backlog_bytes;
    out.unread_dropped = conn.unread_dropped;
    SRT_TRACEBSTATS now{};
    if (conn.calling || srt_.srt_bistats(conn.socket, &now, 0, 1) < 0) {
        return out;
    }
    const auto count = [](auto value) { return value > 0 ? static_cast<uint64_t>(value) : 0; };
    out.rtt = Micros(static_cast<int64_t>(now.msRTT * 1000));
    out.latency = Millis(std::max(now.msRcvTsbPdDelay, now.msSndTsbPdDelay));
    out.sent_packets = count(now.pktSentUniqueTotal);
    out.received_packets = count(now.pktRecvUniqueTotal);
    out.send_lost = count(now.pktSndLossTotal);
    out.receive_lost = count(now.pktRcvLossTotal);
    out.retransmitted = count(now.pktRetransTotal);
    out.send_dropped = count(now.pktSndDropTotal);
    out.receive_dropped = count(now.pktRcvDropTotal);
    out.undecrypted = count(now.pktRcvUndecryptTotal);
    out.flight = static_cast<uint32_t>(count(now.pktFlightSize));
    out.send_buffer_ms = static_cast<uint32_t>(count(now.msSndBuf));
    out.bandwidth_bps = count(static_cast<int64_t>(now.mbpsBandwidth * 1e6));
    return out;
}

// Of what is too late for a peer libsrt (or the peer) gives up, and goes on: a peer that has missed
// a part of its media for as long as they may wait is too slow for its stream. What it gives up by
// itself shows as losses only: as many of them as packets mean that half of what is sent is lost.
bool SrtWorker::loses_too_much(Conn& conn, const SrtStats& stats, SrtClock::time_point now) {
    if (now - conn.judged_since < std::max(milliseconds(conn.limits.time), kMinGrace)) {
        return false;
    }
    const uint64_t sent = stats.sent_packets - std::min(stats.sent_packets, conn.judged_sent);
    const uint64_t dropped = stats.send_dropped - std::min(stats.send_dropped, conn.judged_dropped);
    conn.judged_since = now;
    conn.judged_sent = stats.sent_packets;
    conn.judged_dropped = stats.send_dropped;
    const uint64_t lost = stats.send_lost - std::min(stats.send_lost, conn.judged_lost);
    conn.judged_lost = stats.send_lost;
    return lost > sent || dropped * kMaxDroppedShare > sent + dropped;
}

void SrtWorker::sample() {
    const SrtClock::time_point now = SrtClock::now();
    std::vector<SrtId> slow;
    std::vector<SrtId> gone;
    for (auto& [id, conn] : conns_) {
        note_rate(conn);
        const SrtStats stats = stats_of(conn);
        if (loses_too_much(conn, stats, now)) {
            slow.push_back(id);
        } else if (!is_up(conn)) {
            gone.push_back(id);
        }
        events_.emplace_back(SrtStatsEvent{id, stats});
    }
    for (const SrtId id : slow) {
        bridge_.counters.slow++;
        Conn& conn = conns_[id];
        end(conn, make_error(ErrorCode::kLimit,
                             "too slow: its network loses too much of what is sent to it"));
    }
    for (const SrtId id : gone) {
        read(conns_[id]);
    }
    const std::string failed = bridge_.handshakes.expire(SrtClock::now());
    if (!failed.empty()) {
        events_.emplace_back(SrtFailedHandshakesEvent{failed});
    }
    SrtHandshakes::Refused refused = bridge_.handshakes.take_refused();
    if (!refused.peer.empty()) {
        events_.emplace_back(SrtRefusedHandshakesEvent{std::move(refused.peer), refused.why});
    }
}

// ---- the loop ----

SrtClock::duration SrtWorker::tick() const {
    return !conns_.empty() ? kTick : !listeners_.empty() ? kIdleTick : kRest;
}

void SrtWorker::run() {
    poll_ = srt_.srt_epoll_create();
    srt_.srt_epoll_set(poll_, SRT_EPOLL_ENABLE_EMPTY);
    std::vector<SrtCommand> commands;
    while (bridge_.take_commands(commands, tick())) {
        for (SrtCommand& command : commands) {
            std::visit([this](auto& each) { obey(each); }, command);
        }
        commands.clear();
        look();
        send_all();
        const SrtClock::time_point now = SrtClock::now();
        if (now >= next_sample_) {
            next_sample_ = now + kSamplePeriod;
            sample();
        }
        bridge_.tell(events_, std::exchange(event_bytes_, 0));
    }
    while (!listeners_.empty()) {
        SrtUnlistenCommand command{listeners_.begin()->first};
        obey(command);
    }
    while (!conns_.empty()) {
        forget(conns_.begin()->second);
    }
    srt_.srt_epoll_release(poll_);
    forget_srt_judge(bridge_.handshakes);
}

}  // namespace

bool srt_worker_built() {
    return true;
}

void run_srt_worker(SrtBridge& bridge) {
    std::vector<SrtEvent> ready;
    const Result<const SrtLibrary*> srt = SrtLibrary::load();
    ready.emplace_back(
        SrtReadyEvent{srt.ok() ? std::string() : std::string(srt.error().message())});
    bridge.tell(ready, 0);
    if (srt.ok()) {
        const auto worker = std::make_unique<SrtWorker>(bridge, **srt);
        worker->run();
    }
}

}  // namespace weir::io

#endif
