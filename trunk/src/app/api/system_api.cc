// The process and the machine: versions, summaries, what the kernel counts, and /metrics.
#include <string>

#include <unistd.h>

#include "app/api/health_monitor.h"
#include "app/api/http_api.h"
#include "app/run/cpu_affinity.h"
#include "base/build.h"
#include "base/version.h"
#include "io/runtime.h"
#include "net/client_table.h"
#include "net/fanout.h"
#include "stream/registry.h"

namespace weir::app {
namespace {

constexpr const char* kProgram = "Weir";
constexpr uint64_t kKibi = 1024;

// A process may have no arguments to show: "weir".
std::string command_line() {
    std::string text = read_proc_file("/proc/self/cmdline").substr(0, 512);
    for (char& c : text) {
        c = c == '\0' ? ' ' : c;
    }
    while (text.ends_with(' ')) {
        text.pop_back();
    }
    return text;
}

double share(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

net::Json self_json(const SystemFigures& figures, double uptime_s, double cpu) {
    const double resident_kib = static_cast<double>(figures.process.resident_bytes) / kKibi;
    return {{"version", kVersion},
            {"pid", getpid()},
            {"ppid", getppid()},
            {"argv", command_line()},
            {"mem_kbyte", figures.process.resident_bytes / kKibi},
            {"mem_percent", share(resident_kib, static_cast<double>(figures.memory.total))},
            {"cpu_percent", cpu},
            {"cpu_seconds", figures.process.cpu_seconds},
            {"srs_uptime", uptime_s},
            {"uptime_s", uptime_s},
            {"cpu_affinity", core_list_text(current_cores())},
            {"media_thread_busy", io::busy_share()},
            {"open_descriptors", figures.process.open_descriptors},
            {"max_descriptors", figures.process.max_descriptors}};
}

net::Json system_json(const SystemFigures& figures, size_t connections) {
    return {{"cpu_percent", figures.system_cpu},
            {"disk_read_KBps", figures.disk_read_bps / kKibi},
            {"disk_write_KBps", figures.disk_written_bps / kKibi},
            {"disk_busy_percent", figures.disk_busy},
            {"mem_ram_kbyte", figures.memory.total},
            {"mem_ram_percent", figures.memory.ram_share()},
            {"mem_swap_kbyte", figures.memory.swap_total},
            {"mem_swap_percent", figures.memory.swap_share()},
            {"cpus", figures.cores},
            {"cpus_online", figures.cores_online},
            {"uptime", figures.uptime_s},
            {"idle_time", figures.idle_s},
            {"load_1m", figures.load[0]},
            {"load_5m", figures.load[1]},
            {"load_15m", figures.load[2]},
            {"net_sample_time", figures.wall_ms},
            {"net_recv_bytes", figures.net.received},
            {"net_send_bytes", figures.net.sent},
            {"net_recvi_bytes", figures.net.loopback_received},
            {"net_sendi_bytes", figures.net.loopback_sent},
            {"conn_sys", figures.sockets.all},
            {"conn_sys_et", figures.sockets.tcp},
            {"conn_sys_tw", figures.sockets.tcp_waiting},
            {"conn_sys_udp", figures.sockets.udp},
            {"conn_srs", connections}};
}

int64_t milliseconds(const timeval& time) {
    return int64_t{time.tv_sec} * 1000 + time.tv_usec / 1000;
}

}  // namespace

void HttpApi::use(io::WorkerPool& workers) {
    workers_ = &workers;
    probe_.use(&workers);
}

// False: that was answered.
bool HttpApi::read_system(net::HttpExchange& exchange, SystemFigures& figures) {
    Result<SystemFigures> read = probe_.read();
    if (!read.ok()) {
        (void)exchange.respond_error(
            503, fmt::format("the workers are busy: {}", read.error().message()));
        return false;
    }
    figures = std::move(*read);
    return true;
}

void HttpApi::versions(net::HttpExchange& exchange) {
    net::Json body = net::envelope(identity_);
    body["data"] = {{"major", kVersionMajor},
                    {"minor", kVersionMinor},
                    {"revision", kVersionRevision},
                    {"version", kVersion}};
    answer(exchange, body);
}

void HttpApi::summaries(net::HttpExchange& exchange) {
    SystemFigures figures;
    if (!read_system(exchange, figures)) {
        return;
    }
    const double uptime = static_cast<double>((MonoClock::now() - identity_.started).count()) / 1e6;
    const double cpu =
        health_ != nullptr ? static_cast<double>(health_->newest().cpu) : figures.process_cpu;
    net::Json system = system_json(figures, services_.connections.used());
    const stream::Registry::Traffic traffic = services_.registry.traffic();
    system["srs_sample_time"] = wall_time_ms();
    system["srs_recv_bytes"] = traffic.received;
    system["srs_send_bytes"] = traffic.sent;
    net::Json body = net::envelope(identity_);
    body["data"] = {{"ok", true},
                    {"now_ms", wall_time_ms()},
                    {"self", self_json(figures, uptime, cpu)},
                    {"system", std::move(system)},
                    {"streams", services_.registry.size()},
                    {"clients", services_.clients.size()},
                    {"clients_total", services_.clients.total()},
                    {"connections",
                     {{"used", services_.connections.used()},
                      {"limit", services_.connections.limit()},
                      {"refused", services_.connections.refused()}}}};
    for (const auto& protocol : protocols_.all()) {
        if (net::Json part = protocol->summary(); !part.is_null()) {
            body["data"][std::string(protocol->name())] = std::move(part);
        }
    }
    if (http_port_) {
        body["data"]["http_port"] = http_port_(false);
        body["data"]["https_port"] = http_port_(true);
    }
    for (const auto& [name, part] : summaries_parts_) {
        body["data"][name] = part();
    }
    answer(exchange, body);
}

void HttpApi::rusages(net::HttpExchange& exchange) {
    SystemFigures figures;
    if (!read_system(exchange, figures)) {
        return;
    }
    const rusage& usage = figures.usage;
    net::Json body = net::envelope(identity_);
    body["data"] = {{"ok", true},
                    {"sample_time", figures.wall_ms},
                    {"ru_utime", milliseconds(usage.ru_utime)},
                    {"ru_stime", milliseconds(usage.ru_stime)},
                    {"ru_maxrss", usage.ru_maxrss},
                    {"ru_ixrss", usage.ru_ixrss},
                    {"ru_idrss", usage.ru_idrss},
                    {"ru_isrss", usage.ru_isrss},
                    {"ru_minflt", usage.ru_minflt},
                    {"ru_majflt", usage.ru_majflt},
                    {"ru_nswap", usage.ru_nswap},
                    {"ru_inblock", usage.ru_inblock},
                    {"ru_oublock", usage.ru_oublock},
                    {"ru_msgsnd", usage.ru_msgsnd},
                    {"ru_msgrcv", usage.ru_msgrcv},
                    {"ru_nsignals", usage.ru_nsignals},
                    {"ru_nvcsw", usage.ru_nvcsw},
                    {"ru_nivcsw", usage.ru_nivcsw}};
    answer(exchange, body);
}

void HttpApi::self_proc_stats(net::HttpExchange& exchange) {
    SystemFigures figures;
    if (!read_system(exchange, figures)) {
        return;
    }
    net::Json data = {{"ok", true},
                      {"sample_time", figures.wall_ms},
                      {"percent", figures.process_cpu},
                      {"pid", getpid()}};
    for (const auto& [name, value] : parse_process_stat(figures.process_stat)) {
        data[name] = value;
    }
    net::Json body = net::envelope(identity_);
    body["data"] = std::move(data);
    answer(exchange, body);
}

void HttpApi::system_proc_stats(net::HttpExchange& exchange) {
    SystemFigures figures;
    if (!read_system(exchange, figures)) {
        return;
    }
    const auto& ticks = figures.cpu.ticks;
    net::Json body = net::envelope(identity_);
    body["data"] = {{"ok", true},
                    {"sample_time", figures.wall_ms},
                    {"percent", figures.system_cpu},
                    {"user", ticks[0]},
                    {"nice", ticks[1]},
                    {"sys", ticks[2]},
                    {"idle", ticks[3]},
                    {"iowait", ticks[4]},
                    {"irq", ticks[5]},
                    {"softirq", ticks[6]},
                    {"steal", ticks[7]},
                    {"guest", ticks[8]}};
    answer(exchange, body);
}

void HttpApi::meminfos(net::HttpExchange& exchange) {
    SystemFigures figures;
    if (!read_system(exchange, figures)) {
        return;
    }
    const MemInfo& memory = figures.memory;
    net::Json body = net::envelope(identity_);
    body["data"] = {{"ok", true},
                    {"sample_time", figures.wall_ms},
                    {"percent_ram", memory.ram_share()},
                    {"percent_swap", memory.swap_share()},
                    {"MemActive", memory.active},
                    {"RealInUse", memory.used()},
                    {"NotInUse", memory.available},
                    {"MemTotal", memory.total},
                    {"MemFree", memory.free},
                    {"Buffers", memory.buffers},
                    {"Cached", memory.cached},
                    {"SwapTotal", memory.swap_total},
                    {"SwapFree", memory.swap_free}};
    answer(exchange, body);
}

void HttpApi::authors(net::HttpExchange& exchange) {
    net::Json body = net::envelope(identity_);
    body["data"] = {{"name", kProgram}, {"license", "MIT"}, {"contributors", "The Weir authors"}};
    answer(exchange, body);
}

// By the names that other servers of this field have for them.
void HttpApi::features(net::HttpExchange& exchange) {
    net::Json features = {{"api", true}, {"httpd", true}, {"stat", true}};
    for (const auto& protocol : protocols_.all()) {
        protocol->add_features(features);
    }
    features["metrics"] = true;
    features["sendfile"] = services_.fanout.file_writes().on();
    for (const char* missing : {"hls", "dvr", "transcode", "srt"}) {
        features.emplace(missing, false);
    }
    net::Json body = net::envelope(identity_);
    body["data"] = {{"options", {{"sanitizer", WEIR_ASAN != 0}, {"valgrind", WEIR_VALGRIND != 0}}},
                    {"features", std::move(features)}};
    answer(exchange, body);
}

void HttpApi::metrics(net::HttpExchange& exchange) {
    SystemFigures figures;
    if (!read_system(exchange, figures)) {
        return;
    }
    constexpr size_t kDefaultSeries = 200;
    const MetricsSources from{.services = services_,
                              .protocols = protocols_,
                              .health = health_,
                              .workers = workers_,
                              .process = figures.process,
                              .started = identity_.started,
                              .most_streams = stream_series_ ? stream_series_() : kDefaultSeries};
    (void)exchange.respond(200, "text/plain; version=0.0.4; charset=utf-8",
                           metrics_text(from, metrics_parts_));
}

}  // namespace weir::app
