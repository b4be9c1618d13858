// Source: one stream that this server brings from another one, or sends to it (a forward): its
// state, its run, its publisher.
//
// Made and driven by Sources; the code of its protocol (SourceProtocol) runs in a coroutine of its
// own while SourceMachine says so.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/object_count.h"
#include "io/coroutine.h"
#include "net/cluster/origins.h"
#include "net/play_rules.h"
#include "net/rate_guard.h"
#include "net/source/source_machine.h"
#include "net/source/source_run.h"
#include "net/source/source_spec.h"
#include "net/stream_throttle.h"
#include "net/ts/group_stats.h"
#include "stream/publisher.h"

namespace weir::io {
class Deadline;
class SocketAddress;
class TcpStream;
}  // namespace weir::io

namespace weir::stream {
class Registry;
class Stream;
}  // namespace weir::stream

namespace weir::net {

class Claims;
class HttpClient;
class Policy;

// What all sources share.
struct SourceServices {
    stream::Registry& registry;
    HttpClient& dialer;
    const Policy& policy;
    // Whether a connection with these two ends has come to this very server, by one of its
    // listeners for streams.
    std::function<bool(const io::SocketAddress& local, const io::SocketAddress& peer)> is_own;
    RandomSource& random;
    std::function<void()> wake;  // something happened: Sources should look. Never yields.
    Claims* claims = nullptr;    // null: this node is alone
    // Relays that never came up say why so often: anybody may ask for any name.
    mutable StreamThrottle unproven{};
};

class Source final : private SourceRun, private stream::Publisher, private Counted<Source> {
  public:
    static constexpr ObjectName kObjectName{"source", "sources"};

