#include "net/source/sources.h"

#include <algorithm>

#include "base/check.h"
#include "io/deadline.h"
#include "stream/registry.h"

namespace weir::net {
namespace {

constexpr const char* kStandIn = "relay";

}  // namespace

Sources::Sources(SourceServices services) : services_(std::move(services)) {
    services_.wake = [this] { wake(); };
}

Sources::~Sources() {
    WEIR_CHECK(sources_.empty() && retired_.empty() && !keeper_.running());
}

void Sources::add(SourceRole role, std::string scheme, SourceProtocol& protocol) {
    protocols_[{role, std::move(scheme)}] = &protocol;
}

Error Sources::start(SourceConfig config) {
    config_ = std::move(config);
    WEIR_TRY_ASSIGN(keeper_,
                    io::Coroutine::spawn("sources", io::StackSize::kNormal, [this] { run(); }));
    started_ = true;
    services_.registry.observers().add(*this);
    reconfigure();
    return {};
}

Sources::Key Sources::key_of(const SourceSpec& spec) {
    const bool forward = spec.role == SourceRole::kForward;
    return {spec.role, spec.key,
            forward          ? spec.url.full()
            : spec.stands_in ? std::string(kStandIn)
                             : std::string()};
}

Source* Sources::find(const Key& key) const {
    const auto found = sources_.find(key);
    return found == sources_.end() ? nullptr : found->second.get();
}

Source* Sources::find_pull(const stream::StreamKey& key) const {
    return find({SourceRole::kPull, key, {}});
}

Source* Sources::find_stand_in(const stream::StreamKey& key) const {
    return find({SourceRole::kPull, key, kStandIn});
}

Source* Sources::find_relay(const stream::StreamKey& key) const {
    Source* const stand_in = find_stand_in(key);
    return stand_in != nullptr ? stand_in : find_pull(key);
}

Source* Sources::ask_stand_in(const stream::StreamKey& key, bool wanted, MonoTime now) {
    Source* stand_in = find_stand_in(key);
    if (stand_in == nullptr && wanted && config_.stand_in && (!draining_ || is_missed(key))) {
        const Source* const own = find_pull(key);
        if (own != nullptr && own->is_elsewhere()) {
            std::optional<SourceSpec> spec = config_.stand_in(key);
            stand_in = spec ? make_unnamed(std::move(*spec), now) : nullptr;
        }
    }
    if (stand_in != nullptr) {
        stand_in->set_demand(wanted, now);
    }
    return stand_in;
}

SourceProtocol* Sources::protocol(SourceRole role, const std::string& scheme) const {
    const auto found = protocols_.find({role, scheme});
    return found == protocols_.end() ? nullptr : found->second;
}

const Source* Sources::pull_of(const stream::StreamKey& key) const {
    return find_relay(key);
}

Source* Sources::begin_missing(const stream::StreamKey& key) {
    const MonoTime now = MonoClock::now();
    const stream::Stream* const stream = services_.registry.find(key);
    Source* source = find_pull(key);
    if (source == nullptr && stream != nullptr && stream->has_sinks() && !stream->live()) {
        source = pull_for(key, now);
        if (source != nullptr) {
            source->set_demand(true, now);
            wake();
        }
    }
    return source;
}

void Sources::retry_now(const stream::StreamKey& key) {
    const MonoTime now = MonoClock::now();
    Source* const source = begin_missing(key);
    for (Source* const each : {source, find_stand_in(key)}) {
        if (each != nullptr) {
            each->retry_soon(kEventSpacing, now);
            wake();
        }
    }
}

void Sources::end_run(const stream::StreamKey& key, uint64_t epoch) {
    Source* const source = find_relay(key);
    if (source == nullptr || !source->spec().relayed) {
        return;
    }
    if (epoch == 0 || !source->origin() || source->origin()->epoch < epoch) {
        source->begin_anew(MonoClock::now());
        wake();
    }
}

bool Sources::kick(const stream::StreamKey& key) {
    Source* const source = find_pull(key);
    if (source == nullptr || !source->machine().runs() || source->spec().relayed) {
        return false;
    }
    source->fail("ended by the API", MonoClock::now());
    wake();
    return true;
}

Source* Sources::make(SourceSpec spec, MonoTime now) {
    const auto protocol = protocols_.find({spec.role, spec.url.scheme});
    if (protocol == protocols_.end()) {
        log::error("{} of {}: no protocol for {}", to_string(spec.role),
                   log::token(spec.key.to_string()), log::escaped(spec.shown));
        return nullptr;
    }
    unnamed_ += spec.role == SourceRole::kPull && !spec.named ? 1 : 0;
    Key key = key_of(spec);
    std::unique_ptr<Source>& slot = sources_[std::move(key)];
    WEIR_CHECK(slot == nullptr);
    slot = std::make_unique<Source>(std::move(spec), *protocol->second, services_, now);
    return slot.get();
}

// What of its stream was there before it.
void Sources::adopt_stream(Source& source, MonoTime now) {
    const stream::Stream* const stream = services_.registry.find(source.spec().key);
    source.look_at_name(now);
    if (stream != nullptr && stream->has_sinks()) {
        source.set_demand(true, now);
    }
}

bool Sources::is_one_too_many(const SourceSpec& spec) const {
    const auto is_same_group = [&spec](const auto& each) {
        const SourceUrl& url = each.second->spec().url;
        return !each.second->spec().named && url.is_group() && url.group.to == spec.url.group.to;
    };
    return unnamed_ >= config_.max_sources() ||
           (spec.url.is_group() && std::ranges::count_if(sources_, is_same_group) >=
                                       static_cast<std::ptrdiff_t>(kMaxPerGroup));
}

Source* Sources::pull_for(const stream::StreamKey& key, MonoTime now) {
    if (Source* const found = find_pull(key)) {
        return found;
    }
    if (!config_.for_any) {
        return nullptr;
    }
    std::optional<SourceSpec> spec = config_.for_any(key);
    return spec ? make_unnamed(std::move(*spec), now) : nullptr;
}

// Of somebody who comes now.
Source* Sources::asked_pull(const stream::StreamKey& key, MonoTime now) {
    return draining_ ? find_pull(key) : pull_for(key, now);
}

Source* Sources::make_unnamed(SourceSpec spec, MonoTime now) {
    if (stopping_) {
        return nullptr;
    }
    if (is_one_too_many(spec) && (spec.url.is_group() || !displace_one(now))) {
        gone_[static_cast<size_t>(SourceRole::kPull)].refused++;
        log::throttled(full_, log::Level::kWarn,
                       "no source for stream={}: there are {} already (max_sources), or {} of its "
                       "group",
                       log::token(spec.key.to_string()), unnamed_, kMaxPerGroup);
        return nullptr;
    }
    Source* const made = make(std::move(spec), now);
    if (made != nullptr) {
        made->look_at_name(now);
    }
    return made;
}

// The place of a relay that has never come up is for another one: first of those that nobody waits
// for, then of the oldest. Who asks for names that nobody publishes displaces others of that kind.
bool Sources::displace_one(MonoTime now) {
    auto worst = sources_.end();
    const auto rank = [this](const Map::iterator& at) {
        const stream::Stream* const stream = services_.registry.find(at->first.stream);
        return std::pair(stream != nullptr && stream->has_sinks(), at->second->made_at());
    };
    for (auto at = sources_.begin(); at != sources_.end(); ++at) {
        const Source& source = *at->second;
        // A stand-in that somebody waits for would be made again at once, and displace another.
        const bool comes_back = source.spec().stands_in && is_missed(at->first.stream);
        if (!source.spec().relayed || source.ever_live() || source.machine().held() || comes_back) {
            continue;
        }
        if (worst == sources_.end() || rank(at) < rank(worst)) {
            worst = at;
        }
    }
    if (worst == sources_.end()) {
        return false;
    }
    retire(worst, now);
    gone_[static_cast<size_t>(SourceRole::kPull)].displaced++;
    return true;
}

// ---- the life of streams ----

// Not what comes from a source on demand: a forward of it would be a viewer that never leaves.
void Sources::begin_forwards(stream::Stream& stream, MonoTime now) {
    if (!config_.forwards || stopping_ || stream.relayed()) {  // nor what a stand-in brings
        return;
    }
    if (const Source* const pull = find_pull(stream.key());
        pull != nullptr && pull->spec().on_demand && !pull->machine().held()) {
        return;
    }
    for (SourceSpec& spec : config_.forwards(stream.key())) {
        const auto found = sources_.find(key_of(spec));
        Source* const forward =
            found != sources_.end() ? found->second.get() : make(std::move(spec), now);
        if (forward != nullptr) {
            forward->set_demand(true, now);
        }
    }
}

void Sources::on_publish(stream::Stream& stream) {
    const MonoTime now = MonoClock::now();
    for (Source* const pull : {find_pull(stream.key()), find_stand_in(stream.key())}) {
        if (pull != nullptr) {
            pull->look_at_name(now);
        }
    }
    begin_forwards(stream, now);
    wake();
}

void Sources::on_unpublish(stream::Stream& stream, stream::PublishEnd why) {
    const MonoTime now = MonoClock::now();
    if (Source* const pull =
            stream.has_sinks() ? pull_for(stream.key(), now) : find_pull(stream.key())) {
        pull->look_at_name(now);
        pull->set_demand(stream.has_sinks(), now);
    }
    if (Source* const stand_in = ask_stand_in(stream.key(), stream.has_sinks(), now)) {
        stand_in->look_at_name(now);
    }
    if (why != stream::PublishEnd::kTakenOver) {
        const Key first{SourceRole::kForward, stream.key(), {}};
        for (auto at = sources_.lower_bound(first);
             at != sources_.end() && at->first.stream == stream.key(); ++at) {
            at->second->set_demand(false, now);
        }
    }
    wake();
}

void Sources::on_demand(stream::Stream& stream) {
    const MonoTime now = MonoClock::now();
    Source* const source = stream.live() ? find_pull(stream.key()) : asked_pull(stream.key(), now);
    if (source != nullptr) {
        source->set_demand(true, now);
    }
    if (ask_stand_in(stream.key(), true, now) != nullptr || source != nullptr) {
        wake();
    }
}

void Sources::on_demand_gone(stream::Stream& stream) {
    const MonoTime now = MonoClock::now();
    Source* const source = find_pull(stream.key());
    if (source != nullptr) {
        source->set_demand(false, now);
    }
    if (ask_stand_in(stream.key(), false, now) != nullptr || source != nullptr) {
        wake();
    }
}

// Who asks has no muxer yet: the source is kept as long as it may wait.
bool Sources::on_wanted(const stream::StreamKey& key) {
    const MonoTime now = MonoClock::now();
    Source* const source = asked_pull(key, now);
    if (source == nullptr) {
        return false;
    }
    const stream::Stream* const stream = services_.registry.find(key);
    const bool has_sinks = stream != nullptr && stream->has_sinks();
    bool runs = false;
    for (Source* const each : {source, ask_stand_in(key, true, now)}) {
        if (each == nullptr) {
            continue;
        }
        if (each->spec().relayed) {
            each->retry_soon(SourceMachine::kLeastSpacing, now);
        }
        each->ask(config_.asker_waits, now);
        each->set_demand(has_sinks, now);
        runs = runs || each->machine().runs();
    }
    wake();
    return runs;
}

// ---- the keeper ----

void Sources::wake() {
    woken_ = true;
    signal_.notify_all();
}

void Sources::run() {
    while (!io::interrupted()) {
        woken_ = false;
        const std::optional<MonoTime> next = look_after_all(MonoClock::now());
        if (woken_) {
            io::yield();
            continue;
        }
        const io::Deadline until = next ? io::Deadline::at(*next) : io::Deadline::forever();
        const Error woken = signal_.wait_until(until);  // forever: until wake() or stop()
        if (woken.code() == ErrorCode::kInterrupted) {
            return;
        }
    }
}

// Gives when the next timeout is due.
std::optional<MonoTime> Sources::look_after_all(MonoTime now) {
    std::optional<MonoTime> next;
    std::vector<stream::StreamKey> missed;  // of sources that other nodes run
    for (auto at = sources_.begin(); at != sources_.end();) {
        const auto here = at++;
        Source& source = *here->second;
        source.step(now);
        if (source.is_elsewhere() && is_missed(source.spec().key)) {
            missed.push_back(source.spec().key);
        }
        if (!source.spec().named && source.machine().state() == SourceState::kIdle &&
            !source.has_run()) {
            retire(here, now);
            continue;
        }
        if (const std::optional<MonoTime> due = source.machine().next_timeout()) {
            next = next ? std::min(*next, *due) : *due;
        }
    }
    for (const stream::StreamKey& key : missed) {
        if (find_stand_in(key) == nullptr && ask_stand_in(key, true, now) != nullptr) {
            woken_ = true;
        }
    }
    for (const auto& source : retired_) {
        source->step(now);
    }
    std::erase_if(retired_, [](const auto& source) { return !source->has_run(); });
    return next;
}

// Somebody waits for it here.
bool Sources::is_missed(const stream::StreamKey& key) const {
    const stream::Stream* const stream = services_.registry.find(key);
    return stream != nullptr && stream->has_sinks() && !stream->live();
}

// It counts no more; its object stays until its run has ended.
void Sources::retire(Map::iterator at, MonoTime now) {
    const SourceSpec& spec = at->second->spec();
    unnamed_ -= spec.role == SourceRole::kPull && !spec.named ? 1 : 0;
    SourceStats& gone = gone_[static_cast<size_t>(spec.role)];
    gone.attempts += at->second->machine().attempts();
    gone.failures += at->second->machine().failures();
    gone.bytes += at->second->bytes();
    std::unique_ptr<Source> source = std::move(at->second);
    sources_.erase(at);
    source->stop(now);
    if (source->has_run()) {
        retired_.push_back(std::move(source));
    }
}

// ---- configuration ----

void Sources::reconfigure() {
    if (!started_ || stopping_) {
        return;
    }
    const MonoTime now = MonoClock::now();
    std::map<Key, SourceSpec> wanted;
    for (SourceSpec& spec : config_.named ? config_.named() : std::vector<SourceSpec>()) {
        wanted.emplace(key_of(spec), std::move(spec));
    }
    for (const auto& [key, source] : sources_) {
        if (source->spec().named) {
            continue;
        }
        if (key.role == SourceRole::kPull) {
            const auto& ask = key.url == kStandIn ? config_.stand_in : config_.for_any;
            if (std::optional<SourceSpec> spec = ask ? ask(key.stream) : std::nullopt) {
                wanted.emplace(key, std::move(*spec));
            }
            continue;
        }
        for (SourceSpec& spec : config_.forwards(key.stream)) {
            if (spec == source->spec()) {
                wanted.emplace(key, std::move(spec));
            }
        }
    }
    for (auto at = sources_.begin(); at != sources_.end();) {
        const auto here = at++;
        const auto found = wanted.find(here->first);
        if (found != wanted.end()) {
            here->second->set_only_servers(found->second.only_servers);
        }
        if (found == wanted.end() || found->second != here->second->spec()) {
            retire(here, now);
        }
    }
    for (auto& [key, spec] : wanted) {
        if (sources_.contains(key)) {
            continue;
        }
        if (Source* const made = make(std::move(spec), now)) {
            adopt_stream(*made, now);
        }
    }
    // Streams that are played or published already, and have a source or forward only now.
    std::vector<stream::Stream*> streams;
    services_.registry.for_each([&](stream::Stream& stream) { streams.push_back(&stream); });
    for (stream::Stream* const stream : streams) {
        if (stream->live()) {
            begin_forwards(*stream, now);
        } else if (stream->has_sinks()) {
            on_demand(*stream);
        }
    }
    wake();
}

SourceStats Sources::stats(SourceRole role) const {
    SourceStats sum = gone_[static_cast<size_t>(role)];
    for (const auto& [key, source] : sources_) {
        if (key.role == role) {
            sum.attempts += source->machine().attempts();
            sum.failures += source->machine().failures();
            sum.bytes += source->bytes();
        }
    }
    return sum;
}

void Sources::stop(io::Deadline deadline) {
    if (!started_ || stopping_) {
        return;
    }
    stopping_ = true;
    services_.registry.observers().remove(*this);
    keeper_.interrupt();
    keeper_.join();
    for (const auto& [key, protocol] : protocols_) {
        protocol->hurry();
    }
    const MonoTime now = MonoClock::now();
    while (!sources_.empty()) {
        retire(sources_.begin(), now);
    }
    while (!retired_.empty()) {
        woken_ = false;
        look_after_all(MonoClock::now());
        if (retired_.empty() || woken_) {
            continue;
        }
        if (Error late = signal_.wait_even_interrupted(deadline); late && deadline.passed()) {
            log::error("stopping the sources: {} still run", retired_.size());
            break;
        }
    }
}

}  // namespace weir::net
