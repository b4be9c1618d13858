#include "session/ts/address_gateway.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "io/udp.h"
#include "net/source/asked_stream.h"
#include "proto/http/target.h"
#include "session/ts/carried_muxer.h"
#include "session/ts/ts_http.h"

namespace weir::session {
namespace {

// What a query has for this server.
constexpr std::string_view kOwnParameters[] = {"key", "token", "vhost"};

// What is wrong with an address, whatever the configuration says.
Error check(const net::GroupAddress& group) {
    if (!group.is_group()) {
        return make_error(ErrorCode::kMalformed,
                          "{} is no multicast group (224.0.0.0 to 239.255.255.255, ff00::/8)",
                          group.to.ip_text());
    }
    if (!io::find_interface(group.interface).ok()) {
        return make_error(ErrorCode::kMalformed, "there is no interface {}", group.interface);
    }
    return {};
}

// The address of the path with what the query says of it.
std::string with_options(std::string_view text, const http::Query& query) {
    std::string all(text);
    if (const auto port = query.get("fec")) {
        all += fmt::format("?fec={}", *port);
    }
    return all;
}

// The query of a request, but for what is meant for this server. A slash would end the name's part
// of the stream's key.
std::string query_for_server(const http::Query& query) {
    std::string text;
    for (const auto& [name, value] : query) {
        if (std::ranges::count(kOwnParameters, name) == 0) {
            text += fmt::format("{}{}={}", text.empty() ? "?" : "&", http::percent_encoded(name),
                                http::percent_encoded(value));
        }
    }
    for (size_t at = text.find('/'); at != std::string::npos; at = text.find('/', at)) {
        text.replace(at, 1, "%2F");
    }
    return text;
}

}  // namespace

AddressGateway::AddressGateway(const net::Services& services,
                               ChannelLookup channel,
                               FastChangeHints& hints)
    : policy_(services.policy),
      hints_(hints),
      carried_(services, carried_http_format()),
      remade_(services, ts_http_format()),
      channel_(std::move(channel)),
      check_([&policy = services.policy](const stream::StreamKey& key) {
          return policy.may_bring(key);
      }) {}

void AddressGateway::add_to(net::HttpRouter& router) {
    using Handler = void (AddressGateway::*)(net::HttpExchange&, std::string_view);
    constexpr std::pair<std::string_view, Handler> kRoutes[] = {
        {"/udp", &AddressGateway::handle_group},
        {"/rtp", &AddressGateway::handle_group},
        {"/tv", &AddressGateway::handle_channel},
        {"/rtsp", &AddressGateway::handle_rtsp},
    };
    net::HttpRouteOptions options;
    options.cors = true;
    for (const auto& [prefix, handler] : kRoutes) {
        router.add_prefix(
            std::string(prefix), options,
            [this, size = prefix.size(), handler = handler](net::HttpExchange& exchange) {
                const std::string_view path = exchange.request().path;
                (this->*handler)(exchange, path.substr(std::min(size + 1, path.size())));
            });
    }
}

// What the query says of fast channel change is for the run that this request may begin. Servers
// that may not be named are passed over, as lists of channels name some.
Error AddressGateway::note_fast_change(const stream::StreamKey& key, const http::Query& query) {
    const auto server = query.get("fcc");
    if (!server) {
        return {};
    }
    auto allowed = policy_.fast_change_servers(key);
    if (!allowed) {
        return {};
    }
    WEIR_TRY_ASSIGN(net::FastChangeTarget target,
                    FastChangeHints::parse(*server, query.get_or("fcc-type", "")));
    target.allowed = std::move(allowed);
    hints_.note(MonoClock::now(), key, std::move(target));
    return {};
}

void AddressGateway::handle_group(net::HttpExchange& exchange, std::string_view text) {
    const Result<net::GroupAddress> group =
        net::GroupAddress::parse(with_options(text, exchange.request().query));
    const Error wrong = group.ok()
                            ? check(*group)
                            : make_error(ErrorCode::kMalformed, "{}", group.error().message());
    if (wrong) {
        (void)exchange.respond_error(400, wrong.message());
        return;
    }
    carried_.play(exchange, net::kGroupApp, group->to_string(),
                  [&](const stream::StreamKey& key) -> Error {
                      WEIR_TRY(check_(key));
                      return note_fast_change(key, exchange.request().query);
                  });
}

void AddressGateway::handle_channel(net::HttpExchange& exchange, std::string_view name) {
    const net::GroupAddress* const group = channel_(name);
    if (group == nullptr) {
        (void)exchange.respond_error(
            404, "no channel of the playlist has that name; GET /playlist.m3u lists them");
        return;
    }
    carried_.play(exchange, net::kGroupApp, group->to_string(), check_);
}

// "camera:8554/live/ch1".
void AddressGateway::handle_rtsp(net::HttpExchange& exchange, std::string_view text) {
    const size_t slash = text.rfind('/');
    const std::string_view place = slash == std::string_view::npos ? "" : text.substr(0, slash);
    std::string name(slash == std::string_view::npos ? text : text.substr(slash + 1));
    const std::string app = fmt::format("{}/{}", net::kRtspApp, place);
    name += query_for_server(exchange.request().query);
    const auto asked = net::AskedStream::of({"", app, name});
    if (!asked.ok()) {
        (void)exchange.respond_error(
            400, fmt::format("{}; expected /rtsp/HOST[:PORT]/PATH", asked.error().message()));
        return;
    }
    remade_.play(exchange, app, name, check_);
}

}  // namespace weir::session
