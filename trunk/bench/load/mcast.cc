// weir-bench mcast: senders of multicast groups, and receivers of them over HTTP or by joining.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>

#include "io/deadline.h"

#include "bench/load/core/condition.h"
#include "bench/load/core/udp_drops.h"
#include "bench/load/core/units.h"
#include "bench/load/load_run.h"
#include "bench/load/mcast_client.h"
#include "bench/load/mcast_sender.h"
#include "bench/load/run_control.h"
#include "bench/load/subcommand.h"
#include "bench/load/usage_probe.h"

namespace weir::load {
namespace {

constexpr size_t kBuffer = 256 * 1024;  // of all clients
constexpr Millis kTick{200};
constexpr uint32_t kMaxClients = 100'000;

struct McastOptions {
    RunOptions run;
    McastShape shape;
    std::string url = "http://127.0.0.1:8080";
    uint32_t clients = 1;  // of each group
    Millis ramp{0};
    Millis settle{1'000};
    bool join = false;
    bool send = true;

    McastOptions() {
        shape.bits_per_second = 8'000'000;
        run.duration = Millis(10'000);
    }

    uint64_t receivers() const { return uint64_t{clients} * shape.groups; }

    void add_to(OptionTable& table);
};

void McastOptions::add_to(OptionTable& table) {
    table.text("--group", "GROUP:PORT", "the first group", shape.first);
    table.count("--groups", "groups, one address after the other", shape.groups, 1, 10'000);
    table.bit_rate("--rate", "bit rate of the TS packets of each group", shape.bits_per_second);
    table.flag("--rtp", "RTP, and by default /rtp/ instead of /udp/", shape.rtp);
    table.flag("--smooth", "each datagram at its time, not those of a tick together", shape.smooth);
    table.duration("--tick", "how often the due datagrams leave", shape.tick);
    table.text("--interface", "NAME", "network interface of the groups, by name or address",
               shape.interface);
    table.flag("--no-send", "somebody else sends", send, false);
    table.text("--url", "URL",
               "gateway; GROUP:PORT is put behind its path, which is /udp/ or /rtp/ unless given",
               url);
    table.flag("--join", "clients are members of the group themselves, without a gateway", join);
    table.count("--clients", "receivers of each group; 0: only send", clients, 0, kMaxClients);
    table.duration("--ramp", "time over which the clients are started", ramp);
    table.duration("--settle", "time between everybody's first packet and the measurement", settle);
    run.add_to(table);
    run.add_checks_to(table);
}

// What a gateway is asked for a group.
struct Gateway {
    io::SocketAddress address;
    std::string authority;
    std::string before;  // of the path
    std::string query;   // with its '?'

    std::string request(const net::GroupAddress& group) const {
        return fmt::format(
            "GET {}{}{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: weir-bench\r\n\r\n", before,
            net::GroupAddress{.to = group.to, .source = group.source, .interface = {}}.to_string(),
            query, authority);
    }
};

Result<Gateway> find_gateway(const McastOptions& options) {
    WEIR_TRY_ASSIGN(const Url url, parse_url(options.url));
    if (url.scheme != "http") {
        return make_error(ErrorCode::kUnsupported, "--url '{}': expected http://HOST:PORT",
                          options.url);
    }
    Gateway gateway;
    WEIR_TRY_ASSIGN(gateway.address, resolve(url.host, url.port));
    gateway.authority = url.authority();
    const size_t query = std::min(url.path.find('?'), url.path.size());
    gateway.before = url.path.substr(0, query);
    gateway.query = url.path.substr(query);
    if (gateway.before.size() <= 1) {
        gateway.before = options.shape.rtp ? "/rtp/" : "/udp/";
    } else if (!gateway.before.ends_with('/')) {
        gateway.before += '/';
    }
    return gateway;
}

class McastRun {
  public:
    explicit McastRun(const McastOptions& options)
        : options_(options),
          buffer_(kBuffer),
          report_("mcast",
                  options.join || options.clients == 0 ? options.shape.first : options.url) {}

    Error run(int& exit_code);

  private:
    struct Seen {
        McastCounts media;
        uint64_t connected = 0;
        uint64_t playing = 0;
        uint64_t broken = 0;
        uint64_t refused = 0;
        uint64_t kernel_drops = 0;
        uint64_t backlog_drops = 0;
        uint64_t strange = 0;
        std::map<std::string, uint64_t> failures;
    };

    Error prepare();
    Error start_clients();
    void play();
    bool all_have_media() const;
    void wait(Millis time, std::string_view phase, bool until_media = false);
    Seen look() const;
    uint64_t server_drops() const;
    static uint64_t lost_in_backlog();
    void make_report(const Seen& begin, const Seen& end);
    void add_sender(const McastSender::Counts& begin, const McastSender::Counts& end);
    void add_media(const Seen& end, uint64_t window_bytes);
    void add_conditions(const Seen& end);
    void set_metrics(const Seen& end, uint64_t window_bytes);

    const McastOptions& options_;
    Bytes buffer_;
    Report report_;
    std::unique_ptr<RunControl> control_;
    std::optional<UsageProbe> usage_;
    std::unique_ptr<McastSender> sender_;
    uint64_t backlog_before_ = lost_in_backlog();
    Gateway gateway_;
    SourceAddresses sources_;
    std::vector<Expression> expected_;
    McastTotals totals_;
    std::vector<std::unique_ptr<McastClient>> clients_;
    McastSender::Counts sent_begin_;
    McastSender::Counts sent_end_;
    MetricValues metrics_;
    uint64_t window_ns_ = 0;
};

Error McastRun::run(int& exit_code) {
    WEIR_TRY(prepare());
    if (sender_) {
        WEIR_TRY(sender_->start());
    }
    Error started = start_clients();
    if (!started) {
        play();
        exit_code = control_->finish(report_);
    }
    for (auto& each : clients_) {
        each->stop();
    }
    return started;
}

Error McastRun::prepare() {
    WEIR_TRY(ensure_descriptors(options_.receivers()));
    for (const std::string& each : options_.run.expect) {
        WEIR_TRY_ASSIGN(Expression condition, parse_condition(each, options_.run, "--expect"));
        expected_.push_back(std::move(condition));
    }
    WEIR_TRY_ASSIGN(control_, RunControl::create(options_.run));
    WEIR_TRY_ASSIGN(usage_, UsageProbe::create(options_.run.server_pid, options_.run.server_api));
    for (uint32_t i : {0U, options_.shape.groups - 1}) {
        if (auto group = mcast_group(options_.shape, i); !group.ok()) {
            return group.take_error();
        }
    }
    if (options_.send) {
        WEIR_TRY_ASSIGN(sender_, McastSender::create(options_.shape));
    }
    if (!options_.join && options_.clients > 0) {
        WEIR_TRY_ASSIGN(gateway_, find_gateway(options_));
        sources_ = SourceAddresses(gateway_.address);
    }
    usage_->before_players();
    return {};
}

Error McastRun::start_clients() {
    const uint64_t all = options_.receivers();
    const MonoTime begin = MonoClock::now();
    for (uint64_t i = 0; i < all && !control_->stopped(); i++) {
        const auto number = static_cast<uint32_t>(i % options_.shape.groups);
        WEIR_TRY_ASSIGN(net::GroupAddress group, mcast_group(options_.shape, number));
        if (options_.join) {
            clients_.push_back(std::make_unique<McastMember>(number, totals_, std::move(group)));
        } else {
            clients_.push_back(std::make_unique<McastHttpClient>(
                number, totals_, gateway_.address, gateway_.request(group),
                sources_.of(static_cast<uint32_t>(i)), buffer_));
        }
        WEIR_TRY(clients_.back()->start(io::Deadline::after(options_.run.connect_timeout)));
        if (options_.ramp.count() > 0) {
            const auto passed = static_cast<int64_t>(i + 1) * Micros(options_.ramp).count();
            control_->wait_until(
                io::Deadline::at(begin + Micros(passed / static_cast<int64_t>(all))));
        }
    }
    return {};
}

void McastRun::play() {
    if (!clients_.empty()) {
        wait(options_.run.connect_timeout, "waiting for first packets", true);
        wait(options_.settle, "settling");
    }
    for (auto& each : clients_) {
        each->check().set_measuring(true);
    }
    usage_->window_begins();
    const Seen begin = look();
    sent_begin_ = sender_ ? sender_->counts() : McastSender::Counts();
    const uint64_t began = now_ns();
    wait(options_.run.duration.count() > 0 ? options_.run.duration : Millis(24 * 3600 * 1000),
         "measuring");
    window_ns_ = now_ns() - began;
    sent_end_ = sender_ ? sender_->counts() : McastSender::Counts();
    const Seen end = look();
    usage_->window_ends();
    make_report(begin, end);
}

bool McastRun::all_have_media() const {
    return std::ranges::all_of(clients_,
                               [](const auto& each) { return each->has_media() || each->ended(); });
}

void McastRun::wait(Millis time, std::string_view phase, bool until_media) {
    const io::Deadline end = io::Deadline::after(time);
    uint64_t bytes = look().media.bytes;
    uint64_t at = now_ns();
    while (!control_->stopped() && !end.passed() && !(until_media && all_have_media())) {
        const io::Deadline next = io::Deadline::after(kTick);
        control_->wait_until(next.time() < end.time() ? next : end);
        const uint64_t now = now_ns();
        if (now - at >= 1'000'000'000) {
            const Seen seen = look();
            control_->progress(fmt::format(
                "{}: {} of {} playing, {}, lost {}, wrong {}", phase, seen.playing, clients_.size(),
                bit_rate_text(static_cast<double>(seen.media.bytes - bytes) * 8e9 /
                              static_cast<double>(now - at)),
                seen.media.lost, seen.media.wrong()));
            bytes = seen.media.bytes;
            at = now;
            usage_->now();
        }
    }
}

McastRun::Seen McastRun::look() const {
    Seen seen;
    for (const auto& each : clients_) {
        seen.media.add(each->check().counts());
        seen.connected += each->connected() ? 1U : 0U;
        seen.playing += each->has_media() && !each->ended() ? 1U : 0U;
        seen.kernel_drops += each->kernel_drops();
        seen.strange += each->strange_datagrams();
        if (each->ended()) {
            (each->has_media() ? seen.broken : seen.refused)++;
            seen.failures[each->why()]++;
        }
    }
    seen.kernel_drops += server_drops();
    seen.backlog_drops = lost_in_backlog() - backlog_before_;
    return seen;
}

uint64_t McastRun::lost_in_backlog() {
    std::ifstream file("/proc/net/softnet_stat");
    return backlog_drops(std::string{std::istreambuf_iterator<char>(file), {}});
}

// Of the server's sockets of these groups; they are as old as its membership.
uint64_t McastRun::server_drops() const {
    if (options_.run.server_pid == 0) {
        return 0;
    }
    uint64_t sum = 0;
    const auto first = net::GroupAddress::parse(options_.shape.first);
    for (const char* table : {"udp", "udp6"}) {
        std::ifstream file(fmt::format("/proc/{}/net/{}", options_.run.server_pid, table));
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        sum += udp_drops(text, first.ok() ? first->to.port() : 0);
    }
    return sum;
}

void McastRun::make_report(const Seen& begin, const Seen& end) {
    const uint64_t window_bytes = end.media.bytes - begin.media.bytes;
    if (sender_) {
        add_sender(sent_begin_, sent_end_);
    }
    if (!clients_.empty()) {
        add_media(end, window_bytes);
    }
    usage_->add_to(report_, end.playing, static_cast<double>(window_bytes) * 8);
    set_metrics(end, window_bytes);
    report_.attach("metrics", metrics_.to_json("  "));
    if (options_.run.default_conditions) {
        add_conditions(end);
    }
    for (const Expression& each : expected_) {
        report_.expect("expect", each.holds(metrics_).value_or(false), each.text(),
                       each.found(metrics_));
    }
}

void McastRun::add_sender(const McastSender::Counts& begin, const McastSender::Counts& end) {
    const double seconds = std::max(static_cast<double>(window_ns_) / 1e9, 1e-9);
    const auto datagrams = static_cast<double>(end.datagrams - begin.datagrams);
    ReportSection& section = report_.section("sender", "sender, in the window");
    section.count("groups", "groups", options_.shape.groups);
    section.text("how", "datagrams",
                 fmt::format("{}, {}", options_.shape.rtp ? "RTP" : "UDP",
                             options_.shape.smooth
                                 ? std::string("each at its time")
                                 : fmt::format("ticks of {} ms", options_.shape.tick.count())));
    section.number("datagrams_per_second", "datagrams", datagrams / seconds, "per second", 0);
    section.rate("bits_per_second", "TS packets, all groups",
                 datagrams * static_cast<double>(McastStream::kPayload) * 8 / seconds);
    section.count("refused", "not taken by the kernel", end.refused);
    section.count("late", "turns late by 5 ms", end.late - begin.late);
    section.number("worst_late_ms", "latest turn", static_cast<double>(end.worst_ns) / 1e6, "ms",
                   1);
}

void McastRun::add_media(const Seen& end, uint64_t window_bytes) {
    ReportSection& clients = report_.section("clients", "clients");
    clients.count("asked", "asked for", clients_.size());
    clients.count("connected", options_.join ? "joined" : "connected", end.connected);
    clients.count("playing", "playing at the end", end.playing);
    clients.count("refused", "never played, and ended", end.refused);
    clients.count("broken", "ended while playing", end.broken);
    clients.distribution("connect_ms", "connecting", totals_.connect);
    clients.distribution("first_byte_ms", "first packet after the request", totals_.first_byte);
    size_t number = 0;
    for (const auto& [why, count] : end.failures) {
        clients.text(fmt::format("failure_{}", ++number), fmt::format("{} x", count), why);
    }
    ReportSection& media = report_.section("media", "TS packets, of all clients");
    media.rate("bits_per_second", "received in the window",
               static_cast<double>(window_bytes) * 8e9 /
                   static_cast<double>(std::max<uint64_t>(window_ns_, 1)));
    media.count("bytes", "bytes", end.media.bytes);
    media.count("packets", "packets", end.media.packets);
    media.count("stamped", "of them checked by their stamps", end.media.stamped);
    media.count("lost", "lost", end.media.lost);
    media.count("duplicated", "twice or late", end.media.repeated);
    media.count("foreign", "of another group", end.media.foreign);
    media.count("corrupted", "places without a packet", end.media.no_packets);
    media.count("restarts", "times that another sender began", end.media.restarts);
    media.count("jumps", "continuity counters that jumped", end.media.jumps);
    media.count("kernel_drops", "datagrams dropped by the receiver's kernel", end.kernel_drops);
    media.count("backlog_drops", "packets of this machine that no processor had room for",
                end.backlog_drops);
    media.count("strange", "datagrams that are no transport stream", end.strange);
    ReportSection& latency =
        report_.section("latency", "delay of packets sent after the join, in the window");
    latency.distribution("all_ms", "sending to arrival", totals_.delay);
}

void McastRun::add_conditions(const Seen& end) {
    if (sender_) {
        report_.expect("sent", sent_end_.refused == 0, "the kernel takes every datagram",
                       fmt::format("{} were refused", sent_end_.refused));
    }
    if (clients_.empty()) {
        return;
    }
    report_.expect("connected", end.connected == clients_.size(), "all clients connect",
                   fmt::format("{} of {}", end.connected, clients_.size()));
    report_.expect("playing", end.playing == clients_.size(), "all clients receive packets",
                   fmt::format("{} of {}", end.playing, clients_.size()));
    const bool stamped = end.media.stamped > 0;
    const uint64_t lost = stamped ? end.media.lost : end.media.jumps;
    report_.expect("lost", lost == 0, "no packet is lost",
                   fmt::format("{} {}", lost, stamped ? "were" : "counters jumped"));
    report_.expect("corrupted", end.media.wrong() == 0,
                   "none comes twice, late, cut or from another group",
                   fmt::format("{} do", end.media.wrong()));
}

void McastRun::set_metrics(const Seen& end, uint64_t window_bytes) {
    usage_->add_to(metrics_);
    metrics_.set("clients.wanted", static_cast<double>(clients_.size()));
    metrics_.set("clients.connected", static_cast<double>(end.connected));
    metrics_.set("clients.refused", static_cast<double>(end.refused));
    metrics_.set("clients.broken", static_cast<double>(end.broken));
    metrics_.set("clients.playing", static_cast<double>(end.playing));
    metrics_.set("loss", static_cast<double>(end.media.lost));
    metrics_.set("duplicated", static_cast<double>(end.media.repeated));
    metrics_.set("corrupted", static_cast<double>(end.media.foreign + end.media.no_packets));
    metrics_.set_times("latency", totals_.delay);
    metrics_.set_times("connect", totals_.connect);
    metrics_.set_times("first_byte", totals_.first_byte);
    const double rate = static_cast<double>(window_bytes) * 8e9 /
                        static_cast<double>(std::max<uint64_t>(window_ns_, 1));
    metrics_.set("rate", rate);
    if (sender_) {
        const double expected = static_cast<double>(options_.shape.bits_per_second) *
                                static_cast<double>(clients_.size());
        metrics_.set("rate.expected", expected);
        if (expected > 0) {
            metrics_.set("rate.ratio", rate / expected);
        }
    }
}

}  // namespace

int mcast(std::span<const char* const> arguments) {
    McastOptions options;
    OptionTable table("mcast [OPTIONS]",
                      "Sends transport streams to multicast groups, and receives them over HTTP "
                      "from a gateway (GET /udp/GROUP:PORT) or by joining. Every TS packet is "
                      "checked by the number and the time in it.");
    options.add_to(table);
    Error error = table.parse(arguments);
    if (!error && table.help_wanted()) {
        fmt::print("{}", table.help());
        return kExitPassed;
    }
    int exit_code = kExitUsage;
    if (!error && options.shape.tick.count() == 0) {
        error = make_error(ErrorCode::kMalformed, "--tick: expected at least 1ms");
    }
    if (!error && !options.run.html.empty()) {
        error = make_error(ErrorCode::kUnsupported, "--report: there is none of this subcommand");
    }
    if (!error) {
        error = std::make_unique<McastRun>(options)->run(exit_code);  // too large for the stack
    }
    if (error) {
        complain(error.message());
    }
    return exit_code;
}

}  // namespace weir::load
