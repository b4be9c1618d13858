#include "net/redis/redis_client.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "io/deadline.h"

namespace weir::net {
namespace {

constexpr int kMaxRounds = 4;  // redirects and unknown scripts of one batch, one after another
constexpr size_t kMaxShown = 120;
constexpr int kBackoffFactor = 2;
constexpr uint32_t kJitterPercent = 20;  // each way

// What Redis says while it cannot do what it does otherwise.
bool is_unable(const redis::Reply& reply) {
    for (const std::string_view word : {"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN",
                                        "TRYAGAIN", "BUSY", "MISCONF", "NOAUTH", "OOM"}) {
        if (reply.is_error(word)) {
            return true;
        }
    }
    return false;
}

Error copy_of(const Error& error) {
    return make_error(error.code(), "{}", error.message());
}

Error away(const Error& why) {
    return make_error(ErrorCode::kTimeout, "Redis is away: {}", why.message());
}

Micros jittered(Micros period, RandomSource& random) {
    const uint32_t percent = 100 - kJitterPercent + random_u32(random) % (2 * kJitterPercent + 1);
    return period * static_cast<int64_t>(percent) / 100;
}

}  // namespace

RedisClient::RedisClient(RedisDialer& dialer, RandomSource& random)
    : dialer_(dialer), random_(random) {}

RedisClient::~RedisClient() {
    WEIR_CHECK(!worker_.running());
}

Error RedisClient::start() {
    WEIR_TRY_ASSIGN(worker_,
                    io::Coroutine::spawn("redis", io::StackSize::kNormal, [this] { work(); }));
    started_ = true;
    return {};
}

void RedisClient::stop() {
    stopping_ = true;
    if (started_) {
        worker_.interrupt();
        worker_.join();
    }
    fail_all(make_error(ErrorCode::kInterrupted, "the server stops"));
    link_.reset();
}

Result<std::vector<redis::Reply>> RedisClient::run(std::vector<RedisCall> calls,
                                                   io::Deadline deadline) {
    WEIR_CHECK(calls.size() <= kMaxBatch);
    if (stopping_) {
        return make_error(ErrorCode::kInterrupted, "the server stops");
    }
    if (!up_) {
        return make_error(ErrorCode::kTimeout, "Redis is away");
    }
    if (queue_.size() >= kMaxQueued) {
        return make_error(ErrorCode::kFull, "too many commands wait for Redis");
    }
    const auto request = std::make_shared<Request>();
    request->replies.resize(calls.size());
    request->calls = std::move(calls);
    queue_.push_back(request);
    work_.notify_all();
    while (!request->done) {
        WEIR_TRY(request->signal.wait_until(deadline, "a reply of Redis"));
    }
    if (request->error) {
        return std::move(request->error);
    }
    return std::move(request->replies);
}

void RedisClient::retry_now() {
    if (!up_) {
        hurry_ = true;
        work_.notify_all();
    }
}

// ---- the connection ----

void RedisClient::work() {
    Micros backoff = kFirstBackoff;
    while (!io::interrupted()) {
        hurry_ = false;
        Result<std::unique_ptr<RedisLink>> made = dialer_.dial();
        if (made.ok()) {
            stats_.connects++;
            link_ = std::move(*made);
            set_up(true, {});
            if (use_link()) {
                backoff = kFirstBackoff;
            }
            link_.reset();
        } else {
            stats_.failures++;
            set_up(false, made.error());
        }
        if (hurry_) {  // never at once: two clients would wake each other without end
            if (io::sleep_until(io::Deadline::after(jittered(kFirstBackoff, random_)))) {
                return;
            }
            continue;
        }
        const Error woken = work_.wait_until(io::Deadline::after(jittered(backoff, random_)),
                                             "the next try to reach Redis");
        if (woken.code() == ErrorCode::kInterrupted) {
            return;
        }
        backoff = std::min<Micros>(backoff * kBackoffFactor, kLongestBackoff);
    }
}

// Until the connection is of no more use. True: it has served commands.
bool RedisClient::use_link() {
    bool served = false;
    while (!io::interrupted()) {
        if (queue_.empty()) {
            const Error woken = work_.wait_until(io::Deadline::after(kPing), "commands for Redis");
            if (woken.code() == ErrorCode::kInterrupted) {
                return served;
            }
        }
        if (link_->hangup()) {
            set_up(false, make_error(ErrorCode::kClosed, "it has closed the connection"));
            return served;
        }
        const std::vector<RequestRef> batch = take_batch();
        const Error failed = serve(batch);
        finish(batch, failed);
        if (failed) {
            set_up(false, failed);
            return served;
        }
        served = served || !batch.empty();
    }
    return served;
}

std::vector<RedisClient::RequestRef> RedisClient::take_batch() {
    std::vector<RequestRef> batch;
    size_t commands = 0;
    while (!queue_.empty() && commands + queue_.front()->calls.size() <= kMaxBatch) {
        commands += queue_.front()->calls.size();
        batch.push_back(std::move(queue_.front()));
        queue_.pop_front();
    }
    return batch;
}

// An empty batch only finds out whether Redis is there.
Error RedisClient::serve(const std::vector<RequestRef>& batch) {
    RedisCall ping{{"PING"}, nullptr};
    redis::Reply pong;
    std::vector<Item> items;
    for (const RequestRef& request : batch) {
        for (size_t i = 0; i < request->calls.size(); i++) {
            items.push_back({&request->calls[i], &request->replies[i]});
        }
    }
    if (items.empty()) {
        items.push_back({&ping, &pong});
    }
    for (int round = 0; round < kMaxRounds && !items.empty(); round++) {
        WEIR_TRY(send(items));
    }
    return {};
}

// Afterwards `items` are those that have to be sent again.
Error RedisClient::send(std::vector<Item>& items) {
    const MonoTime begun = MonoClock::now();
    WEIR_TRY(send_to(*link_, items, false));
    count(items.size(), MonoClock::now() - begun);
    std::vector<Item> again;
    std::vector<Item> asked;
    redis::Redirect redirect;
    for (const Item& item : items) {
        redis::Redirect to;
        if (is_unable(*item.reply)) {
            return make_error(ErrorCode::kTimeout, "it cannot serve: {}",
                              log::escaped(item.reply->text, kMaxShown));
        }
        // A server alone has nobody to name: the password is for it.
        const bool in_cluster = dialer_.url().kind == redis::Kind::kCluster;
        if (in_cluster && redis::parse_redirect(*item.reply, to)) {
            redirect = to;
            (to.ask ? asked : again).push_back(item);
        } else if (item.call->script != nullptr && item.reply->is_error("NOSCRIPT")) {
            // The first one teaches it to Redis, and the others find it there.
            const bool first = std::ranges::none_of(again, [&](const Item& each) {
                return each.call->script == item.call->script &&
                       each.call->command.front() == "EVAL";
            });
            if (first) {
                item.call->command =
                    cluster::with_text(*item.call->script, std::move(item.call->command));
            }
            again.push_back(item);
        }
    }
    items = std::move(again);
    return redirect.port == 0 ? Error() : follow(redirect, asked);
}

Error RedisClient::send_to(RedisLink& link, const std::vector<Item>& items, bool asking) {
    std::vector<redis::Command> commands;
    for (const Item& item : items) {
        if (asking) {
            commands.push_back({"ASKING"});
        }
        commands.push_back(item.call->command);
    }
    WEIR_TRY_ASSIGN(std::vector<redis::Reply> replies,
                    link.exchange(commands, io::Deadline::after(kRedisCommand)));
    for (size_t i = 0; i < items.size(); i++) {
        *items[i].reply = std::move(replies[asking ? 2 * i + 1 : i]);
    }
    return {};
}

// MOVED: our keys are there from now on. ASK: these commands only, once.
Error RedisClient::follow(const redis::Redirect& redirect, std::vector<Item>& asked) {
    redis::Host host{redirect.host, redirect.port};
    if (host.name.empty()) {
        const io::SocketAddress peer = link_->stream().connection_peer();
        host.name = peer.host();
    }
    WEIR_TRY_ASSIGN(std::unique_ptr<RedisLink> link,
                    dialer_.dial_to(host, io::Deadline::after(kRedisConnect)));
    if (!asked.empty()) {
        WEIR_TRY(send_to(*link, asked, true));
    }
    if (!redirect.ask) {
        dialer_.set_home(host);
        link_ = std::move(link);
    }
    return {};
}

// ---- who asked ----

void RedisClient::finish(const std::vector<RequestRef>& batch, const Error& error) {
    for (const RequestRef& request : batch) {
        request->done = true;
        if (error) {
            request->error = error.code() == ErrorCode::kInterrupted ? copy_of(error) : away(error);
        }
        request->signal.notify_all();
    }
}

void RedisClient::fail_all(const Error& why) {
    const std::vector<RequestRef> all(queue_.begin(), queue_.end());
    queue_.clear();
    finish(all, why);
}

void RedisClient::set_up(bool up, const Error& why) {
    up_ = up;
    if (!up) {
        fail_all(why);
    }
    if (told_ && !stopping_) {
        told_(up, why);
    }
}

void RedisClient::count(size_t commands, Micros took) {
    stats_.commands += commands;
    const double seconds = static_cast<double>(took.count()) / 1e6;
    stats_.seconds += seconds * static_cast<double>(commands);
    size_t bucket = 0;
    while (bucket < RedisClientStats::kBoundsMs.size() &&
           seconds * 1e3 > RedisClientStats::kBoundsMs[bucket]) {
        bucket++;
    }
    stats_.took[bucket] += commands;
}

}  // namespace weir::net
