#include "net/cluster/relay_server.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/log.h"
#include "base/strings.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "io/signal.h"
#include "io/socket_address.h"
#include "net/cluster/relay_node.h"
#include "net/private_streams.h"
#include "proto/http/target.h"
#include "stream/life.h"
#include "stream/registry.h"
#include "stream/stream.h"

namespace weir::net {
namespace {

using Path = std::vector<std::string>;

constexpr size_t kMaxShownHost = 100;  // bytes

bool has_common(const Path& a, const Path& b) {
    return std::ranges::any_of(
        a, [&b](const std::string& node) { return std::ranges::find(b, node) != b.end(); });
}

// Somebody begins to publish that stream.
class Arrival final : private stream::LifeObserver {
  public:
    Arrival(stream::Registry& registry, const stream::StreamKey& key)
        : registry_(registry), key_(key) {
        registry_.observers().add(*this);
    }

    ~Arrival() { registry_.observers().remove(*this); }

    Arrival(const Arrival&) = delete;
    Arrival& operator=(const Arrival&) = delete;

    // Yields.
    void wait(io::Deadline deadline) {
        while (!here_ && !signal_.wait_until(deadline)) {
        }
    }

  private:
    void on_publish(stream::Stream& stream) override {
        if (stream.key() == key_) {
            here_ = true;
            signal_.notify_all();
        }
    }

