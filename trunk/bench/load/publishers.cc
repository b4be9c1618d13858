#include "bench/load/publishers.h"

#include <algorithm>

#include "base/random.h"
#include "io/deadline.h"
#include "io/tls.h"
#include "proto/rtmp/client_session.h"
#include "proto/rtmp/handshake.h"

#include "bench/load/core/file_stamp.h"
#include "bench/load/publisher.h"
#include "bench/load/rtc_publisher.h"
#include "bench/load/rtsp_cameras.h"
#include "bench/load/rtsp_publisher.h"
#include "bench/load/run_control.h"
#include "bench/load/srt_publisher.h"
#include "bench/load/srt_url.h"

namespace weir::load {
namespace {

constexpr Millis kWriteTimeout{10'000};
constexpr Millis kStopTimeout{2'000};
constexpr size_t kReadSize = 4096;
// Frames are due at moments; waiting is in whole milliseconds. What is due within this is sent
// along.
constexpr uint64_t kEarlyUs = 500;
constexpr int kFramesPerFlush = 256;

uint32_t random_epoch() {
    std::array<uint8_t, 4> bytes{};
    system_random().fill(bytes);
    return ByteReader(bytes).u32();
}

class RtmpPublisher final : public Publisher {
  public:
    RtmpPublisher(std::unique_ptr<FrameSource> source,
                  PublishTotals& totals,
                  io::Signal& changed,
                  const io::SocketAddress& address,
                  const Url& url,
                  uint32_t number)
        : Publisher(std::move(source), totals, changed),
          address_(address),
          url_(url),
          number_(number) {}

  private:
    Error connect(io::Deadline deadline) override {
        SourceAddresses sources(address_);
        WEIR_TRY_ASSIGN(stream_, io::TcpStream::connect(address_, deadline, sources.of(number_)));
        if (url_.tls()) {
            WEIR_TRY_ASSIGN(const auto tls,
                            io::TlsContext::client({.verify = false, .ca_file = {}}));
            WEIR_TRY(io::tls_connect(*stream_, *tls, url_.host, deadline));
        }
        rtmp::ClientHandshake handshake(system_random());
        Bytes buffer(kReadSize);
        ByteSpan unread;
        while (!handshake.done()) {
            WEIR_TRY(stream_->write_all(handshake.take_output(), deadline));
            if (unread.empty()) {
                WEIR_TRY_ASSIGN(size_t size, stream_->read_some(buffer, deadline));
                unread = ByteSpan(buffer).first(size);
            }
            WEIR_TRY_ASSIGN(size_t used, handshake.feed(unread));
            unread = unread.subspan(used);
        }
        WEIR_TRY(stream_->write_all(handshake.take_output(), deadline));
        rtmp::ClientOptions options;
        options.role = rtmp::ClientRole::kPublish;
        options.app = url_.app;
        options.tc_url = fmt::format("rtmp://{}/{}", url_.authority(), url_.app);
        options.stream = url_.stream;
        session_ = std::make_unique<rtmp::ClientSession>(std::move(options));
        for (;;) {
            WEIR_TRY(feed(unread));
            WEIR_TRY(flush(deadline));
            if (session_->started()) {
                return {};
            }
            WEIR_TRY_ASSIGN(size_t size, stream_->read_some(buffer, deadline));
            unread = ByteSpan(buffer).first(size);
        }
    }

    // What the server says; nothing of it matters but an end.
    Error feed(ByteSpan bytes) {
        rtmp::ClientEvent event;
        do {
            bytes = bytes.subspan(session_->feed(bytes));
            while (session_->next_event(event)) {
            }
            if (session_->failed()) {
                return session_->take_error();
            }
        } while (!bytes.empty());
        return {};
    }

    Error flush(io::Deadline deadline) {
        if (!session_->has_output()) {
            return {};
        }
        Bytes out = session_->take_output();
        return stream_->write_all(out, deadline);
    }

    void disconnect() override { stream_.reset(); }

    Error publish() override {
        io::Coroutine reader;
        WEIR_TRY_ASSIGN(reader, io::Coroutine::spawn("publisher-reader", io::StackSize::kNormal,
                                                     [this] { read_on(); }));
        Error error = send_frames();
        if (!error) {
            session_->stop();
            error = flush(io::Deadline::after(kStopTimeout));
        }
        reader.interrupt();
        reader.join();
        return error;
    }

    void read_on() {
        Bytes buffer(kReadSize);
        for (;;) {
            auto size = stream_->read_some(buffer, io::Deadline::forever());  // ended by publish()
            Error error = size.ok() ? feed(ByteSpan(buffer).first(*size)) : size.take_error();
            if (error) {
                if (error.code() != ErrorCode::kInterrupted && !asked_to_stop()) {
                    note_failure(std::string(error.message()));
                    stream_->shutdown();
                }
                return;
            }
        }
    }

    Error send_frames() {
        for (const SourceMessage& each : source().opening()) {
            session_->send_media(each.kind, each.time_ms, each.body);
        }
        uint64_t origin_us = now_ns() / 1000;
        while (!asked_to_stop()) {
            uint64_t passed = now_ns() / 1000 - origin_us;
            for (int i = 0; i < kFramesPerFlush && source().next_due_us() <= passed + kEarlyUs;
                 i++) {
                totals().lag.add(passed - std::min(passed, source().next_due_us()));
                WEIR_TRY(send_next());
            }
            WEIR_TRY(flush(io::Deadline::after(kWriteTimeout)));
            if (source().next_due_us() <= passed + kEarlyUs) {
                io::yield();  // a file may ask for any number of frames at once
                continue;
            }
            uint64_t due = origin_us + source().next_due_us();
            WEIR_TRY(
                io::sleep_until(io::Deadline::at(MonoTime(Micros(static_cast<int64_t>(due))))));
        }
        return {};
    }

    Error send_next() {
        WEIR_TRY(source().next(now_ns(), frame_));
        session_->send_media(frame_.kind, frame_.time_ms, frame_.body);
        totals().frames++;
        totals().bytes += frame_.body.size();
        return {};
    }

    const io::SocketAddress& address_;
    Url url_;
    uint32_t number_;
    std::unique_ptr<io::TcpStream> stream_;
    std::unique_ptr<rtmp::ClientSession> session_;
    SourceMessage frame_;
};

}  // namespace

void StreamOptions::add_to(OptionTable& table,
                           std::string_view rate_name,
                           std::string_view file_name) {
    table.text(file_name, "FILE", "FLV or MP4 file to publish in a loop instead", file);
    table.bit_rate(rate_name, "bit rate of each stream, audio included", shape.bits_per_second);
    table.bit_rate("--audio", "of it audio; 0 for none", shape.audio_bits_per_second);
    table.count("--fps", "frames per second", shape.fps, 1, 240);
    table.count("--gop", "frames from key frame to key frame", shape.gop, 1, 10'000);
}

Result<std::unique_ptr<PublisherGroup>> PublisherGroup::create(const std::string& url,
                                                               const StreamOptions& options) {
    if (options.streams > 1 && !has_number(url)) {
        return make_error(ErrorCode::kMalformed,
                          "{} streams need a URL with %d for their number, found '{}'",
                          options.streams, url);
    }
    const bool is_rtsp = url.starts_with("rtsp");
    Url first;
    if (is_rtsp) {
        WEIR_TRY_ASSIGN(const rtsp::Url parsed, rtsp::Url::parse(numbered(url, 0)));
        first.scheme = "rtsp";
        first.host = parsed.host;
        first.port = parsed.port;
    } else {
        WEIR_TRY_ASSIGN(first, parse_url(numbered(url, 0)));
    }
    const bool is_srt = first.scheme == "srt";
    if (!is_rtsp && !is_srt && !first.scheme.starts_with("rtmp") && first.scheme != "http") {
        return make_error(
            ErrorCode::kUnsupported,
            "'{}': publishing needs an rtmp:// or rtmps:// URL, an rtsp:// or rtsps:// one, an "
            "srt:// one, or an http:// one for WebRTC (WHIP)",
            url);
    }
    if (options.serve && !is_rtsp) {
        return make_error(ErrorCode::kUnsupported,
                          "'{}': cameras are served at an rtsp:// URL, as "
                          "rtsp://0.0.0.0:8600/camera/%d",
                          url);
    }
    WEIR_TRY_ASSIGN(io::SocketAddress address, resolve(first.host, first.port));
    // lint: allow-new - private constructor
    std::unique_ptr<PublisherGroup> group(new PublisherGroup(address));
    if (options.file.empty()) {
        WEIR_TRY_ASSIGN(group->plan_, BitratePlan::create(options.shape));
    } else {
        WEIR_TRY_ASSIGN(group->file_, MediaFile::open(options.file));
    }
    if (is_srt) {
        group->srt_ = std::make_unique<io::SrtEngine>(nullptr);
    }
    if (first.scheme == "http") {
        WEIR_TRY_ASSIGN(group->rtc_, RtcPublishShared::create());
    }
    WEIR_TRY(group->add_all(url, options));
    return group;
}

Error PublisherGroup::add_all(const std::string& url, const StreamOptions& options) {
    if (options.serve) {
        WEIR_TRY_ASSIGN(
            cameras_,
            RtspCameras::create(
                url, options, [this](uint32_t number) { return source_of(number); }, totals_));
        return {};
    }
    for (uint32_t i = 0; i < options.streams; i++) {
        if (url.starts_with("rtsp")) {
            WEIR_TRY_ASSIGN(rtsp::Url each, rtsp::Url::parse(numbered(url, i)));
            publishers_.push_back(std::make_unique<RtspPublisher>(
                source_of(i), totals_, changed_, address_, std::move(each), i, options.by_udp));
            continue;
        }
        WEIR_TRY_ASSIGN(Url each, parse_url(numbered(url, i)));
        add(each, i);
    }
    return {};
}

void PublisherGroup::add(const Url& url, uint32_t number) {
    if (srt_) {
        publishers_.push_back(
            std::make_unique<SrtPublisher>(source_of(number), totals_, changed_, *srt_, address_,
                                           srt_options_of(url, srt::StreamMode::kPublish)));
    } else if (rtc_) {
        publishers_.push_back(std::make_unique<RtcPublisher>(source_of(number), totals_, changed_,
                                                             *rtc_, address_, url, number));
    } else {
        publishers_.push_back(std::make_unique<RtmpPublisher>(source_of(number), totals_, changed_,
                                                              address_, url, number));
    }
}

PublisherGroup::PublisherGroup(const io::SocketAddress& address) : address_(address) {}

PublisherGroup::~PublisherGroup() = default;

std::unique_ptr<FrameSource> PublisherGroup::source_of(uint32_t number) const {
    return file_ ? file_source(file_, number, random_epoch())
                 : synthetic_source(*plan_, number, random_epoch());
}

double PublisherGroup::bits_per_second() const {
    return file_ ? file_->bits_per_second() : static_cast<double>(plan_->shape().bits_per_second);
}

bool PublisherGroup::is_stamped(media::TrackKind kind) const {
    if (rtc_ && kind == media::TrackKind::kAudio) {
        return false;  // silence, unless it is Opus
    }
    return !file_ || !file_->track(kind).present || can_stamp(file_->track(kind), kind);
}

Error PublisherGroup::start(Millis ramp, Millis connect_timeout) {
    if (cameras_) {
        return cameras_->start();
    }
    MonoTime now = MonoClock::now();
    for (size_t i = 0; i < publishers_.size(); i++) {
        Publisher* each = publishers_[i].get();
        auto share = static_cast<double>(i) / static_cast<double>(publishers_.size());
        io::Deadline begin = io::Deadline::at(
            now + Micros(static_cast<int64_t>(share * 1000 * static_cast<double>(ramp.count()))));
        WEIR_TRY(tasks_.spawn(
            "publisher", io::StackSize::kNormal,
            [this, each, begin, connect_timeout] { each->run(begin, connect_timeout); }));
    }
    return {};
}

Error PublisherGroup::wait_started(io::Deadline deadline) {
    while (started() < size()) {
        if (failed() > 0) {
            return make_error(ErrorCode::kDenied, "{}", first_failure());
        }
        if (Error error = changed_.wait_until(deadline)) {
            return error.code() == ErrorCode::kTimeout
                       ? make_error(ErrorCode::kTimeout,
                                    "the server at {} did not let it publish in time",
                                    address_.to_string())
                       : std::move(error);
        }
    }
    return {};
}

void PublisherGroup::stop() {
    if (cameras_) {
        cameras_->stop();
    }
    for (auto& each : publishers_) {
        each->ask_to_stop();
    }
    if (Error error = tasks_.join_all(io::Deadline::after(kStopTimeout))) {
        tasks_.interrupt_all();
        if (Error second =
                tasks_.join_all(io::Deadline::forever())) {  // interrupted ones return promptly
            complain(second.message());
        }
    }
}

size_t PublisherGroup::size() const {
    return cameras_ ? cameras_->size() : publishers_.size();
}

size_t PublisherGroup::played() const {
    return cameras_ ? cameras_->played() : 0;
}

size_t PublisherGroup::started() const {
    if (cameras_) {
        return cameras_->size();
    }
    return static_cast<size_t>(std::count_if(
        publishers_.begin(), publishers_.end(),
        [](const auto& each) { return each->state() == Publisher::State::kPublishing; }));
}

size_t PublisherGroup::failed() const {
    return static_cast<size_t>(
        std::count_if(publishers_.begin(), publishers_.end(),
                      [](const auto& each) { return each->state() == Publisher::State::kFailed; }));
}

std::string PublisherGroup::first_failure() const {
    for (const auto& each : publishers_) {
        if (each->state() == Publisher::State::kFailed) {
            return each->failure();
        }
    }
    return {};
}

void PublisherGroup::add_to(Report& report, double window_seconds) const {
    ReportSection& section = report.section("publishers", "publishers");
    section.count("asked", "asked for", size());
    section.count("failed", "failed", failed());
    section.count("frames", "frames sent", totals_.frames);
    double rate = window_seconds > 0 ? static_cast<double>(totals_.bytes) * 8 / window_seconds : 0;
    section.rate("bits_per_second", "media sent", rate);
    section.distribution("lag_ms", "behind schedule", totals_.lag);
    if (cameras_) {
        cameras_->add_to(section);
    }
    if (rtc_) {
        section.count("packets", "packets sent", rtc_->stats.packets);
        section.count("packets_retransmitted", "retransmissions", rtc_->stats.retransmitted);
        section.count("packets_too_late", "asked for too late", rtc_->stats.too_late);
        section.count("packets_lost", "lost, as the server reports", rtc_->stats.lost);
        section.count("key_requests", "key frames asked for", rtc_->stats.key_requests);
        section.distribution("ice_ms", "first answered check after", rtc_->totals.ice);
        section.distribution("dtls_ms", "encrypted after", rtc_->totals.dtls);
        section.distribution("rtt_ms", "round trip", rtc_->totals.rtt);
    }
    report.expect("publishers", failed() == 0, "every publisher keeps publishing",
                  fmt::format("{} of {} failed: {}", failed(), size(), first_failure()));
}

}  // namespace weir::load
