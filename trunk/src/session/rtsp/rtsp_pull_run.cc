#include "session/rtsp/rtsp_pull_run.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/random.h"
#include "base/version.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "net/source/run_publisher.h"
#include "net/source/source_spec.h"
#include "net/source/source_url.h"
#include "net/ts/group_address.h"
#include "proto/rtcp/packet.h"
#include "proto/rtcp/writer.h"
#include "proto/rtp/header.h"
#include "proto/sdp/rtsp_track.h"
#include "session/rtsp/rtsp_ingest_track.h"
#include "session/rtsp/rtsp_pull.h"

namespace weir::session {
namespace {

constexpr size_t kReadBytes = 64 * 1024;
constexpr Millis kWriteTimeout{10'000};  // for a server to take a request or a report
constexpr size_t kMaxReport = 1200;
constexpr size_t kMaxShownTracks = 500;
constexpr uint8_t kFirstRtcpType = 192;  // RFC 5761 §4: second bytes that no RTP packet has
constexpr uint8_t kLastRtcpType = 223;

// Shared by all of them: nothing yields between a read and its use.
std::span<uint8_t> read_buffer() {
    static std::array<uint8_t, kReadBytes> buffer;
    return buffer;
}

rtsp::ClientOptions options_of(const net::SourceUrl& url, const std::string& range) {
    rtsp::ClientOptions options;
    options.url = url.rtsp();
    options.user_agent = fmt::format("Weir/{}", kVersion);
    // Old cameras know nothing else, and the operator has written the password for this one.
    options.allow_basic = true;
    options.range = range;
    return options;
}

}  // namespace

// ---- media ----

class RtspPullRun::Ingest final : public net::RtpIngest {
  public:
    Ingest(net::SourceRun& run,
           stream::Stream& stream,
           std::vector<net::RtpIngestTrack> tracks,
           const net::RtpIngestOptions& options)
        : RtpIngest(stream, run.publisher(), std::move(tracks), options), output_(run) {}

    // Why nothing is published any more.
    Error& failure() { return output_.failure(); }

  private:
    media::PacketRef publish(MonoTime, Ref<media::MediaPacket> packet) override {
        media::PacketRef published = output_.publish(std::move(packet));
        if (!published) {
            count_dropped();
        }
        return published;
    }

