#include "bench/load/read_turns.h"

#include <algorithm>

#include "io/deadline.h"
#include "io/runtime.h"

namespace weir::load {
namespace {

constexpr int kReadsPerYield = 64;

}  // namespace

ReadTurns::~ReadTurns() {
    stop();
}

bool ReadTurns::is_timed(uint32_t number, size_t players) {
    const auto stride =
        static_cast<uint32_t>(std::clamp<size_t>(players / kTimedPlayers, 1, kMaxStride));
    // One of each `stride` in a row, another one each time: streams are dealt out in turn, too.
    const uint32_t scattered = (number / stride * 2'654'435'761U) >> 16;
    return number % stride == scattered % stride;
}

void ReadTurns::add(Player& player) {
    awake_.push_back(&player);
    if (!started_) {
        auto spawned =
            io::Coroutine::spawn("read turns", io::StackSize::kNormal, [this] { run(); });
        if (!spawned.ok()) {
            return;  // they read at once then
        }
        coroutine_ = std::move(spawned).value();
        started_ = true;
    }
}

void ReadTurns::stop() {
    if (started_) {
        coroutine_.interrupt();
        coroutine_.join();
        started_ = false;
    }
}

void ReadTurns::run() {
    MonoTime next = MonoClock::now();
    for (uint32_t slice = 0;; slice = (slice + 1) % kSlices) {
        // Late: the turns are stretched, not doubled.
        next = std::max(next + Micros(kTurn) / kSlices, MonoClock::now());
        if (Error error = io::sleep_until(io::Deadline::at(next))) {
            return;
        }
        if (slice == 0) {
            lay_to_rest();
        }
        if (!read_slice(slice)) {
            return;
        }
    }
}

void ReadTurns::lay_to_rest() {
    const uint64_t now = now_ns();
    std::erase_if(awake_, [&](Player* player) {
        if (!player->may_rest(now)) {
            return false;
        }
        player->rest();
        resting_.push_back(player);
        return true;
    });
}

// False: interrupted.
bool ReadTurns::read_slice(uint32_t slice) {
    int reads = 0;
    for (size_t i = slice; i < resting_.size(); i += kSlices) {
        if (!resting_[i]->read_turn()) {
            resting_[i] = resting_.back();
            resting_.pop_back();
        }
        if (++reads == kReadsPerYield) {
            reads = 0;
            io::yield();
            if (io::interrupted()) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace weir::load
