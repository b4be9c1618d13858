// weir-bench garbage: connections that open, send random bytes and leave.
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "io/deadline.h"

#include "bench/load/core/units.h"
#include "bench/load/run_control.h"
#include "bench/load/subcommand.h"
#include "bench/load/usage_probe.h"

namespace weir::load {
namespace {

constexpr size_t kWriteSize = 64 * 1024;
constexpr Millis kTick{200};
constexpr Millis kPatience{2'000};  // for the server to take the bytes, and for its answer

struct GarbageOptions {
    RunOptions run;
    std::string host = "127.0.0.1";
    uint32_t port = 1935;
    uint32_t connections = 10'000;
    uint32_t concurrency = 500;
    uint32_t bytes = 4'096;
    uint32_t seed = 1;
};

// xorshift64*: the same bytes for the same seed.
class Generator {
  public:
    explicit Generator(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}

    uint64_t next() {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return state_ * 0x2545f4914f6cdd1dU;
    }

    void fill(std::span<uint8_t> out) {
        for (uint8_t& byte : out) {
            byte = static_cast<uint8_t>(next() >> 32);
        }
    }

  private:
    uint64_t state_;
};

// How a connection begins and ends; a quarter of them each way, so that more than the first check
// is met.
struct Manner {
    std::string_view name;
    std::string_view prefix;
    bool waits;  // reads what the server says until it closes, instead of leaving at once
};

constexpr std::array<Manner, 6> kManners = {{
    {"random, leaves at once", "", false},
    {"random, waits", "", true},
    {"RTMP version, leaves at once", "\x03", false},
    {"RTMP version, waits", "\x03", true},
    {"HTTP request line", "GET /", true},
    {"nothing at all", "", false},
}};

class GarbageRun {
  public:
    GarbageRun(const GarbageOptions& options, const io::SocketAddress& address)
        : options_(options), address_(address), sources_(address) {}

    Error run(int& exit_code);

  private:
    void work();
    void one(uint32_t number);

    const GarbageOptions& options_;
    io::SocketAddress address_;
    SourceAddresses sources_;
    std::map<std::string, uint64_t> failures_;
    Histogram connect_;
    uint32_t next_ = 0;
    uint64_t connected_ = 0;
    uint64_t refused_ = 0;
    uint64_t closed_by_server_ = 0;
    uint64_t left_open_ = 0;
    uint64_t bytes_sent_ = 0;
    bool stop_ = false;
};

void GarbageRun::work() {
    while (next_ < options_.connections && !stop_ && !io::interrupted()) {
        one(next_++);
    }
}

void GarbageRun::one(uint32_t number) {
    MonoTime start = MonoClock::now();
    auto stream = io::TcpStream::connect(
        address_, io::Deadline::after(options_.run.connect_timeout), sources_.of(number));
    if (!stream.ok()) {
        if (stream.error().code() != ErrorCode::kInterrupted) {
            refused_++;
            failures_[std::string(stream.error().message())]++;
        }
        return;
    }
    connected_++;
    connect_.add(static_cast<uint64_t>((MonoClock::now() - start).count()));
    Generator random(uint64_t{options_.seed} << 32 | number);
    const Manner& manner = kManners[number % kManners.size()];
    bool silent = number % kManners.size() == kManners.size() - 1;
    size_t total = silent ? 0 : 1 + random.next() % options_.bytes;
    Bytes part(std::min<size_t>(total, kWriteSize));
    for (size_t sent = 0; sent < total;) {
        size_t size = std::min(part.size(), total - sent);
        random.fill(std::span(part).first(size));
        if (sent == 0) {
            std::copy_n(manner.prefix.begin(), std::min(manner.prefix.size(), size), part.begin());
        }
        if (Error error =
                (*stream)->write_all(ByteSpan(part).first(size), io::Deadline::after(kPatience))) {
            closed_by_server_++;  // it would hear no more: as it should
            return;
        }
        sent += size;
        bytes_sent_ += size;
    }
    if (!manner.waits) {
        return;
    }
    Bytes answer(4096);
    io::Deadline patience = io::Deadline::after(kPatience);
    for (;;) {
        auto size = (*stream)->read_some(answer, patience);
        if (!size.ok()) {
            (size.error().code() == ErrorCode::kTimeout ? left_open_ : closed_by_server_)++;
            return;
        }
    }
}

Error GarbageRun::run(int& exit_code) {
    WEIR_TRY(ensure_descriptors(options_.concurrency));
    WEIR_TRY_ASSIGN(auto control, RunControl::create(options_.run));
    WEIR_TRY_ASSIGN(UsageProbe usage,
                    UsageProbe::create(options_.run.server_pid, options_.run.server_api));
    usage.window_begins();
    uint64_t begin = now_ns();
    io::TaskGroup workers;
    for (uint32_t i = 0; i < std::min(options_.concurrency, options_.connections); i++) {
        WEIR_TRY(workers.spawn("garbage", io::StackSize::kNormal, [this] { work(); }));
    }
    while (workers.size() > 0 && control->wait_for(kTick)) {
        control->progress(fmt::format("garbage: {} of {} connected, {} refused", connected_,
                                      options_.connections, refused_));
    }
    stop_ = true;
    workers.interrupt_all();
    WEIR_TRY(workers.join_all(io::Deadline::forever()));  // interrupted: they end promptly
    usage.window_ends();
    Report report("garbage",
                  fmt::format("{}, at most {} bytes", address_.to_string(), options_.bytes));
    ReportSection& section = report.section("connections", "connections");
    section.count("asked", "asked for", options_.connections);
    section.count("connected", "connected", connected_);
    section.count("refused", "refused", refused_);
    section.count("closed_by_server", "closed by the server", closed_by_server_);
    section.count("left_open", fmt::format("left open by it for {} s", kPatience.count() / 1000),
                  left_open_);
    section.count("bytes", "bytes sent", bytes_sent_);
    section.number("seconds", "took", static_cast<double>(now_ns() - begin) / 1e9, "s", 1);
    section.distribution("connect_ms", "connected after", connect_);
    for (const auto& [why, count] : failures_) {
        section.text("failure", fmt::format("  {} x", count), why);
    }
    usage.add_to(report, 0, 0);
    report.expect("connected", connected_ == options_.connections, "all connections are accepted",
                  fmt::format("{} of {}", connected_, options_.connections));
    exit_code = control->finish(report);
    return {};
}

}  // namespace

int garbage(std::span<const char* const> arguments) {
    GarbageOptions options;
    OptionTable table("garbage [OPTIONS]",
                      "Opens connections, sends random bytes (some behind a plausible beginning) "
                      "and leaves. A server must "
                      "accept them all and stay well.");
    table.text("--host", "HOST", "server", options.host);
    table.count("--port", "its port, of any protocol over TCP", options.port, 1, 65'535);
    table.count("--connections", "connections in all", options.connections, 1, 10'000'000);
    table.count("--concurrency", "open at a time", options.concurrency, 1, 20'000);
    table.count("--bytes", "most bytes of a connection", options.bytes, 1, 1U << 30);
    table.count("--seed", "of the random bytes", options.seed, 0, 1U << 30);
    options.run.add_to(table);
    Error error = table.parse(arguments);
    if (!error && table.help_wanted()) {
        fmt::print("{}", table.help());
        return kExitPassed;
    }
    int exit_code = kExitUsage;
    if (!error) {
        auto address = resolve(options.host, static_cast<uint16_t>(options.port));
        error = address.ok() ? GarbageRun(options, *address).run(exit_code) : address.take_error();
    }
    if (error) {
        complain(error.message());
    }
    return exit_code;
}

}  // namespace weir::load
