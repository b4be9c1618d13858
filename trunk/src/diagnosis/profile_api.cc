#include "diagnosis/profile_api.h"

#include <unistd.h>

#include "base/log.h"
#include "base/strings.h"
#include "io/deadline.h"
#include "io/tcp.h"
#include "net/http/detached_connection.h"
#include "proto/http/request.h"

namespace weir::diagnosis {
namespace {

constexpr size_t kPartBytes = 256 * 1024;  // of a profile that is being sent
constexpr const char* kNoCpuProfiler =
    "this build has no CPU profiler; build one with: ./configure --gperf=on && make";
constexpr const char* kNoHeapProfiler =
    "this build has no heap profiler; build one with: ./configure --gperf=on && make";

int status_of(const Error& error) {
    switch (error.code()) {
        case ErrorCode::kBusy:
        case ErrorCode::kNotFound: return 409;
        case ErrorCode::kUnsupported: return 501;
        case ErrorCode::kLimit: return 503;
        default: return 500;
    }
}

http::Fields fields_of(const char* kind) {
    return {
        {"Content-Disposition", fmt::format("attachment; filename=\"weir.{}.{}\"", getpid(), kind)},
        {"Cache-Control", "no-store"}};
}

// Whether the request is for the very path, and by GET: what these handlers do is no HEAD's
// business. Answers it otherwise.
bool is_ours(net::HttpExchange& exchange, std::string_view path) {
    if (exchange.request().path != path) {
        (void)exchange.respond_error(404, "there are profiles of cpu and of heap");
        return false;
    }
    if (exchange.request().is_head()) {
        (void)exchange.respond_error(405, "a profile is asked for by GET", {{"Allow", "GET"}});
        return false;
    }
    return true;
}

// The coroutine of a handler that was asked to stop writes nothing any more by itself: what the
// socket takes at once must do.
void answer_stopping(net::HttpExchange& exchange) {
    const http::ErrorBody error =
        http::http_error_body(http::ErrorFormat::kJson, 503, "the server is stopping");
    const std::string bytes =
        http::http_response_head(503, {{"Content-Type", error.content_type},
                                       {"Content-Length", std::to_string(error.body.size())},
                                       {"Connection", "close"}}) +
        error.body;
    const net::DetachedConnection connection = exchange.detach();
    (void)connection.stream->try_write(as_bytes(bytes));
}

}  // namespace

ProfileApi::ProfileApi(net::ServerIdentity identity, io::WorkerPool& workers)
    : identity_(std::move(identity)), workers_(workers) {}

void ProfileApi::add_to(net::HttpRouter& router) {
    net::HttpRouteOptions json;
    json.errors = http::ErrorFormat::kJson;
    json.access = net::HttpAccess::kAdmin;
    const auto add = [&](const char* path, auto handler) {
        router.add_prefix(path, json, [this, path, handler](net::HttpExchange& exchange) {
            if (is_ours(exchange, path)) {
                (this->*handler)(exchange);
            }
        });
    };
    add("/api/v1/profile", &ProfileApi::list);
    add("/api/v1/profile/cpu", &ProfileApi::cpu);
    add("/api/v1/profile/heap", &ProfileApi::heap);
}

void ProfileApi::list(net::HttpExchange& exchange) {
    net::Json body = net::envelope(identity_);
    body["data"] = {
        {"build", kBuildFlags},
        {"cpu",
         {{"available", kHasCpuProfiler},
          {"running", cpu_profile_running()},
          {"file", cpu_profile_path()},
          {"ended_because", cpu_profile_ended()}}},
        {"heap", {{"available", kHasHeapProfiler}, {"running", heap_profile_running()}}}};
    answer(exchange, body);
}

void ProfileApi::send_cpu(net::HttpExchange& exchange, Result<CpuProfileFile> profile) {
    Error failed;
    if (profile.ok()) {
        Error refused = workers_.run([&] { failed = profile->measure(); });
        failed = refused ? std::move(refused) : std::move(failed);
    } else {
        failed = std::move(profile).take_error();
    }
    if (failed) {
        (void)exchange.respond_error(status_of(failed), failed.message());
        return;
    }
    failed = exchange.begin(200, "application/octet-stream", profile->size(), fields_of("gcp"));
    Bytes part(kPartBytes);
    for (uint64_t at = 0; !failed && at < profile->size();) {
        Result<size_t> got = size_t{0};
        if (Error refused = workers_.run([&] { got = profile->read(at, part); })) {
            got = std::move(refused);
        }
        if (!got.ok() || *got == 0) {
            log::warn("CPU profile cut off at {} of {} bytes: {}", at, profile->size(),
                      got.ok() ? "its file has become shorter" : got.error().message());
            return;  // the connection ends, which tells the client
        }
        failed = exchange.write(ByteSpan(part).first(*got));
        at += *got;
    }
}

void ProfileApi::send_heap(net::HttpExchange& exchange, const Result<std::string>& profile) {
    if (!profile.ok()) {
        (void)exchange.respond_error(status_of(profile.error()), profile.error().message());
        return;
    }
    (void)exchange.respond(200, "application/octet-stream", *profile, fields_of("heap"));
}

void ProfileApi::cpu(net::HttpExchange& exchange) {
    const http::Query& query = exchange.request().query;
    const std::string_view action = query.get_or("action", "");
    if (!kHasCpuProfiler) {
        (void)exchange.respond_error(501, kNoCpuProfiler);
    } else if (action.empty()) {
        const auto seconds =
            parse_uint(query.get_or("seconds", std::to_string(kDefaultSeconds)), 1, kMaxSeconds);
        if (!seconds) {
            (void)exchange.respond_error(
                400, fmt::format("seconds must be a number of 1 to {}", kMaxSeconds));
        } else {
            timed_cpu(exchange, *seconds);
        }
    } else if (action == "start") {
        if (Error failed = start_cpu_profile("")) {
            (void)exchange.respond_error(status_of(failed), failed.message());
        } else {
            list(exchange);
        }
    } else if (action == "dump") {
        send_cpu(exchange, dump_cpu_profile());
    } else if (action == "stop") {
        Result<CpuProfileFile> profile = stop_cpu_profile();
        timed_stopped_.notify_all();
        send_cpu(exchange, std::move(profile));
    } else {
        (void)exchange.respond_error(
            400,
            "action must be start, dump or stop; without it, seconds=N makes a profile of N s");
    }
}

void ProfileApi::timed_cpu(net::HttpExchange& exchange, uint64_t seconds) {
    if (Error failed = start_cpu_profile("")) {
        (void)exchange.respond_error(
            status_of(failed), timed_
                                   ? "a CPU profile is being made for another request; ask again "
                                     "when it is done, or end it with ?action=stop"
                                   : failed.message());
        return;
    }
    timed_ = true;
    const Error ended = timed_stopped_.wait_until(
        io::Deadline::after(std::chrono::seconds(static_cast<int64_t>(seconds))));
    timed_ = false;
    if (!ended) {
        (void)exchange.respond_error(409, "the profile was ended by ?action=stop, which got it");
        return;
    }
    Result<CpuProfileFile> profile = stop_cpu_profile();
    if (ended.code() == ErrorCode::kTimeout) {
        send_cpu(exchange, std::move(profile));
    } else {
        answer_stopping(exchange);
    }
}

void ProfileApi::heap(net::HttpExchange& exchange) {
    const std::string_view action = exchange.request().query.get_or("action", "dump");
    if (!kHasHeapProfiler) {
        (void)exchange.respond_error(501, kNoHeapProfiler);
    } else if (action == "start") {
        if (Error failed = start_heap_profile("gperf.weir.gmp")) {
            (void)exchange.respond_error(status_of(failed), failed.message());
        } else {
            list(exchange);
        }
    } else if (action == "dump") {
        send_heap(exchange, dump_heap_profile());
    } else if (action == "stop") {
        send_heap(exchange, stop_heap_profile());
    } else {
        (void)exchange.respond_error(400, "action must be start, dump or stop");
    }
}

}  // namespace weir::diagnosis
