#include "session/sip/sip_voice.h"

#include <utility>

namespace weir::session {

// While `running`, the worker has all but `owner`; otherwise the media thread has it.
struct SipVoice::Shared {
    void work() {
        if (!line && why.empty() && !failed) {
            Result<std::unique_ptr<VoiceLine>> made = VoiceLine::create(options, noise_seed);
            if (made.ok()) {
                line = std::move(*made);
            } else {
                failed = true;
                why = std::string(made.error().message());
            }
        }
        if (!line) {
            return;
        }
        for (Event& event : input) {
            if (event.tick) {
                line->tick(event.at, [this](ByteSpan frame) {
                    output.emplace_back(frame.begin(), frame.end());
                });
            } else {
                event.packet.payload = event.payload;
                line->handle_packet(event.at, event.packet);
            }
        }
        stats = line->stats();
        silent = line->silent();
    }

    VoiceOptions options;
    uint64_t noise_seed = 0;
    std::unique_ptr<VoiceLine> line;
    bool failed = false;
    std::string why;  // to be logged once
    std::vector<Event> input;
    std::vector<Bytes> output;
    rtp::PlayoutStats stats;
    bool silent = true;
    SipVoice* owner = nullptr;  // media thread only; null: gone
    bool running = false;       // media thread only
};

SipVoice::SipVoice(const VoiceOptions& options,
                   io::WorkerPool* workers,
                   std::string name,
                   uint64_t noise_seed,
                   Output out)
    : options_(options), workers_(workers), name_(std::move(name)), out_(std::move(out)) {
    if (VoiceLine::needs_worker(options)) {
        shared_ = std::make_shared<Shared>();
        shared_->options = options;
        shared_->noise_seed = noise_seed;
        shared_->owner = this;
        return;
    }
    Result<std::unique_ptr<VoiceLine>> made = VoiceLine::create(options, noise_seed);
    if (made.ok()) {  // it is: nothing can fail there
        line_ = std::move(*made);
    }
}

SipVoice::~SipVoice() {
    if (shared_) {
        shared_->owner = nullptr;
    }
}

void SipVoice::handle_packet(MonoTime now, const rtp::PlayoutPacketView& packet) {
    if (line_) {
        line_->handle_packet(now, packet);
    } else if (packet.payload.size() <= rtp::PlayoutBuffer::kMaxPayload) {
        Event event{now, false, packet, Bytes(packet.payload.begin(), packet.payload.end())};
        event.packet.payload = {};
        pend(std::move(event));
    }
}

void SipVoice::tick(MonoTime now) {
    due_ = due_ == MonoTime{} ? now - now.time_since_epoch() % VoiceLine::kTick : due_;
    for (int ticks = 0; now >= due_; ticks++) {
        if (ticks == kMaxTicks) {
            const auto late = static_cast<uint32_t>((now - due_) / VoiceLine::kTick + 1);
            skipped_ += late;
            due_ += late * VoiceLine::kTick;
            break;
        }
        due_ += VoiceLine::kTick;
        step(now);
    }
}

void SipVoice::step(MonoTime now) {
    if (line_) {
        line_->tick(now, [this](ByteSpan frame) { give(frame); });
        stats_ = line_->stats();
        silent_ = line_->silent();
    } else if (shared_) {
        pend({now, true, {}, {}});
        start();
    }
}

void SipVoice::give(ByteSpan frame) {
    out_(MonoClock::now(), frame, std::exchange(skipped_, 0));
}

// The workers cannot follow: what waits is left out, and time goes on.
void SipVoice::pend(Event event) {
    if (pending_.size() == kMaxPending) {
        for (const Event& each : pending_) {
            skipped_ += each.tick ? 1U : 0U;
        }
        dropped_ += pending_.size();
        pending_.clear();
    }
    pending_.push_back(std::move(event));
}

void SipVoice::start() {
    if (shared_->running || pending_.empty() || workers_ == nullptr) {
        return;
    }
    shared_->input.clear();
    shared_->input.swap(pending_);
    shared_->running = true;
    const Error full = workers_->submit([shared = shared_] { shared->work(); },
                                        [shared = shared_] {
                                            shared->running = false;
                                            if (shared->owner != nullptr) {
                                                shared->owner->finish();
                                            }
                                        });
    if (full) {
        shared_->running = false;
        dropped_ += shared_->input.size();
        for (const Event& each : shared_->input) {
            skipped_ += each.tick ? 1U : 0U;
        }
    }
}

void SipVoice::finish() {
    if (!shared_->why.empty()) {
        log::throttled(trouble_, log::Level::kWarn, "no audio of a phone stream={}: {}",
                       log::token(name_), log::escaped(shared_->why, 500));
        shared_->why.clear();
    }
    std::vector<Bytes> output;
    output.swap(shared_->output);
    stats_ = shared_->stats;
    silent_ = shared_->silent;
    const std::shared_ptr<Shared> shared = shared_;  // `out_` may end this
    start();
    for (const Bytes& frame : output) {
        if (shared->owner == nullptr) {
            return;
        }
        give(frame);
    }
}

}  // namespace weir::session