    net::RunPublisher output_;
};

RtspPullRun::RtspPullRun(net::SourceRun& run, RtspPull& pulls)
    : run_(run),
      pulls_(pulls),
      session_(options_of(run.spec().url, run.spec().range), system_random()) {}

RtspPullRun::~RtspPullRun() {
    WEIR_CHECK(!stream_);
}

// Some servers send media before they answer PLAY.
Error RtspPullRun::begin() {
    if (begun_) {
        return {};
    }
    begun_ = true;
    run_.connected();
    WEIR_TRY_ASSIGN(stream::Stream * stream, run_.begin());
    if (!unused_.empty()) {
        log::warn("source stream={}: not passed on: {}", log::token(stream->key().to_string()),
                  unused_);
    }
    for (size_t i = 0; i < described_.size(); i++) {
        described_[i].comes = session_.transport(i).has_value();
    }
    media::Description description = number_rtsp_tracks(described_);
    description.unused_tracks = unused_;
    stream->describe(run_.publisher(), std::move(description));
    net::RtpIngestOptions options;
    options.local_ssrc = random_u32(system_random()) | 1U;
    options.b_frames = true;
    options.doubt_markers = true;
    std::vector<net::RtpIngestTrack> list;
    for (RtspIncoming& each : described_) {
        list.push_back(std::move(each.setup));
    }
    ingest_ = std::make_unique<Ingest>(run_, *stream, std::move(list), options);
    return {};
}

void RtspPullRun::take_media(size_t track, bool rtcp, ByteSpan bytes) {
    if (failed_) {
        return;
    }
    if (Error failed = begin()) {
        fail(std::move(failed));
        return;
    }
    const MonoTime now = MonoClock::now();
    const bool looks_like_rtcp =
        bytes.size() > 1 && bytes[1] >= kFirstRtcpType && bytes[1] <= kLastRtcpType;
    if (rtcp || looks_like_rtcp) {
        take_rtcp(now, track, bytes);
    } else {
        seen_rtp_ = true;
        ingest_->on_rtp(now, bytes, track);
    }
    if (ingest_->failure()) {
        fail(std::move(ingest_->failure()));
    }
}

void RtspPullRun::take_rtcp(MonoTime now, size_t track, ByteSpan bytes) {
    rtcp::PacketView packet;
    for (rtcp::CompoundReader reader(bytes); reader.next(packet);) {
        ingest_->on_rtcp(now, packet, track);
    }
}

// Each track is an RTP session of its own, so each gets the reports; a receiver ignores what is not
// about its own source (RFC 3550 §6.4).
void RtspPullRun::send_reports(MonoTime now) {
    std::array<uint8_t, kMaxReport> room;
    const size_t size = ingest_->poll_transmit(now, room);
    if (size == 0) {
        return;
    }
    const ByteSpan report(room.data(), size);
    for (size_t i = 0; i < tracks_.size(); i++) {
        const std::optional<rtsp::Transport>& agreed = session_.transport(i);
        if (!agreed) {
            continue;
        }
        if (agreed->tcp) {
            session_.send_frame(agreed->interleaved->rtcp, report);
        } else if (tracks_[i].ports && !tracks_[i].rtcp_peer.empty() && !agreed->multicast) {
            tracks_[i].ports->send(true, tracks_[i].rtcp_peer, report);
        }
    }
}

// ---- conversation ----

Error RtspPullRun::run() {
    session_.play();
    WEIR_TRY(connect());
    WEIR_TRY(converse());
    return flow();
}

Error RtspPullRun::connect() {
    if (redirected_) {
        WEIR_TRY_ASSIGN(stream_, run_.follow(*redirected_));
    } else {
        WEIR_TRY_ASSIGN(stream_, run_.connect());
    }
    redirected_.reset();
    return {};
}

Error RtspPullRun::converse() {
    while (!session_.started()) {
        if (session_.is_set_up() && !opened_) {  // before PLAY, or its first packets are lost
            opened_ = true;
            WEIR_TRY(open_ports());
        }
        Error failed = flush(run_.connect_deadline());
        if (!failed) {
            failed = read_once(run_.connect_deadline());
        }
        if (failed.code() == ErrorCode::kTimeout || run_.connect_deadline().passed()) {
            return make_error(ErrorCode::kTimeout, "the server did not answer");
        }
        WEIR_TRY(std::move(failed));
        WEIR_TRY(std::move(failed_));
        if (redirected_) {
            stream_->close();
            tracks_.clear();
            opened_ = false;
            WEIR_TRY(connect());
        }
    }
    return {};
}

Error RtspPullRun::flush(io::Deadline deadline) {
    if (!session_.has_output()) {
        return {};
    }
    const std::string output = session_.take_output();
    return stream_->write_all(as_bytes(output), deadline);
}

Error RtspPullRun::read_once(io::Deadline deadline) {
    WEIR_TRY(stream_->wait_readable(deadline));
    const io::IoResult got = stream_->try_read(read_buffer());
    switch (got.status) {
        case io::IoStatus::kWouldBlock: return {};
        case io::IoStatus::kClosed:
            return make_error(ErrorCode::kClosed, "the server closed the connection");
        case io::IoStatus::kFailed: return Error::from_errno(got.error_number, "read");
        case io::IoStatus::kDone: break;
    }
    run_.note_bytes(got.bytes);
    return take({read_buffer().data(), got.bytes});
}

Error RtspPullRun::take(ByteSpan bytes) {
    const io::NoYield no_yield;
    for (;;) {
        switch (session_.next(MonoClock::now(), bytes)) {
            case rtsp::ClientEvent::kNeedMore: return {};
            case rtsp::ClientEvent::kDescribed: WEIR_TRY(set_up()); break;
            case rtsp::ClientEvent::kStarted:
                played_at_ = MonoClock::now();
                WEIR_TRY(begin());
                break;
            case rtsp::ClientEvent::kFrame:
                if (const auto use = session_.channel_use(session_.frame().channel)) {
                    take_media(use->track, use->rtcp, session_.frame().payload);
                }
                WEIR_TRY(std::move(failed_));
                break;
            case rtsp::ClientEvent::kRedirected: {
                WEIR_TRY_ASSIGN(redirected_, net::SourceUrl::parse(session_.url().full()));
                return {};
            }
            case rtsp::ClientEvent::kPaused:
            case rtsp::ClientEvent::kEnded:
                return make_error(ErrorCode::kClosed, "the server ended the session");
            case rtsp::ClientEvent::kError: return session_.take_error();
        }
    }
}

// ---- tracks ----

Error RtspPullRun::set_up() {
    WEIR_TRY_ASSIGN(const sdp::RtspDescription description,
                    sdp::RtspDescription::parse(session_.description()));
    WEIR_TRY_ASSIGN(const std::vector<size_t> chosen, choose_rtsp_tracks(description));
    unused_ = log::escaped(unused_rtsp_tracks(description), kMaxShownTracks);
    std::vector<rtsp::ClientTrack> wanted;
    described_.clear();
    tracks_.clear();
    tracks_.resize(chosen.size());
    for (size_t i = 0; i < chosen.size(); i++) {
        const sdp::RtspTrack& track = description.tracks[chosen[i]];
        described_.push_back(rtsp_incoming(track));
        WEIR_TRY_ASSIGN(std::vector<rtsp::Transport> transports, offers(i));
        wanted.push_back({track.control, std::move(transports)});
    }
    session_.set_up(std::move(wanted), description.control);
    return {};
}

Result<std::vector<rtsp::Transport>> RtspPullRun::offers(size_t track) {
    using net::SourceTransport;
    SourceTransport how = run_.spec().transport;
    if (how == SourceTransport::kAuto &&
        (stream_->encrypted() || pulls_.mistrusts_udp(run_.spec().url, MonoClock::now()))) {
        how = SourceTransport::kTcp;
    }
    std::vector<rtsp::Transport> list;
    if (how == SourceTransport::kAuto || how == SourceTransport::kUdp) {
        WEIR_TRY_ASSIGN(tracks_[track].ports,
                        net::RtpPorts::bind(stream_->local().net_address(), track, *this));
        list.emplace_back().client_port = tracks_[track].ports->ports();
    }
    if (how == SourceTransport::kMulticast) {
        list.emplace_back().multicast = true;
    }
    if (how == SourceTransport::kAuto || how == SourceTransport::kTcp) {
        rtsp::Transport& tcp = list.emplace_back();
        tcp.tcp = true;
        const auto channel = static_cast<uint8_t>(2 * track);
        tcp.interleaved = rtsp::ChannelPair{channel, static_cast<uint8_t>(channel + 1)};
    }
    return list;
}

// Of the transports that were agreed on.
Error RtspPullRun::open_ports() {
    for (size_t i = 0; i < tracks_.size(); i++) {
        const std::optional<rtsp::Transport>& agreed = session_.transport(i);
        if (!agreed || agreed->tcp) {
            tracks_[i].ports.reset();
            continue;
        }
        if (agreed->multicast) {
            const auto group = NetAddress::parse_ip(agreed->destination, 0);
            const auto source = NetAddress::parse_ip(agreed->source, 0);
            if (!group || !net::is_multicast(*group)) {
                return make_error(ErrorCode::kMalformed,
                                  "the server names no address of a multicast group");
            }
            WEIR_TRY_ASSIGN(
                tracks_[i].ports,
                net::RtpPorts::join(*group, *agreed->port, stream_->local().net_address(),
                                    source.value_or(NetAddress()), i, *this));
        } else {
            by_udp_ = true;
            punch(i, *agreed);
        }
    }
    for (Track& track : tracks_) {
        if (track.ports) {
            track.ports->listen();
        }
    }
    return std::move(failed_);
}

// Packets to where the media comes from open the way for it through firewalls and NAT on our side.
void RtspPullRun::punch(size_t track, const rtsp::Transport& agreed) {
    if (!agreed.server_port || agreed.server_port->rtp == 0) {
        return;
    }
    const NetAddress server = stream_->connection_peer().net_address();
    tracks_[track].rtcp_peer = server.with_port(agreed.server_port->rtcp);
    std::array<uint8_t, rtp::kFixedHeaderSize> empty{};
    rtp::write_header({}, empty.data());
    tracks_[track].ports->send(false, server.with_port(agreed.server_port->rtp), empty);
    std::array<uint8_t, kMaxReport> room;
    rtcp::CompoundWriter writer(room);
    if (writer.receiver_report(random_u32(system_random()) | 1U, {}) &&
        writer.source_description(1, "weir")) {
        tracks_[track].ports->send(true, tracks_[track].rtcp_peer, {room.data(), writer.size()});
    }
}

// ---- flow ----

Error RtspPullRun::flow() {
    flowing_ = true;
    stream_->set_handler(this);
    read_in_turn();  // the edge for what is there already is past
    for (;;) {
        if (MonoClock::now() >= next_due()) {  // the process may have stood still, not the server
            read_in_turn(true);
            (void)read_datagrams();
        }
        WEIR_TRY(std::move(failed_));
        WEIR_TRY(do_what_is_due(MonoClock::now()));
        WEIR_TRY(flush(io::Deadline::after(kWriteTimeout)));
        if (failed_ || session_.has_output()) {  // since then
            continue;
        }
        if (stream_->readable() || read_datagrams()) {
            read_in_turn();
            io::yield();
            if (io::interrupted()) {
                return make_error(ErrorCode::kInterrupted, "stopped");
            }
            continue;
        }
        Error waited = changed_.wait_until(io::Deadline::at(next_due()), "media", stream_->fd());
        if (waited.code() == ErrorCode::kInterrupted) {
            return waited;
        }
    }
}

Error RtspPullRun::do_what_is_due(MonoTime now) {
    if (by_udp_ && !seen_rtp_ && run_.spec().transport == net::SourceTransport::kAuto &&
        now >= played_at_ + RtspPull::kUdpPatience) {
        pulls_.note_udp_fails(run_.spec().url, now);
        return make_error(ErrorCode::kTimeout,
                          "no packet came by UDP within {} ms; the next try is by TCP (`transport "
                          "tcp` asks for it at once)",
                          RtspPull::kUdpPatience.count());
    }
    if (run_.media_deadline().passed()) {
        return run_.silence();
    }
    session_.handle_timeout(now);
    ingest_->handle_timeout(now);
    send_reports(now);
    return std::move(ingest_->failure());
}

MonoTime RtspPullRun::next_due() const {
    MonoTime due = run_.media_deadline().time();
    due = std::min(due, session_.next_timeout().value_or(due));
    due = std::min(due, ingest_->next_timeout().value_or(due));
    if (by_udp_ && !seen_rtp_) {
        due = std::min(due, played_at_ + RtspPull::kUdpPatience);
    }
    return due;
}

void RtspPullRun::on_ready(uint8_t ready) {
    (void)ready;
    io::set_log_id(run_.publisher().client_id());  // of the reactor's coroutine
    read_in_turn();
    io::set_log_id({});
}

// Never yields. `look`: also without an edge. One read: what is more is for the coroutine, which
// waits for its turn.
void RtspPullRun::read_in_turn(bool look) {
    if (failed_ || !(look || stream_->readable())) {
        return;
    }
    const io::IoResult got = stream_->try_read(read_buffer());
    switch (got.status) {
        case io::IoStatus::kWouldBlock: return;
        case io::IoStatus::kClosed:
            fail(make_error(ErrorCode::kClosed, "the server closed the connection"));
            return;
        case io::IoStatus::kFailed: fail(Error::from_errno(got.error_number, "read")); return;
        case io::IoStatus::kDone: break;
    }
    run_.note_bytes(got.bytes);
    if (Error error = take({read_buffer().data(), got.bytes})) {
        fail(std::move(error));
    } else if (session_.has_output() || stream_->readable()) {
        notify();
    }
}

void RtspPullRun::on_datagram(size_t track, bool rtcp, ByteSpan bytes, const NetAddress& from) {
    const std::optional<rtsp::Transport>& agreed = session_.transport(track);
    if (!agreed->multicast) {
        // From the server, or from where it says that media comes from. Its ports may be any.
        const bool known = from.same_ip(stream_->connection_peer().net_address()) ||
                           from.ip_text() == agreed->source;
        if (!known) {
            return;
        }
        if (rtcp) {
            tracks_[track].rtcp_peer = from;
        }
    }
    run_.note_bytes(bytes.size());
    take_media(track, rtcp, bytes);
}

// False: nothing is left.
bool RtspPullRun::read_datagrams() {
    bool more = false;
    for (Track& track : tracks_) {
        more = (track.ports && track.ports->read_more()) || more;
    }
    return more;
}

void RtspPullRun::fail(Error error) {
    if (!failed_) {
        failed_ = std::move(error);
        notify();
    }
}

void RtspPullRun::notify() {
    if (flowing_) {
        changed_.notify_all();
    }
}

void RtspPullRun::close() {
    if (!stream_) {
        return;
    }
    flowing_ = false;
    stream_->set_handler(nullptr);
    session_.teardown();
    if (session_.has_output()) {
        (void)stream_->try_write(as_bytes(session_.take_output()));
    }
    stream_->close();
    stream_.reset();
    tracks_.clear();
}

}  // namespace weir::session