    static constexpr Millis kConnectTimeout{10'000};
    // A source that fails again and again says so in the log this often.
    static constexpr Millis kFailureLogPeriod{60'000};

    // All must outlive this.
    Source(SourceSpec spec, SourceProtocol& protocol, const SourceServices& services, MonoTime now);
    ~Source();  // the run must have ended: interrupt(), finished()

    const SourceSpec& spec() const override { return spec_; }

    // Holds for redirects from now on; the run goes on.
    void set_only_servers(const std::vector<std::string>& servers) { spec_.only_servers = servers; }

    std::string_view id() const { return id_; }

    const SourceMachine& machine() const { return machine_; }

    // Of the last run that failed; empty: none did. May hold bytes of the other side.
    const std::string& last_error() const { return last_error_; }

    // Since it exists.
    uint64_t bytes() const { return bytes_; }

    // Of a relay: where its run brings the stream from, or brought it last; none: it had no run.
    const std::optional<Origin>& origin() const { return origin_; }

    MonoTime made_at() const { return made_at_; }

    // It has brought something since it exists.
    bool ever_live() const { return ever_live_; }

    // Of one whose run has joined a group, or has had one.
    const std::optional<GroupStats>& group() const { return group_; }

    // ---- for Sources; none yields ----

    void set_demand(bool wanted, MonoTime now);

    // Somebody asks who waits so long at most.
    void ask(Millis waits, MonoTime now) { machine_.ask(waits, now); }

    // The run under way ends as if it had failed: the next one comes later.
    void fail(std::string_view why, MonoTime now);

    // Somebody wants it now: see SourceMachine.
    void retry_soon(Millis spacing, MonoTime now) { machine_.retry_soon(spacing, now); }

    // Another node or process has the name of its stream, as the last try said.
    bool is_elsewhere() const { return elsewhere_; }

    // Its origin has lost the stream.
    void begin_anew(MonoTime now);

    // Looks who has the stream's name.
    void look_at_name(MonoTime now);

    // Does what is due: begins or interrupts the run, writes a line about a new state.
    void step(MonoTime now);

    void stop(MonoTime now);

    bool has_run() const { return run_.running() || ended_; }

  private:
    // SourceRun
    Result<std::unique_ptr<io::TcpStream>> connect() override;

    Result<std::unique_ptr<io::TcpStream>> connect_to(const SourceUrl& url,
                                                      const AddressFilter& allows) override;

    Result<std::unique_ptr<io::TcpStream>> follow(const SourceUrl& url) override;

    const Hops& hops() const override { return hops_; }

    HttpClient& dialer() override { return services_.dialer; }

    io::Deadline connect_deadline() const override;
    void connected() override;
    io::Deadline media_deadline() const override;
    Error silence() const override;

    void note_bytes(uint64_t bytes) override { bytes_ += bytes; }

    Error publish(media::TrackKind kind,
                  uint32_t timestamp,
                  Bytes body,
                  media::Audience audience) override;
    Error publish(Ref<media::MediaPacket> packet) override;
    Error publish_transport(Ref<media::MediaPacket> packet) override;
    void end_transport() override;

    uint64_t kept_bytes() const override { return rules_.stream.gop_cap_bytes; }

    Result<stream::Stream*> begin() override;

    stream::Stream* stream() override { return stream_; }

    void note_group(const GroupStats& stats) override { group_ = stats; }

    void note_origin(const Origin& origin) override;

    const stream::Publisher& publisher() const override { return *this; }

    void set_key_frame_request(std::function<void()> ask) override { ask_key_ = std::move(ask); }

    void set_sink_watch(std::function<void()> watch) override { on_sink_ = std::move(watch); }

    void live() override;

    // stream::Publisher
    std::string describe() const override;

    std::string_view client_id() const override { return id_; }

    std::string_view client_ip() const override {
        return origin_ ? origin_->url.host : spec_.url.host;
    }

    std::string_view relayed_from() const override { return relayed_from_; }

    std::string_view client_transport() const override {
        return spec_.relayed          ? "relay"
               : spec_.url.is_http()  ? "flv"
               : spec_.url.is_rtsp()  ? "rtsp"
               : spec_.url.is_whep()  ? "webrtc"
               : spec_.url.is_srt()   ? "srt"
               : spec_.url.is_group() ? std::string_view(spec_.url.scheme)
                                      : "rtmp";
    }

    void on_taken_over() override;

    void on_sink() override {
        if (on_sink_) {
            on_sink_();
        }
    }

    void on_key_frame_wanted() override {
        if (ask_key_) {
            ask_key_();
        }
    }

    Result<std::unique_ptr<io::TcpStream>> dial(const SourceUrl& url, const AddressFilter& allows);
    io::Deadline dial_deadline() const;
    Error take_media(MonoTime now, size_t bytes, bool media);
    Error run_once();
    void end_unwanted_run();
    void begin_run(MonoTime now);
    void take_end(MonoTime now);
    Error begin_publish(MonoTime now);
    void end_publish(MonoTime now);
    void log_state(MonoTime now);

    SourceSpec spec_;
    SourceProtocol& protocol_;
    const SourceServices& services_;
    SourceMachine machine_;
    std::string id_;
    std::string last_error_;
    uint64_t bytes_ = 0;

    // Of the run.
    io::Coroutine run_;
    MonoTime run_since_;
    Error outcome_;
    bool ended_ = false;        // its body is done, and its end was not taken yet
    bool interrupted_ = false;  // by us: its end is no failure
    bool elsewhere_ = false;
    PublishRules rules_;
    RateGuard rate_;
    stream::Stream* stream_ = nullptr;  // that it publishes
    bool taken_over_ = false;
    MonoTime last_media_;
    bool seen_media_ = false;
    bool carries_ = false;  // a transport stream; the frames in it are not counted again
    Hops hops_;
    std::function<void()> ask_key_;
    std::function<void()> on_sink_;
    std::optional<GroupStats> group_;
    std::optional<Origin> origin_;
    std::string relayed_from_;  // of a relay that has an origin: its name, or its address
    bool ever_live_ = false;
    MonoTime made_at_;

    SourceState told_ = SourceState::kIdle;  // in the log
    log::Throttle failures_{kFailureLogPeriod};
};

}  // namespace weir::net
