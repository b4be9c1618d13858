#include "app/processes/process_api.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "app/access/strict_json.h"
#include "app/api/listing.h"
#include "app/processes/answer_merge.h"
#include "app/run/added_sources.h"
#include "base/strings.h"
#include "config/process_config.h"
#include "io/deadline.h"
#include "io/tcp.h"
#include "io/unix_socket.h"
#include "net/placement.h"
#include "proto/http/request.h"

namespace weir::app {
namespace {

constexpr std::string_view kApi = "/api/v1/";
constexpr std::string_view kLive = "/live.json";
constexpr int kMaxDepth = 32;
constexpr size_t kReadBytes = 16 * 1024;

// Collections whose objects are in one process each.
constexpr std::array<std::string_view, 5> kLists = {"streams", "clients", "sources", "calls",
                                                    "recordings"};
constexpr std::string_view kRecordings = "recordings";
// What is counted in each process.
constexpr std::array<std::string_view, 3> kSums = {"summaries", "vhosts", "objects"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

// The target without that parameter of its query.
std::string target_without(std::string_view target, std::string_view parameter) {
    const Halves halves = split_once(target, '?');
    std::string query;
    for (const std::string_view each : split(halves.after, '&')) {
        if (!each.empty() && split_once(each, '=').before != parameter) {
            query += fmt::format("{}{}", query.empty() ? "?" : "&", each);
        }
    }
    return std::string(halves.before) + query;
}

// Which of the answers to an order to record tells most: that of the process that records; that it
// cannot be done; that it is noted; that there is nothing to end.
int weight_of(const http::Response& response) {
    if (response.status >= 400) {
        return response.status == 404 ? 0 : 2;
    }
    const net::Json json = net::parsed(response.body, kMaxDepth);
    return json.is_object() && json.value("recording", net::Json()).is_object() ? 3 : 1;
}

void pass_on(net::HttpExchange& exchange, const http::Response& response) {
    http::Fields fields;
    for (const char* const name : {"Location", "Allow"}) {
        if (const auto value = response.headers.get(name)) {
            fields.add(name, std::string(*value));
        }
    }
    (void)exchange.respond(response.status, response.headers.get("Content-Type").value_or(""),
                           response.body, fields);
}

// Whether there is such a thing is not known.
void refuse_silent(net::HttpExchange& exchange, std::optional<uint32_t> process) {
    (void)exchange.respond_error(
        503, process ? fmt::format("process {} does not answer, and the others do not have it: ask "
                                   "again",
                                   *process)
                     : std::string("no process answers"));
}

}  // namespace

std::string ProcessApi::socket_of(const ProcessLink& link, uint32_t process) {
    return link.address_of(process, "api");
}

bool ProcessApi::serve(net::HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    // Media and pages have rules of their own, which ask who the client is.
    if (request.method == http::Method::kOptions ||
        (request.path != "/metrics" && request.path != kLive && !request.path.starts_with(kApi))) {
        return false;
    }
    std::string_view below =
        request.path.starts_with(kApi) ? std::string_view(request.path).substr(kApi.size()) : "";
    if (below.ends_with('/')) {
        below.remove_suffix(1);  // the same for those that answer
    }
    if (below == "sources" && request.method == http::Method::kPost) {
        return serve_new_source(exchange);
    }
    if (const auto process = request.query.get("process")) {
        const auto index = parse_uint(*process, 0, link_.seat().count - 1);
        if (!index) {
            (void)exchange.respond_error(
                400, fmt::format("process is a number from 0 to {}", link_.seat().count - 1));
            return true;
        }
        // The list of what is live is that of one process by this parameter.
        serve_one(
            exchange, static_cast<uint32_t>(*index),
            request.path == kLive ? request.target : target_without(request.target, "process"));
        return true;
    }
    if (request.path == "/metrics") {
        serve_metrics(exchange);
        return true;
    }
    const Halves parts = split_once(below, '/');
    const bool whole = parts.after.empty();
    const bool reads = request.method == http::Method::kGet || request.is_head();
    if (parts.before == "streams" && !whole && request.method == http::Method::kDelete) {
        serve_sums_found(exchange);
    } else if (below == kRecordings && request.method == http::Method::kPost) {
        serve_told(exchange);
    } else if (parts.before == kRecordings && !whole && request.method == http::Method::kDelete) {
        end_recording(exchange);
    } else if (is_one_of(kLists, parts.before) && !whole) {
        serve_found(exchange);
    } else if (is_one_of(kLists, parts.before) && reads) {
        serve_list(exchange, parts.before);
    } else if ((is_one_of(kSums, below) && reads) ||
               (is_one_of(kLists, below) && request.method == http::Method::kDelete)) {
        serve_sums(exchange);
    } else if (below == "reload" && request.method == http::Method::kPost) {
        reload(exchange);
    } else if (parts.before == "sip" ||
               (below == "calls" && request.method == http::Method::kPost)) {
        serve_one(exchange, net::kSipProcess, request.target);
    } else {
        return false;
    }
    return true;
}

void ProcessApi::serve_one(net::HttpExchange& exchange,
                           uint32_t process,
                           const std::string& target) {
    const Result<http::Response> response =
        ask(process, exchange.request(), target, io::Deadline::after(kLongWait));
    if (!response.ok()) {
        (void)exchange.respond_error(503, fmt::format("process {} does not answer: {}", process,
                                                      response.error().message()));
        return;
    }
    pass_on(exchange, *response);
}

// One that runs always is begun by the home of its stream, and players who want one look there.
// False: the body is wrong, which any process says.
bool ProcessApi::serve_new_source(net::HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    const auto json = parse_strict_object(request.body, kMaxDepth);
    const Result<net::SourceSpec> spec =
        json ? read_source(*json) : make_error(ErrorCode::kMalformed, "no JSON object");
    if (!spec.ok()) {
        return false;
    }
    serve_one(exchange, config::home_of(spec->key, link_.seat().count),
              target_without(request.target, "process"));
    return true;
}

// In whichever process it is.
void ProcessApi::serve_found(net::HttpExchange& exchange) {
    std::optional<http::Response> missing;
    std::optional<uint32_t> silent;
    for (uint32_t i = 0; i < link_.seat().count; i++) {
        Result<http::Response> response =
            ask(i, exchange.request(), exchange.request().target, io::Deadline::after(kAnswerWait));
        if (response.ok() && response->status != 404) {
            pass_on(exchange, *response);
            return;
        }
        if (response.ok()) {
            missing = std::move(*response);
        } else {
            silent = i;
        }
    }
    if (missing && !silent) {
        pass_on(exchange, *missing);
    } else {
        refuse_silent(exchange, missing ? silent : std::nullopt);
    }
}

// Where one runs, the other processes forget that it was ordered: one of them may have the stream
// next.
void ProcessApi::end_recording(net::HttpExchange& exchange) {
    http::Request look;
    look.method = http::Method::kGet;
    net::Json recording;
    uint32_t owner = 0;
    std::optional<uint32_t> silent;
    bool answered = false;
    for (uint32_t i = 0; i < link_.seat().count && !recording.is_object(); i++) {
        const Result<http::Response> response =
            ask(i, look, exchange.request().target, io::Deadline::after(kAnswerWait));
        silent = response.ok() ? silent : i;
        answered = answered || response.ok();
        if (response.ok() && response->status == 200) {
            const net::Json body = net::parsed(response->body, kMaxDepth);
            recording = body.is_object() ? body.value("recording", net::Json()) : net::Json();
            owner = i;
        }
    }
    if (!recording.is_object() && silent) {
        refuse_silent(exchange, answered ? silent : std::nullopt);
        return;
    }
    if (recording.is_object() && recording.value("state", "") == "recording") {
        http::Request stop;
        stop.method = http::Method::kPost;
        stop.headers.add("Content-Type", "application/json");
        stop.body = net::dumped(
            {{"vhost", recording.value("vhost", "")},
             {"stream", recording.value("app", "") + "/" + recording.value("stream", "")},
             {"action", "stop"}});
        for (uint32_t i = 0; i < link_.seat().count; i++) {
            if (i != owner) {
                (void)ask(i, stop, fmt::format("{}{}", kApi, kRecordings),
                          io::Deadline::after(kAnswerWait));
            }
        }
    }
    serve_found(exchange);
}

// In all that have it: a stream is in several, with players in each, when it is relayed.
void ProcessApi::serve_sums_found(net::HttpExchange& exchange) {
    std::vector<ProcessAnswer> answers;
    std::optional<http::Response> refused;
    std::optional<uint32_t> silent;
    for (uint32_t i = 0; i < link_.seat().count; i++) {
        Result<http::Response> response =
            ask(i, exchange.request(), exchange.request().target, io::Deadline::after(kAnswerWait));
        if (!response.ok()) {
            silent = i;
            continue;
        }
        net::Json json = net::parsed(response->body, kMaxDepth);
        if (response->status == 200 && json.is_object()) {
            answers.push_back({i, std::move(json)});
        } else if (!refused || refused->status == 404) {
            refused = std::move(*response);
        }
    }
    if (!answers.empty()) {
        net::answer(exchange, merge_sums(answers));
    } else if (refused && (!silent || refused->status != 404)) {
        pass_on(exchange, *refused);
    } else {
        refuse_silent(exchange, refused ? silent : std::nullopt);
    }
}

void ProcessApi::serve_list(net::HttpExchange& exchange, std::string_view name) {
    const http::Request& request = exchange.request();
    const Result<Page> page = Page::read(request.query);
    if (!page.ok()) {
        (void)exchange.respond_error(400, page.error().message());
        return;
    }
    if (name == kRecordings && page->start >= Page::kMaxCount) {
        (void)exchange.respond_error(
            400, fmt::format("of several processes the first {} are listed together: ask for fewer "
                             "with vhost, app, stream and state, or for ?process=N",
                             Page::kMaxCount));
        return;
    }
    // Each is asked for all that may stand on the page.
    const uint64_t wanted = std::min<uint64_t>(page->start + page->count, Page::kMaxCount);
    std::string target = target_without(target_without(request.target, "start"), "count");
    target += fmt::format("{}count={}", target.find('?') == std::string::npos ? "?" : "&", wanted);
    const std::vector<ProcessAnswer> answers = ask_all(exchange, target, kAnswerWait);
    if (!answers.empty()) {
        net::answer(exchange, name == kRecordings
                                  ? merge_recordings(answers, page->start, wanted - page->start)
                                  : merge_lists(answers, name, page->start, page->count));
    }
}

// All are told: the stream may be published at any of them next.
void ProcessApi::serve_told(net::HttpExchange& exchange) {
    std::optional<http::Response> best;
    for (uint32_t i = 0; i < link_.seat().count; i++) {
        Result<http::Response> response =
            ask(i, exchange.request(), exchange.request().target, io::Deadline::after(kAnswerWait));
        if (response.ok() && (!best || weight_of(*response) > weight_of(*best))) {
            best = std::move(*response);
        }
    }
    if (best) {
        pass_on(exchange, *best);
    } else {
        (void)exchange.respond_error(503, "no process answers");
    }
}

void ProcessApi::serve_sums(net::HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    const bool reads = request.method == http::Method::kGet;
    const std::vector<ProcessAnswer> answers =
        ask_all(exchange, request.target, reads ? kAnswerWait : kLongWait);
    if (!answers.empty()) {
        net::answer(exchange, merge_sums(answers));
    }
}

// Each reads the configuration by itself, so one may refuse what others have taken: the answer says
// which is which.
void ProcessApi::reload(net::HttpExchange& exchange) {
    std::vector<ReloadAnswer> answers;
    for (uint32_t i = 0; i < link_.seat().count; i++) {
        Result<http::Response> response =
            ask(i, exchange.request(), exchange.request().target, io::Deadline::after(kLongWait));
        net::Json json = response.ok() ? net::parsed(response->body, kMaxDepth) : net::Json();
        answers.push_back(json.is_object() ? ReloadAnswer{i, response->status, std::move(json)}
                                           : ReloadAnswer{i, 503, {}});
    }
    const ReloadAnswer merged = merge_reloads(answers);
    (void)exchange.respond(merged.status, "application/json", net::dumped(merged.json) + "\n");
}

// What one cannot do is not done: its refusal is the answer.
std::vector<ProcessAnswer> ProcessApi::ask_all(net::HttpExchange& exchange,
                                               const std::string& target,
                                               Millis wait) const {
    std::vector<ProcessAnswer> answers;
    for (uint32_t i = 0; i < link_.seat().count; i++) {
        const Result<http::Response> response =
            ask(i, exchange.request(), target, io::Deadline::after(wait));
        if (response.ok() && response->status != 200) {
            pass_on(exchange, *response);
            return {};
        }
        net::Json json = response.ok() ? net::parsed(response->body, kMaxDepth) : net::Json();
        if (json.is_object()) {
            answers.push_back({i, std::move(json)});
        }
    }
    if (answers.empty()) {
        (void)exchange.respond_error(503, "no process answers");
    }
    return answers;
}

void ProcessApi::serve_metrics(net::HttpExchange& exchange) {
    std::vector<std::pair<uint32_t, std::string>> texts;
    std::string type = "text/plain";
    for (uint32_t i = 0; i < link_.seat().count; i++) {
        Result<http::Response> response =
            ask(i, exchange.request(), exchange.request().target, io::Deadline::after(kAnswerWait));
        if (response.ok() && response->status == 200) {
            type = response->headers.get("Content-Type").value_or(type);
            texts.emplace_back(i, std::move(response->body));
        }
    }
    (void)exchange.respond(200, type, merge_metrics(texts));
}

void add_processes_to(net::HttpRouter& router,
                      const net::ServerIdentity& identity,
                      const ProcessLink* link,
                      std::function<ProcessFigures()> own) {
    net::HttpRouteOptions json;
    json.errors = http::ErrorFormat::kJson;
    const auto handle = [identity, link, own](net::HttpExchange& exchange) {
        const uint32_t count = link != nullptr ? link->seat().count : 1;
        net::Json list = net::Json::array();
        for (uint32_t i = 0; i < count; i++) {
            const ProcessFigures figures = link != nullptr ? link->figures_of(i) : own();
            list.push_back(
                {{"process", i},
                 {"running", link == nullptr || figures.busy < ProcessFigures::kNotThere},
                 {"busy", static_cast<double>(figures.busy) / ProcessFigures::kNotThere},
                 {"clients", figures.clients},
                 {"streams", figures.streams},
                 {"pid", std::to_string(figures.pid)},
                 {"restarts", figures.restarts}});
        }
        net::Json body = net::envelope(identity);
        body["process"] = link != nullptr ? link->seat().index : 0;
        body["processes"] = std::move(list);
        net::answer(exchange, body);
    };
    router.add_prefix("/api/v1/processes", json, handle);
}

std::vector<std::string> ProcessApi::ask_others(const std::string& target) const {
    const MonoTime end = MonoClock::now() + kPageWait;
    const std::string begin =
        fmt::format("{}{}process=", target, target.find('?') == std::string::npos ? "?" : "&");
    std::vector<std::string> answers;
    for (uint32_t i = 0; i < link_.seat().count; i++) {
        if (i == link_.seat().index || link_.busy_of(i) >= 1.0) {
            continue;
        }
        http::Request request;
        request.method = http::Method::kGet;
        // Each of the rest has its share of the time that is left: one that hangs has not all of
        // it.
        const MonoTime now = MonoClock::now();
        const Micros left = std::max(Micros(end - now), Micros(0));
        const io::Deadline deadline = io::Deadline::at(now + left / (link_.seat().count - i));
        Result<http::Response> response = ask(i, request, begin + std::to_string(i), deadline);
        if (response.ok() && response->status == 200) {
            answers.push_back(std::move(response->body));
        }
    }
    return answers;
}

Result<http::Response> ProcessApi::ask(uint32_t process,
                                       const http::Request& request,
                                       const std::string& target,
                                       io::Deadline deadline) const {
    WEIR_TRY_ASSIGN(const std::unique_ptr<io::TcpStream> stream,
                    io::connect_unix(socket_of(link_, process), deadline));
    http::Request copy;
    copy.method = request.is_head() ? http::Method::kGet : request.method;
    copy.target = target;
    copy.body = request.body;
    copy.headers.add("Host", "localhost");
    copy.headers.add("Connection", "close");
    if (const auto type = request.headers.get("Content-Type")) {
        copy.headers.add("Content-Type", std::string(*type));
    }
    WEIR_TRY(stream->write_all(as_bytes(http::request_text(copy)), deadline));
    http::ResponseLimits limits;
    limits.body_bytes = kMaxAnswerBytes;
    http::ResponseParser parser(limits);
    const auto buffer = std::make_unique<std::array<uint8_t, kReadBytes>>();
    using Status = http::ResponseParser::Status;
    Status status = Status::kNeedMore;
    while (status == Status::kNeedMore) {
        Result<size_t> got = stream->read_some(*buffer, deadline);
        if (!got.ok() && got.error().code() != ErrorCode::kClosed) {
            return got.take_error();
        }
        status = got.ok() ? parser.feed(ByteSpan(*buffer).first(*got)) : parser.end();
    }
    if (status == Status::kError) {
        return parser.take_error();
    }
    return parser.take_response();
}

}  // namespace weir::app
