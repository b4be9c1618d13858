#include "bench/load/rtsp_cameras.h"

#include <algorithm>
#include <set>

#include "base/random.h"
#include "io/deadline.h"
#include "proto/rtsp/url.h"

#include "bench/load/run_control.h"

namespace weir::load {
namespace {

constexpr Millis kWriteTimeout{10'000};
constexpr Millis kSilence{30'000};  // of a client that does not play
constexpr size_t kReadSize = 4096;
constexpr uint64_t kEarlyUs = 500;  // what is due within this is sent along
constexpr int kFramesPerFlush = 256;

}  // namespace

struct RtspCameras::Connection {
    std::unique_ptr<io::TcpStream> stream;
    std::unique_ptr<RtspCameraSession> session;
    uint32_t number = 0;  // of its camera, once it has named one
    bool named = false;
    bool cut_off = false;    // its camera has failed
    uint64_t origin_us = 0;  // of its stream; 0: it does not play yet
    SourceMessage frame;
};

RtspCameras::RtspCameras(const StreamOptions& options,
                         MakeSource make_source,
                         PublishTotals& totals)
    : outage_every_(options.outage_every),
      outage_for_(options.outage_for),
      make_source_(std::move(make_source)),
      totals_(totals) {}

RtspCameras::~RtspCameras() = default;

Result<std::unique_ptr<RtspCameras>> RtspCameras::create(const std::string& url,
                                                         const StreamOptions& options,
                                                         MakeSource make_source,
                                                         PublishTotals& totals) {
    // lint: allow-new - private constructor
    std::unique_ptr<RtspCameras> cameras(new RtspCameras(options, std::move(make_source), totals));
    io::SocketAddress address;
    for (uint32_t i = 0; i < options.streams; i++) {
        WEIR_TRY_ASSIGN(const rtsp::Url each, rtsp::Url::parse(numbered(url, i)));
        if (each.tls) {
            return make_error(ErrorCode::kUnsupported,
                              "cameras are served by rtsp://, found rtsps://");
        }
        if (i == 0) {
            WEIR_TRY_ASSIGN(address, resolve(each.host, each.port));
        }
        cameras->numbers_.emplace(each.target, i);
        cameras->failing_ = i;
    }
    WEIR_TRY_ASSIGN(cameras->listener_, io::TcpListener::listen(address));
    WEIR_TRY_ASSIGN(cameras->ports_,
                    net::RtpPorts::bind(address.net_address().with_port(0), 0, *cameras));
    return cameras;
}

Error RtspCameras::start() {
    ports_->listen();
    WEIR_TRY(acceptors_.serve(std::move(listener_)));
    if (outage_every_.count() > 0) {
        WEIR_TRY(
            tasks_.spawn("camera outages", io::StackSize::kNormal, [this] { fail_and_return(); }));
    }
    return {};
}

void RtspCameras::stop() {
    acceptors_.stop();
    tasks_.interrupt_all();
    // Interrupted ones return promptly.
    if (Error error = tasks_.join_all(io::Deadline::forever())) {
        complain(error.message());
    }
}

size_t RtspCameras::played() const {
    std::set<uint32_t> all;
    for (const Connection* each : connections_) {
        if (each->session->playing()) {
            all.insert(each->number);
        }
    }
    return all.size();
}

void RtspCameras::add_to(ReportSection& section) const {
    section.count("played", "played at the end", played());
    section.count("sessions", "sessions of players", sessions_);
    section.count("unknown", "asked for, and no such camera", unknown_);
    section.count("outages", "outages of the last one", outages_);
}

// ---- connections ----

void RtspCameras::take(std::unique_ptr<io::TcpStream> stream) {
    // std::function wants copyable captures.
    auto connection = std::make_shared<Connection>();
    connection->stream = std::move(stream);
    Error error =
        tasks_.spawn("camera", io::StackSize::kNormal, [this, connection] { serve(*connection); });
    if (error) {
        complain(error.message());
    }
}

void RtspCameras::serve(Connection& connection) {
    const NetAddress client = connection.stream->connection_peer().net_address();
    RtspCameraHost host{
        .open = [this, &connection](std::string_view target) { return open(connection, target); },
        .ports = ports_->ports(),
        .send = [this, client](
                    bool rtcp, uint16_t port,
                    ByteSpan bytes) { ports_->send(rtcp, client.with_port(port), bytes); },
        .random = system_random()};
    connection.session =
        std::make_unique<RtspCameraSession>(std::move(host), connection.stream->local().host());
    connections_.push_back(&connection);
    Error ended = converse(connection);
    std::erase(connections_, &connection);
    if (ended.code() == ErrorCode::kClosed && !connection.cut_off &&
        connection.session->has_output()) {
        // The answer to TEARDOWN, as far as the socket takes it.
        (void)connection.stream->try_write(as_bytes(connection.session->take_output()));
    }
    connection.stream.reset();
}

std::unique_ptr<FrameSource> RtspCameras::open(Connection& connection, std::string_view target) {
    const auto found = numbers_.find(std::string(target));
    if (found == numbers_.end()) {
        unknown_++;
        return nullptr;
    }
    if (failed_ && found->second == failing_) {
        connection.cut_off = true;
        return nullptr;
    }
    connection.number = found->second;
    connection.named = true;
    return make_source_(found->second);
}

// Until it ends.
Error RtspCameras::converse(Connection& connection) {
    io::TcpStream& stream = *connection.stream;
    RtspCameraSession& session = *connection.session;
    Bytes buffer(kReadSize);
    for (;;) {
        io::Deadline until = io::Deadline::after(kSilence);
        if (session.playing()) {
            WEIR_TRY(send_due(connection));
            const uint64_t due = connection.origin_us + session.source()->next_due_us();
            until = io::Deadline::at(MonoTime(Micros(static_cast<int64_t>(due))));
        }
        if (session.has_output()) {
            const std::string out = session.take_output();
            WEIR_TRY(stream.write_all(as_bytes(out), io::Deadline::after(kWriteTimeout)));
        }
        Error waited = stream.wait_readable(until);
        if (waited && (waited.code() != ErrorCode::kTimeout || !session.playing())) {
            return waited;
        }
        if (waited) {
            continue;
        }
        const io::IoResult got = stream.try_read(buffer);
        if (got.status == io::IoStatus::kWouldBlock) {
            continue;
        }
        if (got.status != io::IoStatus::kDone) {
            return make_error(ErrorCode::kSystem, "the client closed the connection");
        }
        Error failed = session.feed(ByteSpan(buffer).first(got.bytes));
        if (connection.cut_off) {
            return make_error(ErrorCode::kClosed, "the camera has failed");
        }
        WEIR_TRY(std::move(failed));
    }
}

Error RtspCameras::send_due(Connection& connection) {
    RtspCameraSession& session = *connection.session;
    FrameSource& source = *session.source();
    const uint64_t now_us = now_ns() / 1000;
    if (connection.origin_us == 0) {
        connection.origin_us = now_us;
        sessions_++;
    }
    const uint64_t passed = now_us - connection.origin_us;
    for (int i = 0; i < kFramesPerFlush && source.next_due_us() <= passed + kEarlyUs; i++) {
        totals_.lag.add(passed - std::min(passed, source.next_due_us()));
        WEIR_TRY(source.next(now_ns(), connection.frame));
        session.send(MonoClock::now(), connection.frame);
        totals_.frames++;
        totals_.bytes += connection.frame.body.size();
    }
    return {};
}

// ---- outages ----

void RtspCameras::fail_and_return() {
    while (!io::sleep_for(outage_every_)) {
        failed_ = true;
        outages_++;
        for (Connection* each : connections_) {
            if (each->named && each->number == failing_) {
                each->cut_off = true;
                each->stream->shutdown();
            }
        }
        if (io::sleep_for(outage_for_)) {
            return;
        }
        failed_ = false;
    }
}

}  // namespace weir::load
