#include "diagnosis/leak_api.h"

#include <algorithm>

#include "base/build.h"
#include "base/strings.h"
#include "io/tcp.h"
#include "io/valgrind_check.h"
#include "net/http/detached_connection.h"
#include "proto/http/request.h"

namespace weir::diagnosis {
namespace {

constexpr std::string_view kValgrindPath = "/api/v1/valgrind";
constexpr std::string_view kLeaksPath = "/api/v1/leaks";
constexpr const char* kBuildValgrind =
    "this build knows nothing of valgrind; build one that does: ./configure --valgrind=on && make, "
    "then start it: valgrind --leak-check=full --log-file=objs/valgrind.log objs/weir -c FILE";
constexpr const char* kStartValgrind =
    "the server does not run under valgrind; start it so: "
    "valgrind --leak-check=full --log-file=objs/valgrind.log objs/weir -c FILE";
constexpr const char* kBuildTool =
    "this build has nothing that finds leaks; build one that has: ./configure --sanitizer=on && "
    "make (or --valgrind=on, or --gperf=on --gmp=on: GET /api/v1/leaks/capabilities)";

std::string names(const std::vector<LeakCheck>& checks) {
    std::string text;
    for (const LeakCheck check : checks) {
        text += (text.empty() ? "" : ", ") + std::string(to_string(check));
    }
    return text;
}

// The checks that every tool has.
std::vector<LeakCheck> common(const std::vector<LeakCheck>& checks) {
    std::vector<LeakCheck> both;
    for (const LeakCheck check : checks) {
        if (check == LeakCheck::kFull || check == LeakCheck::kAdded) {
            both.push_back(check);
        }
    }
    return both;
}

// What stands behind the path of the resource, without slashes.
std::string_view below(const http::Request& request, std::string_view path) {
    std::string_view rest = request.path;
    rest.remove_prefix(std::min(path.size(), rest.size()));
    while (rest.starts_with('/')) {
        rest.remove_prefix(1);
    }
    return rest;
}

std::optional<bool> read_flag(const http::Query& query, std::string_view name, bool otherwise) {
    const std::string_view text = query.get_or(name, otherwise ? "1" : "0");
    if (text == "1" || text == "true") {
        return true;
    }
    return text == "0" || text == "false" ? std::optional(false) : std::nullopt;
}

}  // namespace

LeakApi::LeakApi(const net::ClientTable& clients, net::ServerIdentity identity)
    : clients_(clients), identity_(std::move(identity)) {}

LeakApi::~LeakApi() = default;

Error LeakApi::start(std::unique_ptr<LeakTool> tool, std::function<size_t()> connections) {
    if (!tool) {
        return {};
    }
    LeakChecker::Options options;
    options.clients = [this] { return clients_.size(); };
    options.connections = std::move(connections);
    options.render = [this](uint64_t id, int status, std::string_view text) {
        return body(id, status, text);
    };
    WEIR_TRY_ASSIGN(checker_, LeakChecker::start(std::move(tool), std::move(options)));
    return {};
}

void LeakApi::stop() {
    if (checker_) {
        checker_->stop();
        checker_.reset();
    }
}

void LeakApi::add_to(net::HttpRouter& router) {
    net::HttpRouteOptions json;
    json.errors = http::ErrorFormat::kJson;
    json.access = net::HttpAccess::kAdmin;
    router.add_prefix(std::string(kValgrindPath), json,
                      [this](auto& exchange) { valgrind(exchange); });
    router.add_prefix(std::string(kLeaksPath), json, [this](auto& exchange) { leaks(exchange); });
    router.add_prefix(std::string(kLeaksPath) + "/capabilities", json,
                      [this](auto& exchange) { capabilities(exchange); });
}

void LeakApi::valgrind(net::HttpExchange& exchange) {
    const std::string_view id = below(exchange.request(), kValgrindPath);
    const bool usable = checker_ && checker_->tool().name() == "valgrind";
    if (!usable) {
        (void)exchange.respond_error(501, WEIR_VALGRIND != 0 ? kStartValgrind : kBuildValgrind);
    } else if (!id.empty()) {
        poll(exchange, id, kValgrindPath);
    } else {
        // `new` is a check of valgrind's, so it is known here; whether the tool has it comes after.
        check(exchange, {kLeakChecks.begin(), kLeakChecks.end()});
    }
}

void LeakApi::leaks(net::HttpExchange& exchange) {
    const std::string_view id = below(exchange.request(), kLeaksPath);
    if (!checker_) {
        (void)exchange.respond_error(501, WEIR_VALGRIND != 0 ? kStartValgrind : kBuildTool);
    } else if (!id.empty()) {
        poll(exchange, id, kLeaksPath);
    } else {
        check(exchange, common(checker_->tool().checks()));
    }
}

void LeakApi::capabilities(net::HttpExchange& exchange) {
    net::Json tools = net::Json::array();
    for (const LeakToolInfo& tool : leak_tools()) {
        tools.push_back({{"name", tool.name},
                         {"built", tool.built},
                         {"usable", tool.usable},
                         {"checks", tool.checks},
                         {"commands", tool.commands}});
    }
    const LeakThresholds thresholds;
    net::Json json = net::envelope(identity_);
    json["data"] = {{"build", kBuildFlags}, {"tool", nullptr}, {"checks", net::Json::array()}};
    if (checker_) {
        json["data"]["tool"] = checker_->tool().name();
        for (const LeakCheck check : checker_->tool().checks()) {
            json["data"]["checks"].push_back(to_string(check));
        }
    }
    json["data"]["thresholds"] = {{"lost_bytes", thresholds.lost_bytes},
                                  {"possibly_bytes", thresholds.possibly_bytes},
                                  {"growing_bytes", thresholds.growing_bytes},
                                  {"growing_checks", thresholds.growing_checks}};
    json["data"]["tools"] = std::move(tools);
    answer(exchange, json);
}

void LeakApi::check(net::HttpExchange& exchange, const std::vector<LeakCheck>& checks) {
    const http::Request& request = exchange.request();
    if (request.is_head()) {
        (void)exchange.respond_error(405, "a check is asked for by GET", {{"Allow", "GET"}});
        return;
    }
    const std::optional<LeakCheck> wanted = parse_leak_check(request.query.get_or("check", "full"));
    if (!wanted || std::ranges::find(checks, *wanted) == checks.end()) {
        (void)exchange.respond_error(400, "check must be one of: " + names(checks));
        return;
    }
    const std::optional<bool> wait = read_flag(request.query, "wait", true);
    if (!wait) {
        (void)exchange.respond_error(400, "wait must be 1 (the default) or 0");
        return;
    }
    const std::vector<LeakCheck> able = checker_->tool().checks();
    if (std::ranges::find(able, *wanted) == able.end()) {
        (void)exchange.respond_error(
            501, fmt::format("check={} needs valgrind 3.21 or later, and the one that this server "
                             "was built with is older; it has: {}",
                             to_string(*wanted), names(able)));
        return;
    }
    const LeakChecker::Visit visit(*checker_);
    const Result<uint64_t> id = checker_->submit(*wanted);
    if (!id.ok()) {
        (void)exchange.respond_error(503, id.error().message(), {{"Retry-After", "5"}});
        return;
    }
    // From here on the connection is not the HTTP server's: its memory must be gone before the
    // check, and a connection that is kept open would be there.
    const std::string_view path = request.path.starts_with(kLeaksPath) ? kLeaksPath : kValgrindPath;
    net::DetachedConnection connection = exchange.detach();
    // What encrypts a connection cannot be put away for the time of the check: it asks again.
    if (*wait && !connection.stream->encrypted()) {
        if (Error failed = checker_->attach(*id, connection)) {
            const std::string text = body(*id, 500, failed.message());
            answer_and_close(*connection.stream, 500, text);
        }
        return;
    }
    const std::string location = fmt::format("{}/{}", path, *id);
    answer_and_close(*connection.stream, 202, queued_body(*id, path), {{"Location", location}});
}

void LeakApi::poll(net::HttpExchange& exchange, std::string_view id, std::string_view path) {
    const std::optional<uint64_t> number = parse_uint(id);
    const LeakChecker::State state =
        number ? checker_->state(*number) : LeakChecker::State::kUnknown;
    if (state == LeakChecker::State::kUnknown) {
        (void)exchange.respond_error(
            404, fmt::format("no check with that id; {} answers are kept, and those that were read "
                             "go first",
                             kKeptLeakAnswers));
        return;
    }
    const LeakChecker::Visit visit(*checker_);
    const std::optional<LeakStore::AnswerView> kept = checker_->find(*number);
    const int status = kept ? kept->status : 202;
    const std::string text =
        kept ? body(*number, kept->status, kept->text) : queued_body(*number, path);
    if (exchange.request().is_head()) {
        (void)exchange.respond(status, "application/json", text);
        return;
    }
    // As above: a check may be next in the queue.
    const net::DetachedConnection connection = exchange.detach();
    if (answer_and_close(*connection.stream, status, text) && status != 202) {
        checker_->mark_read(*number);
    }
}

// The data is JSON already and may be long, so it is not parsed again.
std::string LeakApi::body(uint64_t id, int status, std::string_view text) const {
    if (status != 200) {
        return http::http_error_body(http::ErrorFormat::kJson, status, text).body;
    }
    std::string head = net::dumped(net::envelope(identity_));
    head.pop_back();
    return fmt::format("{},\"data\":{{\"id\":\"{}\",\"state\":\"done\",{}}}\n", head, id,
                       text.substr(1));
}

std::string LeakApi::queued_body(uint64_t id, std::string_view path) const {
    net::Json json = net::envelope(identity_);
    json["data"] = {
        {"id", std::to_string(id)}, {"state", "queued"}, {"poll", fmt::format("{}/{}", path, id)}};
    return net::dumped(json) + "\n";
}

}  // namespace weir::diagnosis
