#include "net/fanout.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"

namespace weir::net {

Fanout::Fanout(stream::Registry& registry) : registry_(registry) {}

Fanout::~Fanout() {
    WEIR_CHECK(pumps_.empty());
}

Pump* Fanout::pump_for(const stream::StreamKey& key,
                       const stream::Format& format,
                       const PlayRules& rules) {
    stream::Stream& stream = registry_.get_or_create(key, rules.stream, MonoClock::now());
    std::unique_ptr<Pump>& slot = pumps_[{&stream, &format}];
    if (slot) {
        return slot.get();
    }
    slot = std::make_unique<Pump>(*this, stream, format, rules.pump);
    Pump* pump = slot.get();
    Error spawned = tasks_.spawn("pump", io::StackSize::kNormal, [this, pump, &stream, &format] {
        pump->run();
        pumps_.erase({&stream, &format});
        registry_.release(stream);
    });
    if (spawned) {
        log::throttled(no_pump_, log::Level::kError, "no pump for stream={} format={}: {}",
                       log::token(key.to_string()), format.name(), spawned.message());
        pumps_.erase({&stream, &format});
        registry_.release(stream);
        return nullptr;
    }
    return pump;
}

void Fanout::play(const PlayRules& rules,
                  const stream::Format& format,
                  std::unique_ptr<io::TcpStream> stream,
                  std::unique_ptr<PlayerProtocol> protocol,
                  std::unique_ptr<Client> client) {
    Pump* pump = stopping_ ? nullptr : pump_for(client->key, format, rules);
    if (!pump) {
        const EndReason reason = stopping_ ? EndReason::kServerStopping : EndReason::kSystemError;
        client->log_summary(end_class(reason), to_string(reason));
        return;
    }
    stream->apply(rules.socket);
    pump->add(std::move(stream), std::move(protocol), std::move(client));
    pump->stream().note_new_player();
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

void Fanout::write_soon(Pump& pump) {
    if (!writing_) {
        auto spawned = io::Coroutine::spawn("small pumps", io::StackSize::kNormal,
                                            [this] { write_small_pumps(); });
        if (!spawned.ok()) {
            pump.wake();
            return;
        }
        writer_ = std::move(spawned).value();
        writing_ = true;
    }
    if (due_.empty()) {
        due_signal_.notify_one();
    }
    due_.push_back(&pump);
    pump.queued_ = true;
}

void Fanout::forget(Pump& pump) {
    if (pump.queued_) {
        std::ranges::replace(due_, &pump, nullptr);
        std::ranges::replace(batch_, &pump, nullptr);
    }
}

void Fanout::write_small_pumps() {
    while (!io::interrupted()) {
        if (!due_.empty()) {
            write_batch();
        } else if (Error ended = due_signal_.wait_until(io::Deadline::forever())) {  // by stop()
            return;
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
