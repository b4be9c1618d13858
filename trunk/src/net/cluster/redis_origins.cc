// What RedisRegistry reads of other nodes: where their streams are, and their events. Nothing of it
// is trusted without bounds.
#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "io/deadline.h"
#include "net/cluster/redis_registry.h"

namespace weir::net {
namespace {

constexpr Millis kQuiet{5'000};      // of the events' connection, before it is asked for a sign
constexpr Millis kEventsRetry{500};  // at least; up to twice that
constexpr uint64_t kClockSlackMs = 86'400'000;  // between the clocks of nodes and of Redis
constexpr size_t kMaxShown = 120;

// "127.1", "0x7f000001": no names, and resolvers make addresses of them.
bool is_number_like(std::string_view host) {
    const size_t dot = host.rfind('.');
    const std::string_view last = host.substr(dot == std::string_view::npos ? 0 : dot + 1);
    return last.empty() || last.starts_with("0x") ||
           std::ranges::all_of(last, [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<stream::StreamKey> key_of(const std::string& text) {
    std::optional<cluster::StreamName> name = cluster::parse_stream_text(text);
    if (!name) {
        return std::nullopt;
    }
    return stream::StreamKey{std::move(name->vhost), std::move(name->app), std::move(name->name)};
}

Error nobody() {
    return make_error(ErrorCode::kNotFound, "no other node publishes the stream");
}

}  // namespace

// An epoch far in the future would shut every later publisher out: it is not remembered.
void RedisRegistry::note_epoch(const std::string& name, uint64_t epoch) {
    if (epoch <= static_cast<uint64_t>(wall_time_ms()) + kClockSlackMs) {
        (void)known_.note_epoch(name, epoch);
    }
}

void RedisRegistry::note_unreadable(std::string_view what) {
    counts_.unreadable++;
    log::throttled(unreadable_, log::Level::kWarn,
                   "cluster: the registry holds what is not ours: {}", what);
}

// ---- lookups ----

Result<Origin> RedisRegistry::find(const stream::StreamKey& key, io::Deadline deadline) {
    const std::string name = registry_text(key);
    if (name.size() > cluster::kMaxStreamText || book_.epoch(name) ||
        known_.had_nobody(name, MonoClock::now())) {
        return nobody();
    }
    if (const auto found = lookups_.find(name); found != lookups_.end()) {
        const std::shared_ptr<Lookup> shared = found->second;  // it may end while we wait
        while (!shared->done) {
            WEIR_TRY(shared->signal.wait_until(deadline, "a lookup of somebody else"));
        }
        if (shared->origin) {
            return *shared->origin;
        }
        return make_error(shared->error.code(), "{}", shared->error.message());
    }
    const auto own = std::make_shared<Lookup>();
    lookups_.emplace(name, own);
    Result<Origin> answer = look_up(name, deadline);
    lookups_.erase(name);
    own->done = true;
    if (answer.ok()) {
        own->origin = *answer;
    } else {
        // Those who share it may have more time than we had: they ask again by their own retry.
        own->error =
            make_error(answer.error().code() == ErrorCode::kInterrupted ? ErrorCode::kTimeout
                                                                        : answer.error().code(),
                       "{}", answer.error().message());
    }
    own->signal.notify_all();
    return answer;
}

Result<Origin> RedisRegistry::look_up(const std::string& name, io::Deadline deadline) {
    counts_.lookups++;
    Result<std::vector<redis::Reply>> replies =
        client_.run({{cluster::lookup(name), &cluster::lookup_script()}}, deadline);
    if (!replies.ok()) {
        return replies.error().code() == ErrorCode::kInterrupted
                   ? Result<Origin>(replies.take_error())
                   : last_known(name, replies.error());
    }
    std::optional<cluster::LookupAnswer> answer = cluster::parse_lookup(replies->front());
    if (!answer) {
        const std::string said = log::escaped(replies->front().text, kMaxShown);
        note_unreadable("the answer to a lookup: " + said);
        return last_known(name, make_error(ErrorCode::kTimeout, "{}", said));
    }
    return take_lookup(name, std::move(*answer), deadline);
}

Result<Origin> RedisRegistry::last_known(const std::string& name, const Error& why) {
    if (std::optional<Origin> last = known_.last(name)) {
        return std::move(*last);
    }
    return make_error(ErrorCode::kTimeout, "the registry does not answer: {}", why.message());
}

// Yields. The claim of somebody else was newer, and is gone: its publisher has left while this
// record's node was cut off, and that node goes on under its old epoch. Nobody who has seen the
// newer one would ever come to it, so it is lifted above.
Error RedisRegistry::take_older(const std::string& name,
                                const cluster::StreamRecord& record,
                                io::Deadline deadline) {
    counts_.epoch_conflicts++;
    const uint64_t newest = known_.epoch(name);
    if (known_.note_older(name, MonoClock::now()) >= kOlderWait) {
        Result<std::vector<redis::Reply>> replies = client_.run(
            {{cluster::raise(name, record, newest + 1), &cluster::raise_script()}}, deadline);
        const auto answer = replies.ok() ? cluster::parse_claim(replies->front()) : std::nullopt;
        if (answer && answer->won) {
            log::info("cluster: node {} alone publishes stream={}: its epoch {} becomes {}",
                      record.node, log::token(name, kMaxShown), record.epoch, answer->epoch);
        }
    }
    return make_error(ErrorCode::kNotFound,
                      "node {} has an older claim (epoch {}) than the newest that was seen",
                      record.node, record.epoch);
}

Result<Origin> RedisRegistry::take_lookup(const std::string& name,
                                          cluster::LookupAnswer answer,
                                          io::Deadline deadline) {
    if (answer.found == cluster::Found::kUnreadable) {
        note_unreadable(
            fmt::format("the record of {}, or of its node", log::token(name, kMaxShown)));
    }
    const bool own = answer.stream.node == options_.self.node;
    if (answer.found != cluster::Found::kNode || own) {
        known_.found_nobody(name, MonoClock::now());
        return nobody();
    }
    const uint64_t epoch = answer.stream.epoch;
    if (epoch < known_.epoch(name)) {
        return take_older(name, answer.stream, deadline);
    }
    note_epoch(name, epoch);
    const std::optional<http::Url> url = cluster::parse_node_url(answer.node.url);
    if (!url) {
        return make_error(ErrorCode::kNotFound,
                          "node {} does not say where it can be reached (advertise)",
                          answer.stream.node);
    }
    if (!may_pull_from(*url)) {
        note_unreadable(fmt::format("node {} has the address {} (allow_nodes)", answer.stream.node,
                                    log::escaped(url->host, kMaxShown)));
        return make_error(ErrorCode::kNotFound,
                          "the address of node {} is not allowed (allow_nodes)",
                          answer.stream.node);
    }
    WEIR_TRY_ASSIGN(SourceUrl source, SourceUrl::parse(url->origin()));
    Origin origin;
    origin.url = std::move(source);
    origin.node = answer.stream.node;
    origin.epoch = epoch;
    known_.found(name, origin);
    return origin;
}

// Names are resolved when they are connected to; who connects asks may_connect() then.
bool RedisRegistry::may_pull_from(const http::Url& url) const {
    if (const std::optional<NetAddress> ip = NetAddress::parse_ip(url.host, url.port)) {
        return may_connect(*ip);
    }
    return !cluster::is_local_name(url.host) && !is_number_like(url.host);
}

bool RedisRegistry::may_connect(const NetAddress& address) const {
    return cluster::is_reachable(address) ||
           (options_.allows_address && options_.allows_address(address));
}

void RedisRegistry::note_failure(const stream::StreamKey& key, const Origin& origin) {
    const std::string name = registry_text(key);
    const std::optional<Origin> last = known_.last(name);
    // While Redis is away there is nothing better.
    if (client_.up() && last && *last == origin) {
        known_.forget_origin(name);
    }
}

// ---- events ----

void RedisRegistry::listen() {
    while (!io::interrupted()) {
        const Error ended = listen_once();
        if (ended.code() == ErrorCode::kInterrupted) {
            return;
        }
        const Millis pause = kEventsRetry + Millis(random_u32(random_) % kEventsRetry.count());
        if (io::sleep_for(pause)) {
            return;
        }
    }
}

Error RedisRegistry::listen_once() {
    WEIR_TRY_ASSIGN(const std::unique_ptr<RedisLink> link, dialer_.dial());
    const redis::Command subscribe{"SUBSCRIBE", std::string(cluster::kEventChannel)};
    WEIR_TRY(link->write({&subscribe, 1}, io::Deadline::after(kRedisCommand)));
    for (bool asked = false;;) {
        Result<redis::Reply> push =
            link->read(io::Deadline::after(asked ? Micros(kRedisCommand) : Micros(kQuiet)));
        if (push.ok()) {
            asked = false;
            take_event(*push);
            continue;
        }
        if (push.error().code() != ErrorCode::kTimeout || asked) {
            return push.take_error();
        }
        const redis::Command ping{"PING"};
        WEIR_TRY(link->write({&ping, 1}, io::Deadline::after(kRedisCommand)));
        asked = true;
    }
}

void RedisRegistry::take_event(const redis::Reply& push) {
    if (!push.is_array(3) || push.elements[0].text != "message") {
        return;  // "subscribe", "pong"
    }
    const std::optional<cluster::Event> event = cluster::Event::parse(push.elements[2].text);
    const std::optional<stream::StreamKey> key = event ? key_of(event->stream) : std::nullopt;
    if (!key) {
        note_unreadable("an event");
        return;
    }
    const std::string& name = event->stream;
    if (event->kind == cluster::EventKind::kKick) {
        if (book_.epoch(name) && on_kick) {
            on_kick(*key, event->node);
        }
        return;
    }
    if (event->node == options_.self.node) {
        // Another node has raised it: our own renewal finds that.
        if (const std::optional<uint64_t> own = book_.epoch(name); own && *own < event->epoch) {
            book_.renew_now(name);
            claims_due_.notify_all();
        }
        return;
    }
    known_.drop_negative(name);
    if (event->kind == cluster::EventKind::kClaim) {
        // A hint: whether it is so, our own renewal finds out.
        if (const std::optional<uint64_t> own = book_.epoch(name); own && *own < event->epoch) {
            book_.renew_now(name);
            claims_due_.notify_all();
        } else if (!own && on_claimed_elsewhere) {
            on_claimed_elsewhere(*key, event->epoch);
        }
        return;
    }
    const std::optional<Origin> last = known_.last(name);
    if (last && last->epoch <= event->epoch) {
        known_.forget_origin(name);
    }
    if (on_origin_changed) {
        on_origin_changed(*key);
    }
}

Error RedisRegistry::kick(const stream::StreamKey& key) {
    const std::string name = registry_text(key);
    WEIR_TRY_ASSIGN(std::vector<redis::Reply> replies,
                    client_.run({{cluster::lookup(name), &cluster::lookup_script()}},
                                io::Deadline::after(kClaimWait)));
    const std::optional<cluster::LookupAnswer> answer = cluster::parse_lookup(replies.front());
    if (!answer || answer->found != cluster::Found::kNode) {
        return make_error(ErrorCode::kNotFound, "no node of the cluster publishes that stream");
    }
    const cluster::Event event{cluster::EventKind::kKick, name, answer->stream.epoch,
                               options_.self.node};
    WEIR_TRY_ASSIGN(
        replies,
        client_.run({{{"PUBLISH", std::string(cluster::kEventChannel), event.write()}, nullptr}},
                    io::Deadline::after(kClaimWait)));
    return {};
}

}  // namespace weir::net