    stream::Registry& registry_;
    const stream::StreamKey& key_;
    io::Signal signal_;
    bool here_ = false;
};

}  // namespace

bool RelayServer::serve(HttpExchange& exchange, std::string_view app, std::string_view name) {
    const http::Request& request = exchange.request();
    const bool asks = request.query.get_or("relay", "") == "1" ||
                      request.headers.get(cluster::kRelayField).has_value();
    if (!asks || services_.relays == nullptr || secret_of(exchange).empty()) {
        return false;
    }
    if (const std::optional<Asked> asked = read(exchange, app, name)) {
        answer(exchange, *asked);
    }
    return true;
}

const std::string& RelayServer::secret_of(HttpExchange& exchange) const {
    return services_.relays->secret(exchange.by_process());
}

// Who asks and what for; the refusal is answered where it is nothing.
std::optional<RelayServer::Asked> RelayServer::read(HttpExchange& exchange,
                                                    std::string_view app,
                                                    std::string_view name) {
    const RelayNode& relays = *services_.relays;
    const http::Request& request = exchange.request();
    const std::string_view vhost = request.query.get_or("vhost", stream::kDefaultVhost);
    Asked asked{services_.policy.key_of(vhost, app, name), {}};
    const std::string host = log::escaped(request.host, kMaxShownHost);
    Result<cluster::RelayRequest> read = cluster::read_relay_request(
        request.headers.get(cluster::kRelayField).value_or(""), secret_of(exchange),
        request.is_head() ? "HEAD" : "GET", request.host, request.target, wall_time_ms());
    if (!read.ok()) {
        const bool malformed = read.error().code() == ErrorCode::kMalformed;
        refuse(exchange, asked.key, malformed ? RelayRefusal::kMalformed : RelayRefusal::kUnsigned,
               403, fmt::format("{}; it came with the Host \"{}\"", read.error().message(), host));
        return std::nullopt;
    }
    // One that another node got is not shown here. Older nodes do not say whom they ask.
    if (!exchange.by_process() && !read->for_any_host &&
        !relays.is_called(request.host, exchange.local().net_address())) {
        refuse(exchange, asked.key, RelayRefusal::kUnsigned, 403,
               fmt::format("the request is for \"{}\", which is no name of this node: let origin "
                           "name its advertise or server_name, or add a server_name here",
                           host));
        return std::nullopt;
    }
    // Nodes ask for names as they are. What another name was made of has not been asked by rules.
    if (http::percent_decoded(split_once(request.target, '?').before) != request.path) {
        refuse(exchange, asked.key, RelayRefusal::kMalformed, 400, "that is no name of a stream");
        return std::nullopt;
    }
    asked.request = std::move(*read);
    const Path& path = asked.request.path;
    if (std::ranges::find(path, relays.node()) != path.end() || path.size() > relays.max_hops()) {
        refuse(exchange, asked.key, RelayRefusal::kLoop, 508,
               "this would be a circle, or longer than relay_hops");
        return std::nullopt;
    }
    // A vhost that this node does not have is no other name of the default one here.
    const bool is_private =
        services_.private_streams != nullptr && services_.private_streams->has(asked.key);
    if (asked.key.vhost != vhost || is_private || request.is_head()) {
        refuse(exchange, asked.key, RelayRefusal::kNotHere, 404, "no such stream here");
        return std::nullopt;
    }
    return asked;
}

// Yields. Whether the stream is published here now, or is brought here for the other node.
bool RelayServer::is_here(const Asked& asked) {
    RelayNode& relays = *services_.relays;
    if (is_live(asked.key)) {
        return true;
    }
    if (!relays.passes_on(asked.key) || asked.request.path.size() >= relays.max_hops()) {
        return false;
    }
    Arrival arrival(services_.registry, asked.key);
    relays.note_asked(asked.key, asked.request.path);
    if (services_.registry.want(asked.key)) {
        arrival.wait(io::Deadline::after(kWait));
    }
    return is_live(asked.key);
}

bool RelayServer::is_live(const stream::StreamKey& key) const {
    const stream::Stream* const stream = services_.registry.find(key);
    return stream != nullptr && stream->live();
}

void RelayServer::answer(HttpExchange& exchange, const Asked& asked) {
    RelayNode& relays = *services_.relays;
    const Path& path = asked.request.path;
    const bool here = is_here(asked);
    const stream::Stream* const stream = services_.registry.find(asked.key);
    cluster::RelayAnswer said;
    if (here && stream->relayed()) {
        said.path = relays.upstream(asked.key);
        if (has_common(said.path, path) || said.path.size() + path.size() > relays.max_hops()) {
            refuse(exchange, asked.key, RelayRefusal::kLoop, 508,
                   "the stream has come by the node that asks, or would come over more than "
                   "relay_hops");
            return;
        }
    }
    if (said.path.size() < cluster::kMaxRelayPath) {
        said.path.push_back(relays.node());
    }
    if (relays.claims() != nullptr) {
        said.epoch = relays.claims()->epoch(asked.key).value_or(0);
    }
    http::Fields more;
    more.add(std::string(cluster::kRelayField), cluster::write_relay_answer(said));
    if (relays.claims() != nullptr && asked.request.epoch > said.epoch) {
        refuse(exchange, asked.key, RelayRefusal::kEpoch, 409, "this node's claim is older", more);
        return;
    }
    if (!here) {
        refuse(exchange, asked.key, RelayRefusal::kNotHere, 404, "nobody publishes it here", more);
        return;
    }
    AdmittedPlayer admitted;
    admitted.rules = services_.policy.rules_of_forward(asked.key);
    admitted.rules.pump.wait_publisher = kWait;
    admitted.client =
        std::make_unique<Client>(services_.clients, format_.transport, exchange.peer().host());
    admitted.client->key = asked.key;
    admitted.client->node = path.back();
    relays.stats().answered++;
    play_.answer(exchange, std::move(admitted), {}, more);
}

void RelayServer::refuse(HttpExchange& exchange,
                         const stream::StreamKey& key,
                         RelayRefusal why,
                         int status,
                         std::string_view reason,
                         const http::Fields& more) {
    services_.relays->stats().refused[static_cast<size_t>(why)]++;
    if (why == RelayRefusal::kNotHere) {  // no trouble: nodes find out so where a stream is
        log::debug("relay refused stream={} ip={} reason={}: {}", log::token(key.to_string()),
                   exchange.peer().host(), to_string(why), reason);
    } else if (refused_.allow(key, MonoClock::now())) {
        log::warn("relay refused stream={} ip={} reason={}: {}{}", log::token(key.to_string()),
                  exchange.peer().host(), to_string(why), reason, refused_.rest());
    }
    (void)exchange.respond_error(status, reason, more);
}

}  // namespace weir::net
