#include "session/srt/srt_call.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/object_count.h"
#include "base/strings.h"
#include "io/deadline.h"
#include "io/socket_address.h"
#include "net/source/run_publisher.h"
#include "net/source/source_spec.h"
#include "net/source/source_url.h"
#include "net/ts/ts_ingest.h"
#include "session/srt/srt_link.h"
#include "session/srt/srt_server.h"

namespace weir::session {
namespace {

constexpr uint64_t kMaxLatencyMs = 8'000;
constexpr Millis kTryTime{3'000};      // of one address
constexpr Millis kCountPeriod{1'000};  // bytes are noted this often

// Yields. Resolves, and calls the addresses one after the other.
Error call(net::SourceRun& run, SrtServer& server, srt::StreamMode mode, SrtLink& link) {
    const net::SourceUrl& url = run.spec().url;
    WEIR_TRY_ASSIGN(io::SrtOptions options, srt_options_of(url, mode));
    WEIR_TRY_ASSIGN(const std::vector<io::SocketAddress> addresses,
                    server.resolver().resolve(url.host, url.port, run.connect_deadline()));
    Error failed = make_error(ErrorCode::kNotFound, "the host has no address");
    for (const io::SocketAddress& address : addresses) {
        const MonoTime now = MonoClock::now();
        const Micros left = run.connect_deadline().time() - now;
        if (left <= Micros(0)) {
            break;
        }
        options.connect_timeout =
            std::clamp(std::chrono::duration_cast<Millis>(left), Millis(1), kTryTime);
        failed = link.connect(address, options);
        if (!failed || failed.code() == ErrorCode::kInterrupted) {
            break;
        }
    }
    return failed;
}

// How a link of ours ended, as an error of the run.
Error end_of(const SrtLink& link) {
    return make_error(link.how().code, "{}", link.how().detail);
}

class PullRun final : private Counted<PullRun> {
  public:
    // A run of a source by SRT.
    static constexpr ObjectName kObjectName{"srt_pull", "srt"};

    PullRun(net::SourceRun& run, SrtServer& server)
        : run_(run), server_(server), link_(server.engine()), output_(run), ingest_(output_) {}

    // Yields.
    Error run() {
        link_.set_receiver([this](ByteSpan data) { feed(data); });
        WEIR_TRY(call(run_, server_, srt::StreamMode::kRequest, link_));
        run_.connected();
        for (;;) {
            const Error waited = link_.wait(run_.media_deadline());
            if (output_.failure()) {
                return std::move(output_.failure());
            }
            if (link_.ended()) {
                return end_of(link_);
            }
            if (waited.code() == ErrorCode::kInterrupted) {
                return make_error(ErrorCode::kInterrupted, "interrupted");
            }
            if (run_.media_deadline().passed()) {
                return run_.silence();
            }
        }
    }

  private:
    void feed(ByteSpan data) {
        if (output_.failure()) {
            return;
        }
        run_.note_bytes(data.size());
        output_.fail(ingest_.feed(MonoClock::now(), data));
        if (output_.failure()) {
            link_.end(net::EndClass::kError, std::string(output_.failure().message()));
        }
    }

    net::SourceRun& run_;
    SrtServer& server_;
    SrtLink link_;
    net::RunPublisher output_;
    net::TsIngest ingest_;
};

}  // namespace

Result<io::SrtOptions> srt_options_of(const net::SourceUrl& url, srt::StreamMode mode) {
    const std::vector<QueryItem> query = parse_query(url.query);
    const auto value = [&query](std::string_view name) {
        return std::string(query_value(query, name).value_or(""));
    };
    io::SrtOptions options;
    options.stream_id = value("streamid");
    if (options.stream_id.empty()) {
        srt::StreamId id;
        id.resource = url.path;
        id.vhost = value("vhost");
        id.token = value("key").empty() ? value("token") : value("key");
        id.mode = mode;
        options.stream_id = id.write();
        const Result<srt::StreamId> again = srt::StreamId::parse(options.stream_id);
        if (options.stream_id.size() <= srt::kMaxStreamId && !(again.ok() && *again == id)) {
            return make_error(ErrorCode::kMalformed,
                              "the path, vhost or key of an srt:// URL has characters that no "
                              "stream id can hold (such as , {{ }} ?)");
        }
    }
    options.passphrase = value("passphrase");
    const size_t size = options.passphrase.size();
    if (size != 0 && (size < io::kMinSrtPassphrase || size > io::kMaxSrtPassphrase)) {
        return make_error(ErrorCode::kMalformed, "passphrase of an srt:// URL: 10 to 79 bytes");
    }
    const std::string key_bytes = value("pbkeylen");
    const std::string latency = value("latency");
    const std::optional<uint64_t> bytes = parse_uint(key_bytes, 16, 32);
    if (!key_bytes.empty() && (!bytes || *bytes % 8 != 0)) {
        return make_error(ErrorCode::kMalformed, "pbkeylen of an srt:// URL: 16, 24 or 32");
    }
    const std::optional<uint64_t> wait = parse_uint(latency, 0, kMaxLatencyMs);
    if (!latency.empty() && !wait) {
        return make_error(ErrorCode::kMalformed, "latency of an srt:// URL: 0 to {} ms",
                          kMaxLatencyMs);
    }
    if (options.stream_id.size() > srt::kMaxStreamId) {
        return make_error(ErrorCode::kLimit, "the stream id is longer than {} bytes",
                          srt::kMaxStreamId);
    }
    options.key_bytes = static_cast<uint8_t>(bytes.value_or(0));
    options.latency = Millis(static_cast<int64_t>(wait.value_or(120)));
    return options;
}

Error SrtPull::run(net::SourceRun& run) {
    const auto one = std::make_unique<PullRun>(run, server_);  // too large for a stack
    return one->run();
}

Error SrtForward::run(net::SourceRun& run) {
    const net::Services& services = server_.services();
    const stream::StreamKey& key = run.spec().key;
    const auto link = std::make_unique<SrtLink>(server_.engine());
    link->set_receiver(nullptr);
    WEIR_TRY(call(run, server_, srt::StreamMode::kPublish, *link));
    run.connected();
    const net::PlayRules rules = services.policy.rules_of_forward(key);
    WEIR_TRY_ASSIGN(SrtPump* const pump, server_.pump_for(key, rules));
    const auto client = std::make_unique<net::Client>(services.clients, "srt", run.spec().url.host);
    client->role = net::ClientRole::kPlayer;
    client->key = key;
    link->set_client(client.get());
    server_.engine().admit(link->id(), {rules.pump.queue_bytes, rules.pump.queue_length});
    SrtPlayer player{*link, *client, MonoClock::now(), false, [&run] { run.live(); }};
    pump->add(player);
    uint64_t noted = 0;
    bool interrupted = false;
    while (!link->ended() && !interrupted) {
        const Error waited = link->wait(io::Deadline::after(kCountPeriod));
        interrupted = waited.code() == ErrorCode::kInterrupted;
        run.note_bytes(client->sent_bytes - noted);
        noted = client->sent_bytes;
    }
    pump->remove(player);
    link->set_client(nullptr);
    Error why = link->ended() ? end_of(*link) : make_error(ErrorCode::kInterrupted, "interrupted");
    client->log_summary(net::end_class(why.code()), why.message());
    return why;
}

}  // namespace weir::session
