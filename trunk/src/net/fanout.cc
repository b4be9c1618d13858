#include "net/fanout.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "io/deadline.h"
#include "io/tcp.h"
#include "net/audio_ride.h"
#include "net/client.h"
#include "net/play_rules.h"
#include "net/player_protocol.h"
#include "net/pump.h"
#include "stream/muxer.h"
#include "stream/registry.h"
#include "stream/stream.h"
#include "stream/stream_key.h"
#include "stream/stream_options.h"

namespace weir::net {

Fanout::Fanout(stream::Registry& registry) : registry_(registry) {}

Fanout::~Fanout() {
    WEIR_CHECK(pumps_.empty());
}

Result<StreamPump*> Fanout::pump_for(
    const stream::StreamKey& key,
    const stream::StreamOptions& options,
    const PumpKind& kind,
    const std::function<std::unique_ptr<StreamPump>(stream::Stream&)>& make) {
    if (stopping_) {
        return make_error(ErrorCode::kInterrupted, "the server is stopping");
    }
    stream::Stream& stream = registry_.get_or_create(key, options, MonoClock::now());
    const PumpKey place{&stream, kind.id};
    std::unique_ptr<StreamPump>& slot = pumps_[place];
    if (slot) {
        return slot.get();
    }
    slot = make(stream);
    StreamPump* pump = slot.get();
    Error spawned = tasks_.spawn(kind.coroutine, io::StackSize::kNormal, [this, pump, place] {
        pump->run();
        stream::Stream& served = pump->stream();
        pumps_.erase(place);
        registry_.release(served);
    });
    if (spawned) {
        log::throttled(no_pump_, log::Level::kError, "no pump for stream={} format={}: {}",
                       log::token(key.to_string()), kind.name, spawned.message());
        pumps_.erase(place);
        registry_.release(stream);
        return spawned;
    }
    return pump;
}

StreamPump* Fanout::find(const stream::Stream& stream, const PumpKind& kind) const {
    const auto found = pumps_.find({&stream, kind.id});
    return found == pumps_.end() ? nullptr : found->second.get();
}

void Fanout::play(const PlayRules& rules,
                  const stream::Format& format,
                  std::unique_ptr<io::TcpStream> stream,
                  std::unique_ptr<PlayerProtocol> protocol,
                  std::unique_ptr<Client> client) {
    const Result<StreamPump*> found = pump_for(
        client->key, rules.stream, {&format, format.name()},
        [&](stream::Stream& of) { return std::make_unique<Pump>(*this, of, format, rules.pump); });
    if (!found.ok()) {
        const EndReason reason = stopping_ ? EndReason::kServerStopping : EndReason::kSystemError;
        client->log_summary(end_class(reason), to_string(reason));
        return;
    }
    stream->apply(rules.socket);
    Pump& pump = static_cast<Pump&>(**found);  // what is kept under a format is a Pump
    pump.add(std::move(stream), std::move(protocol), std::move(client));
    pump.stream().note_new_player();
}

void Fanout::reconfigure(
    const std::function<std::optional<PumpOptions>(const stream::StreamKey&)>& ask) {
    for (const auto& [key, pump] : pumps_) {
        if (const std::optional<PumpOptions> options = ask(pump->stream().key())) {
            pump->reconfigure(*options);
        }
    }
}

size_t Fanout::players(const stream::Stream& stream) const {
    size_t count = 0;
    for (auto at = pumps_.lower_bound({&stream, nullptr});
         at != pumps_.end() && at->first.first == &stream; ++at) {
        count += at->second->players();
    }
    return count;
}

bool Fanout::start_writer() {
    if (!writing_) {
        auto spawned =
            io::Coroutine::spawn("small pumps", io::StackSize::kNormal, [this] { run_writer(); });
        if (!spawned.ok()) {
            return false;
        }
        writer_ = std::move(spawned).value();
        writing_ = true;
    }
    return true;
}

void Fanout::write_soon(Pump& pump) {
    if (!start_writer()) {
        pump.wake();
        return;
    }
    if (due_.empty()) {
        due_signal_.notify_one();
    }
    due_.push_back(&pump);
    pump.queued_ = true;
}

void Fanout::end_ride_later(Pump& pump, MonoTime now) {
    if (!start_writer()) {
        pump.end_ride();
        return;
    }
    if (rides_.empty()) {
        due_signal_.notify_one();
    }
    rides_.push_back({&pump, now});
}

void Fanout::forget(Pump& pump) {
    if (pump.queued_) {
        std::ranges::replace(due_, &pump, nullptr);
        std::ranges::replace(batch_, &pump, nullptr);
    }
    for (Ride& ride : rides_) {
        ride.pump = ride.pump == &pump ? nullptr : ride.pump;
    }
}

void Fanout::run_writer() {
    while (!io::interrupted()) {
        end_rides();
        if (!due_.empty()) {
            write_batch();
            continue;
        }
        const io::Deadline next =
            rides_.empty() ? io::Deadline::forever()
                           : io::Deadline::at(rides_.front().since + AudioRide::kLongest);
        const Error woken = due_signal_.wait_until(next);
        if (woken.code() == ErrorCode::kInterrupted) {  // by stop()
            return;
        }
    }
}

// Most of them have left with a video frame: they are forgotten without a wake-up of their own.
void Fanout::end_rides() {
    const MonoTime over = MonoClock::now() - AudioRide::kLongest;
    while (!rides_.empty()) {
        const Ride ride = rides_.front();
        const bool waits = ride.pump != nullptr && ride.pump->rides_since(ride.since);
        if (waits && ride.since > over) {
            return;
        }
        rides_.pop_front();
        if (waits) {
            ride.pump->end_ride();
        }
    }
}

void Fanout::write_batch() {
    batch_.swap(due_);
    MonoTime now = MonoClock::now();
    for (Pump*& each : batch_) {
        Pump* pump = std::exchange(each, nullptr);
        if (!pump) {
            continue;
        }
        pump->queued_ = false;
        pump->write_now(now);
        const MonoTime after = MonoClock::now();
        if (after - now > Pump::kSlice) {
            io::yield();
            now = MonoClock::now();
        }
    }
    batch_.clear();
}

void Fanout::stop(io::Deadline deadline) {
    stopping_ = true;
    tasks_.interrupt_all();
    if (Error late = tasks_.join_all(deadline)) {
        log::error("stopping the players: {}", late.message());
    }
    writer_.interrupt();
    writer_.join();
    writing_ = false;
}

}  // namespace weir::net
