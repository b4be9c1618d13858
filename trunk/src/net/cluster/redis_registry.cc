// The node's lease, its claims, and the life of the whole. What is read of other nodes is in
// redis_origins.cc.
#include "net/cluster/redis_registry.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "io/deadline.h"

namespace weir::net {
namespace {

constexpr Millis kLongestBeat{1'000};
constexpr int kBeatsPerLease = 5;    // at least
constexpr Millis kRetry{1'000};      // of claims that failed though Redis is there
constexpr Millis kGoodbye{200};      // to give everything back
constexpr Millis kFormerRun{2'000};  // added to the lease: then it was no former run of this node
constexpr size_t kMaxShown = 120;

cluster::StreamName name_of(const stream::StreamKey& key) {
    return {key.vhost, key.app, key.name};
}

std::optional<stream::StreamKey> key_of(const std::string& text) {
    std::optional<cluster::StreamName> name = cluster::parse_stream_text(text);
    if (!name) {
        return std::nullopt;
    }
    return stream::StreamKey{std::move(name->vhost), std::move(name->app), std::move(name->name)};
}

uint64_t wall_ms() {
    return static_cast<uint64_t>(wall_time_ms());
}

}  // namespace

std::string registry_text(const stream::StreamKey& key) {
    return cluster::stream_text(name_of(key));
}

RedisRegistry::RedisRegistry(RedisDialer& dialer,
                             stream::Registry& streams,
                             RandomSource& random,
                             RegistryOptions options)
    : dialer_(dialer),
      streams_(streams),
      random_(random),
      options_(std::move(options)),
      client_(dialer, random),
      beats_(dialer, random),
      started_ms_(wall_time_ms()),
      since_ms_(started_ms_) {
    client_.on_state([this](bool up, const Error& why) {
        on_state(up, why);
        tried_ = true;
        first_.notify_all();
        if (up) {
            book_.renew_all(MonoClock::now());
            relays_.say_again();
            claims_due_.notify_all();
            beats_.retry_now();
        }
    });
    beats_.on_state([this](bool up, const Error& why) {
        on_state(up, why);
        if (up) {
            beat_due_.notify_all();
            client_.retry_now();
        }
    });
}

RedisRegistry::~RedisRegistry() {
    WEIR_CHECK(!started_ || stopping_);
}

Error RedisRegistry::start() {
    started_ = true;
    started_at_ = MonoClock::now();
    streams_.observers().add(*this);
    WEIR_TRY(client_.start());
    WEIR_TRY(beats_.start());
    WEIR_TRY(tasks_.spawn("node lease", io::StackSize::kNormal, [this] { keep_lease(); }));
    WEIR_TRY(tasks_.spawn("cluster claims", io::StackSize::kNormal, [this] { keep_claims(); }));
    return tasks_.spawn("cluster events", io::StackSize::kNormal, [this] { listen(); });
}

void RedisRegistry::stop(io::Deadline deadline) {
    if (!started_ || stopping_) {
        return;
    }
    stopping_ = true;
    streams_.observers().remove(*this);
    tasks_.interrupt_all();
    // They only have to notice it: also where others have used up the time.
    const MonoTime least = MonoClock::now() + Micros(kGoodbye);
    if (Error late = tasks_.join_all(io::Deadline::at(std::max(deadline.time(), least)))) {
        log::error("stopping the registry: {}", late.message());
    }
    const io::Deadline goodbye =
        io::Deadline::at(std::min(deadline.time(), MonoClock::now() + Micros(kGoodbye)));
    while (client_.up() && book_.has_releases() && release_some() && !goodbye.passed()) {
    }
    if (client_.up()) {
        std::vector<RedisCall> calls{{cluster::leave(options_.self), &cluster::leave_script()}};
        if (held_ && !name_taken_) {
            calls.push_back({cluster::say_relays(options_.self, "", 0), nullptr});
        }
        (void)client_.run(std::move(calls), goodbye);
    }
    client_.stop();
    beats_.stop();
}

// One line for each change.
void RedisRegistry::on_state(bool up, const Error& why) {
    if (!up) {
        last_error_ = log::escaped(why.message(), kMaxShown);
    }
    const bool available = client_.up() && beats_.up();
    if (available != available_) {
        available_ = available;
        since_ms_ = wall_time_ms();
    } else if (available || told_away_) {
        return;
    }
    if (available) {
        told_away_ = false;
        log::info("cluster registry=up url={} node={}", dialer_.url().shown(), options_.self.node);
    } else if (!up) {
        told_away_ = true;
        log::warn(
            "cluster registry=away url={}: {}; streams that are published and played go on, new "
            "publishers are {} (on_registry_loss)",
            dialer_.url().shown(), last_error_,
            options_.accept_without_registry ? "accepted" : "refused");
    }
}

// ---- the lease ----

cluster::NodeRecord RedisRegistry::node_record() const {
    const NodeFacts now = facts ? facts() : NodeFacts();
    cluster::NodeRecord record;
    record.boot = options_.self.boot;
    record.url = options_.advertise;
    record.machine = options_.machine;
    record.state = now.state;
    record.busy_permille = std::min<uint32_t>(now.busy_permille, 1000);
    record.bits_per_second = now.bits_per_second;
    record.version = options_.version;
    record.since_ms = static_cast<uint64_t>(std::max<int64_t>(started_ms_, 0));
    return record;
}

void RedisRegistry::keep_lease() {
    const Micros period = std::min<Micros>(kLongestBeat, options_.lease / kBeatsPerLease);
    while (!io::interrupted()) {
        if (beats_.up()) {
            beat();
        }
        const auto span = static_cast<uint32_t>(period.count() / 5);  // +-10 %
        const Micros wait = period - Micros(span / 2) + Micros(random_u32(random_) % (span + 1));
        const Error woken =
            beat_due_.wait_until(io::Deadline::after(wait), "the next beat of the node's lease");
        if (woken.code() == ErrorCode::kInterrupted) {
            return;
        }
    }
}

void RedisRegistry::beat() {
    Result<std::vector<redis::Reply>> replies =
        beats_.run({{cluster::beat(options_.self, node_record(), options_.lease.count(), held_),
                     &cluster::beat_script()}},
                   io::Deadline::after(kClaimWait));
    if (!replies.ok()) {
        return;
    }
    if (const std::optional<cluster::Beat> answer = cluster::parse_beat(replies->front())) {
        take_beat(*answer);
    } else {
        last_error_ = log::escaped(replies->front().text, kMaxShown);
        log::throttled(taken_, log::Level::kError, "cluster: the lease of node={} is refused: {}",
                       options_.self.node, last_error_);
    }
}

void RedisRegistry::take_beat(cluster::Beat beat) {
    const MonoTime now = MonoClock::now();
    if (beat == cluster::Beat::kForeign) {
        const bool former = !held_ && now - started_at_ < options_.lease + kFormerRun;
        if (!former && (!name_taken_ || taken_.allow(now))) {
            last_error_ = "another node has this node's name";
            log::error(
                "cluster: another node is named {} as well, and has its lease: its streams are "
                "found, those of this node are not; give each node a name of its own (cluster "
                "node)",
                options_.self.node);
        }
        name_taken_ = !former;
        return;
    }
    last_beat_ = now;
    // Its records count for nothing since the lease was gone, and Redis may have lost them as well.
    if (beat == cluster::Beat::kNew) {
        log::info("cluster node={} boot={} has {}", options_.self.node, options_.self.boot,
                  held_ ? "its lease again" : "its lease");
        book_.renew_all(now);
        relays_.say_again();
        claims_due_.notify_all();
    }
    held_ = true;
    name_taken_ = false;
}

// ---- claims ----

Error RedisRegistry::claim(const stream::StreamKey& key, stream::PublishConflict conflict) {
    const std::string name = registry_text(key);
    if (name.size() > cluster::kMaxStreamText) {
        return make_error(ErrorCode::kDenied, "the stream's name is too long for a cluster");
    }
    const bool takeover = conflict == stream::PublishConflict::kTakeover;
    if (book_.begin(name, takeover)) {
        return {};
    }
    wait_for_first();
    Result<std::vector<redis::Reply>> replies =
        client_.run({{cluster::claim(options_.self, name, takeover, known_.epoch(name) + 1),
                      &cluster::claim_script()}},
                    io::Deadline::after(kClaimWait));
    if (!replies.ok()) {
        return claim_unknown(key, name, replies.error());
    }
    const std::optional<cluster::ClaimAnswer> answer = cluster::parse_claim(replies->front());
    if (!answer) {
        const std::string said = log::escaped(replies->front().text, kMaxShown);
        note_unreadable("the answer to a claim: " + said);
        return claim_unknown(key, name, make_error(ErrorCode::kTimeout, "{}", said));
    }
    note_epoch(name, answer->epoch);
    if (!answer->won) {
        counts_.refused++;
        book_.on_refused(name);
        return make_error(ErrorCode::kBusy,
                          "{} is being published at another node of the cluster; wait until it "
                          "ends, or set publish_conflict takeover",
                          key.to_string());
    }
    counts_.won++;
    book_.on_claimed(name, answer->epoch, wall_ms(), MonoClock::now());
    claims_due_.notify_all();
    return {};
}

// Yields.
void RedisRegistry::wait_for_first() {
    const io::Deadline deadline = io::Deadline::at(started_at_ + kFirstWait);
    while (started_ && !tried_ && !deadline.passed()) {
        if (first_.wait_until(deadline, "the first connection to Redis")) {
            return;
        }
    }
}

// Whether Redis has the claim is not known: it is claimed again, or released, when it is back.
Error RedisRegistry::claim_unknown(const stream::StreamKey& key,
                                   const std::string& name,
                                   const Error& why) {
    book_.on_unknown(name, provisional_epoch(name), wall_ms());
    claims_due_.notify_all();
    if (why.code() != ErrorCode::kInterrupted && options_.accept_without_registry) {
        counts_.provisional++;
        return {};
    }
    book_.give_up(name);
    if (why.code() == ErrorCode::kInterrupted) {
        return make_error(ErrorCode::kInterrupted, "{}", why.message());
    }
    counts_.unknown++;
    return make_error(ErrorCode::kTimeout,
                      "whether another node publishes {} cannot be known: the registry does not "
                      "answer (on_registry_loss refuse)",
                      key.to_string());
}

uint64_t RedisRegistry::provisional_epoch(const std::string& name) {
    return std::min(std::max(known_.epoch(name) + 1, wall_ms()), cluster::kMaxEpoch);
}

void RedisRegistry::give_up(const stream::StreamKey& key) {
    book_.give_up(registry_text(key));
    if (book_.has_releases()) {
        claims_due_.notify_all();
    }
}

std::optional<uint64_t> RedisRegistry::epoch(const stream::StreamKey& key) const {
    return book_.epoch(registry_text(key));
}

void RedisRegistry::on_publish(stream::Stream& stream) {
    if (stream.relayed()) {
        relays_.add(registry_text(stream.key()));
    } else {
        book_.on_publish(registry_text(stream.key()));
    }
    claims_due_.notify_all();
}

void RedisRegistry::on_unpublish(stream::Stream& stream, stream::PublishEnd why) {
    relays_.remove(registry_text(stream.key()));
    if (why == stream::PublishEnd::kLeft) {
        book_.on_unpublish(registry_text(stream.key()));
    }
    claims_due_.notify_all();
}

void RedisRegistry::keep_claims() {
    while (!io::interrupted()) {
        while (client_.up() && (release_some() || renew_some() || say_relays())) {
        }
        const MonoTime now = MonoClock::now();
        MonoTime next = std::min(book_.next_due().value_or(now + cluster::kRenewPeriod),
                                 relays_.next_due().value_or(now + cluster::kRenewPeriod));
        if (!client_.up() || next <= now || book_.has_releases()) {
            next = now + kRetry;  // or when Redis is back, which wakes us
        }
        const Error woken = claims_due_.wait_until(io::Deadline::at(next), "claims that are due");
        if (woken.code() == ErrorCode::kInterrupted) {
            return;
        }
    }
}

// False: there was nothing to do, or it failed.
bool RedisRegistry::release_some() {
    std::vector<cluster::ClaimBook::Release> releases = book_.take_releases(RedisClient::kMaxBatch);
    if (releases.empty()) {
        return false;
    }
    std::vector<RedisCall> calls;
    for (const auto& each : releases) {
        calls.push_back(
            {cluster::release(options_.self, each.stream, each.epoch), &cluster::release_script()});
    }
    const auto replies = client_.run(std::move(calls), io::Deadline::after(kClaimWait));
    if (replies.ok()) {
        book_.on_released(std::move(releases), MonoClock::now());
    } else {
        book_.put_back(std::move(releases));
    }
    return replies.ok();
}

bool RedisRegistry::renew_some() {
    const std::vector<cluster::ClaimBook::Due> due =
        book_.due(MonoClock::now(), RedisClient::kMaxBatch);
    if (due.empty()) {
        return false;
    }
    std::vector<RedisCall> calls;
    for (const auto& each : due) {
        if (each.provisional) {
            calls.push_back({cluster::claim(options_.self, each.stream, each.takeover, each.epoch),
                             &cluster::claim_script()});
        } else {
            calls.push_back({cluster::renew(options_.self, each.stream, each.epoch, each.since_ms),
                             &cluster::renew_script()});
        }
    }
    const auto replies = client_.run(std::move(calls), io::Deadline::after(kClaimWait));
    for (size_t i = 0; i < due.size(); i++) {
        if (replies.ok()) {
            take_renewal(due[i], (*replies)[i]);
        } else {
            book_.renew_now(due[i].stream);
        }
    }
    return replies.ok();
}

bool RedisRegistry::say_relays() {
    const MonoTime now = MonoClock::now();
    const std::optional<MonoTime> due = relays_.next_due();
    // Of two nodes with one name, the one that has the lease says it.
    if (!due || *due > now || name_taken_) {
        return false;
    }
    const auto replies =
        client_.run({{cluster::say_relays(options_.self, relays_.take(options_.self.boot, now),
                                          cluster::RelayList::kLife.count()),
                      nullptr}},
                    io::Deadline::after(kClaimWait));
    if (!replies.ok()) {
        relays_.put_back();
    }
    return replies.ok();
}

void RedisRegistry::take_renewal(const cluster::ClaimBook::Due& due, const redis::Reply& reply) {
    const std::optional<cluster::ClaimAnswer> answer = cluster::parse_claim(reply);
    if (!answer) {
        note_unreadable("the answer to a renewal: " + log::escaped(reply.text, kMaxShown));
        return;
    }
    note_epoch(due.stream, answer->epoch);
    if (!answer->won) {
        lose(due.stream, answer->epoch, answer->node);
    } else if (due.provisional) {
        book_.on_claimed(due.stream, answer->epoch, due.since_ms, MonoClock::now());
    } else {
        book_.on_renewed(due.stream, answer->epoch, MonoClock::now());
    }
}

void RedisRegistry::lose(const std::string& name, uint64_t epoch, std::string_view node) {
    const bool published = book_.on_lost(name, epoch);
    const std::optional<stream::StreamKey> key = key_of(name);
    if (!published || !key) {
        return;
    }
    counts_.lost++;
    counts_.epoch_conflicts++;
    stream::Stream* const stream = streams_.find(*key);
    if (stream != nullptr && stream->live() && !stream->relayed()) {
        log::warn("cluster: node {} publishes stream={} now (epoch {}): the publisher here{} ends",
                  node, log::token(key->to_string()), epoch,
                  stream->describe_holder(MonoClock::now()));
        streams_.lose_publisher(*stream, MonoClock::now());
    }
    if (on_claimed_elsewhere) {
        on_claimed_elsewhere(*key, epoch);
    }
}

// ---- what is shown ----

RegistryStatus RedisRegistry::status() const {
    RegistryStatus status;
    status.up = available_;
    status.since_ms = since_ms_;
    status.last_error = last_error_;
    if (last_beat_) {
        status.lease_age = MonoClock::now() - *last_beat_;
        status.lease = !name_taken_ && *status.lease_age < options_.lease;
    }
    status.name_taken = name_taken_;
    status.claims = book_.size();
    status.provisional = book_.provisional();
    return status;
}

RegistryCounts RedisRegistry::counts() const {
    RegistryCounts sum = counts_;
    for (const RedisClientStats* const each : {&client_.stats(), &beats_.stats()}) {
        for (size_t i = 0; i < each->took.size(); i++) {
            sum.redis.took[i] += each->took[i];
        }
        sum.redis.seconds += each->seconds;
        sum.redis.commands += each->commands;
        sum.redis.connects += each->connects;
        sum.redis.failures += each->failures;
    }
    return sum;
}

}  // namespace weir::net
