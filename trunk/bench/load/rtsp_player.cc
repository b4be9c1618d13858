#include "bench/load/rtsp_player.h"

#include <array>

#include "io/deadline.h"

namespace weir::load {
namespace {

constexpr int kReadsPerTurn = 16;
constexpr size_t kReceiveBuffer = 64 * 1024;
constexpr size_t kMaxReport = 600;

// Shared by all of them: nothing yields between a read and its use.
std::span<uint8_t> read_buffer() {
    static std::array<uint8_t, kReceiveBuffer> buffer;
    return buffer;
}

}  // namespace

// ---- the factory ----

std::unique_ptr<Player> RtspPlayerFactory::make(PlayerListener& listener,
                                                RunTotals& totals,
                                                uint32_t stream) {
    return std::make_unique<RtspPlayer>(listener, totals, stream, *this);
}

Error RtspPlayerFactory::start() {
    if (!started_) {
        WEIR_TRY_ASSIGN(ticker_, io::Coroutine::spawn("rtsp timers", io::StackSize::kNormal,
                                                      [this] { tick(); }));
        started_ = true;
    }
    return {};
}

void RtspPlayerFactory::tick() {
    while (!io::sleep_for(kTick)) {
        const MonoTime now = MonoClock::now();
        // From behind: one that leaves is replaced by the last one, which was looked at.
        for (size_t i = players_.size(); i > 0; i--) {
            if (i <= players_.size()) {
                players_[i - 1]->look(now);
            }
        }
    }
}

void RtspPlayerFactory::stop() {
    ticker_.interrupt();
    ticker_.join();
    started_ = false;
}

// ---- a player ----

RtspPlayer::~RtspPlayer() {
    close();
}

Error RtspPlayer::connect(const io::SocketAddress* from, io::Deadline deadline) {
    WEIR_TRY(factory_.start());
    WEIR_TRY_ASSIGN(connection_, io::TcpStream::connect(factory_.target_.server, deadline, from));
    client_ = std::make_unique<RtspPlayClient>(factory_.target_.urls[stream_],
                                               factory_.target_.options, check(), system_random(),
                                               [this](size_t track) { return bind(track); });
    index_ = factory_.players_.size();
    factory_.players_.push_back(this);
    connection_->set_handler(this);
    if (flush()) {
        read();
    }
    return {};
}

std::optional<rtsp::PortPair> RtspPlayer::bind(size_t track) {
    auto made = net::RtpPorts::bind(connection_->local().net_address(), track, *this, true);
    if (!made.ok()) {
        return std::nullopt;
    }
    ports_.push_back(std::move(*made));
    return ports_.back()->ports();
}

// Before PLAY is sent. False: the player is closed.
bool RtspPlayer::open_ports() {
    listens_ = true;
    const rtsp::ClientSession& session = client_->session();
    for (size_t i = 0; i < session.tracks(); i++) {
        const std::optional<rtsp::Transport>& agreed = session.transport(i);
        if (!agreed || !agreed->multicast) {
            continue;
        }
        const auto group = NetAddress::parse_ip(agreed->destination, 0);
        auto joined = group ? net::RtpPorts::join(*group, *agreed->port,
                                                  connection_->local().net_address(), {}, i, *this)
                            : Result<std::unique_ptr<net::RtpPorts>>(make_error(
                                  ErrorCode::kMalformed, "the server names no multicast group"));
        if (!joined.ok()) {
            fail(std::string(joined.error().message()));
            return false;
        }
        ports_.push_back(std::move(*joined));
    }
    for (const auto& each : ports_) {
        each->listen();
    }
    return connection_ != nullptr;
}

void RtspPlayer::on_ready(uint8_t) {
    if (flush()) {
        read();
    }
}

void RtspPlayer::read() {
    for (int i = 0; connection_ != nullptr && connection_->readable(); i++) {
        if (i == kReadsPerTurn) {
            listener().player_has_more(*this);
            return;
        }
        const io::IoResult got = connection_->try_read(read_buffer());
        if (got.status == io::IoStatus::kWouldBlock) {
            break;
        }
        if (got.status != io::IoStatus::kDone) {
            fail("closed by the server");
            return;
        }
        if (!client_->feed(ByteSpan(read_buffer()).first(got.bytes), now_ns())) {
            fail(client_->failure());
            return;
        }
        if (client_->stream_ended()) {
            fail("the server ended the stream");
            return;
        }
        if (client_->is_set_up() && !listens_ && !open_ports()) {
            return;
        }
        note_media();
        if (!flush()) {
            return;
        }
    }
    bool more = false;
    for (const auto& each : ports_) {
        more = (listens_ && each->read_more()) || more;
    }
    if (more) {
        listener().player_has_more(*this);
    }
}

void RtspPlayer::on_datagram(size_t track, bool rtcp, ByteSpan bytes, const NetAddress&) {
    if (client_ != nullptr) {
        client_->on_datagram(MonoClock::now(), track, rtcp, bytes);
        note_media();
    }
}

bool RtspPlayer::flush() {
    if (connection_ == nullptr) {
        return false;
    }
    Bytes& output = client_->output();
    while (!output.empty()) {
        const io::IoResult result = connection_->try_write(output);
        if (result.status == io::IoStatus::kWouldBlock) {
            return true;
        }
        if (result.status != io::IoStatus::kDone) {
            fail("connection lost");
            return false;
        }
        output.erase(output.begin(), output.begin() + static_cast<std::ptrdiff_t>(result.bytes));
    }
    return true;
}

void RtspPlayer::look(MonoTime now) {
    client_->handle_timeout(now);
    std::array<uint8_t, kMaxReport> room;
    const rtsp::ClientSession& session = client_->session();
    for (size_t i = 0; i < ports_.size() && i < session.tracks(); i++) {
        const size_t size = client_->poll_report(now, i, room);
        const std::optional<rtsp::Transport>& agreed = session.transport(i);
        if (size > 0 && agreed && agreed->server_port && !agreed->multicast) {
            const NetAddress server = connection_->connection_peer().net_address();
            ports_[i]->send(true, server.with_port(agreed->server_port->rtcp), {room.data(), size});
        }
    }
    flush();
}

void RtspPlayer::settle() {
    if (client_) {
        client_->settle();
    }
}

void RtspPlayer::close() {
    if (connection_ == nullptr) {
        return;
    }
    client_->settle();
    check().finish(now_ns());
    client_->leave();
    (void)connection_->try_write(client_->output());
    factory_.players_[index_] = factory_.players_.back();
    factory_.players_[index_]->index_ = index_;
    factory_.players_.pop_back();
    ports_.clear();
    client_.reset();
    connection_.reset();
}

}  // namespace weir::load
