#include "bench/load/rtc_player.h"

#include <algorithm>

#include "io/deadline.h"

#include "bench/load/http_exchange.h"

namespace weir::load {
namespace {

constexpr int kReadsPerTurn = 16;
constexpr int kCreated = 201;

}  // namespace

// ---- the factory ----

RtcPlayerFactory::RtcPlayerFactory(Target target,
                                   const RtcPlayRunOptions& options,
                                   std::unique_ptr<dtls::Identity> identity)
    : target_(std::move(target)),
      options_(options),
      identity_(std::move(identity)),
      shared_{*identity_, control_, system_random()} {
    media_.nack = options.nack;
    media_.transport_cc = options.transport_cc;
    media_.drop = options.drop_per_mille / 1000.0;
}

RtcPlayerFactory::~RtcPlayerFactory() = default;

Result<std::shared_ptr<RtcPlayerFactory>> RtcPlayerFactory::create(
    Target target, const RtcPlayRunOptions& options) {
    if (options.leave != "delete" && options.leave != "close" && options.leave != "vanish") {
        return make_error(ErrorCode::kMalformed,
                          "--leave: found '{}', expected delete, close or vanish", options.leave);
    }
    if (!options.halt.empty() && options.halt != "created" && options.halt != "ice") {
        return make_error(ErrorCode::kMalformed, "--halt: found '{}', expected created or ice",
                          options.halt);
    }
    WEIR_TRY_ASSIGN(auto identity, dtls::Identity::create());
    return std::shared_ptr<RtcPlayerFactory>(
        // lint: allow-new - private constructor
        new RtcPlayerFactory(std::move(target), options, std::move(identity)));
}

std::unique_ptr<Player> RtcPlayerFactory::make(PlayerListener& listener,
                                               RunTotals& totals,
                                               uint32_t stream) {
    totals.rtc.used = true;
    return std::make_unique<RtcPlayer>(listener, totals, stream, *this);
}

Error RtcPlayerFactory::start() {
    if (!started_) {
        WEIR_TRY_ASSIGN(ticker_, io::Coroutine::spawn("rtc timers", io::StackSize::kNormal,
                                                      [this] { tick(); }));
        started_ = true;
    }
    return {};
}

void RtcPlayerFactory::add(RtcPlayer& player) {
    player.index_ = players_.size();
    players_.push_back(&player);
    due_.push_back(player.client_->next_timeout());
}

void RtcPlayerFactory::remove(RtcPlayer& player) {
    players_[player.index_] = players_.back();
    due_[player.index_] = due_.back();
    players_[player.index_]->index_ = player.index_;
    players_.pop_back();
    due_.pop_back();
}

void RtcPlayerFactory::tick() {
    while (!io::sleep_for(kTick)) {
        const MonoTime now = MonoClock::now();
        // From behind: one that leaves is replaced by the last one, which was looked at.
        for (size_t i = players_.size(); i > 0; i--) {
            if (i <= players_.size() && due_[i - 1] <= now) {
                players_[i - 1]->look(now);
            }
        }
    }
}

void RtcPlayerFactory::take_leave(std::string location) {
    leaving_.push_back(std::move(location));
    if (leavers_.size() < kLeavers) {
        // Without a stack for it, the server finds out by itself.
        if (Error error =
                leavers_.spawn("leaver", io::StackSize::kNormal, [this] { leave_some(); })) {
            leaving_.clear();
        }
    }
}

void RtcPlayerFactory::leave_some() {
    while (!leaving_.empty() && !io::interrupted()) {
        const std::string location = std::move(leaving_.front());
        leaving_.pop_front();
        const auto answer =
            http_exchange(target_.http, rtc_delete_request(target_.authority, location),
                          io::Deadline::after(kLeaveTimeout));
        if (!answer.ok() && answer.error().code() == ErrorCode::kInterrupted) {
            return;
        }
    }
}

void RtcPlayerFactory::stop() {
    if (Error error = leavers_.join_all(io::Deadline::after(kLeaveTimeout))) {
        leavers_.interrupt_all();
        error = leavers_.join_all(io::Deadline::forever());  // interrupted: they end
    }
    ticker_.interrupt();
    ticker_.join();
    started_ = false;
}

// ---- a player ----

RtcPlayer::~RtcPlayer() {
    if (link_) {
        factory_.remove(*this);
    }
}

Error RtcPlayer::connect(const io::SocketAddress* from, io::Deadline deadline) {
    WEIR_TRY(factory_.start());
    const MonoTime asked = MonoClock::now();
    check().joined(now_ns());
    client_ = std::make_unique<RtcPlayClient>(factory_.shared_, out_, totals_.rtc, check(),
                                              factory_.media_, deadline.time() - asked);
    const std::string& halt = factory_.options_.halt;
    client_->halt_at(halt == "created" ? RtcHalt::kCreated
                     : halt == "ice"   ? RtcHalt::kIce
                                       : RtcHalt::kNever);
    const RtcPlayerFactory::Target& target = factory_.target_;
    WEIR_TRY_ASSIGN(const HttpAnswer answer,
                    http_exchange(target.http,
                                  rtc_post_request(target.authority, target.paths[stream_],
                                                   factory_.options_.token, client_->offer()),
                                  deadline, from));
    if (answer.status != kCreated) {
        return make_error(ErrorCode::kDenied, "refused with {}", describe(answer));
    }
    location_ = answer.location;
    WEIR_TRY(client_->take_answer(answer.body, true));
    WEIR_TRY_ASSIGN(link_, UdpLink::open(client_->address(), from, *this));
    out_.to = link_.get();
    client_->begin(asked, MonoClock::now());
    factory_.add(*this);
    return {};
}

void RtcPlayer::on_ready(uint8_t) {
    read();
}

void RtcPlayer::read() {
    for (int i = 0; link_; i++) {
        if (i == kReadsPerTurn) {
            listener().player_has_more(*this);
            break;
        }
        if (!link_->receive([this](std::span<uint8_t> datagram) { return take(datagram); })) {
            break;
        }
    }
    if (link_) {
        factory_.due_[index_] = client_->next_timeout();
    }
}

// False: the player is closed.
bool RtcPlayer::take(std::span<uint8_t> datagram) {
    const MonoTime now = MonoClock::now();
    check().received(datagram.size(), now_ns());
    client_->handle_packet(now, datagram, client_->address());
    follow_up();
    return link_ != nullptr;
}

void RtcPlayer::look(MonoTime now) {
    client_->handle_timeout(now);
    follow_up();
    if (link_) {
        factory_.due_[index_] = client_->next_timeout();
    }
}

void RtcPlayer::follow_up() {
    note_media();
    if (client_->over()) {
        fail(std::string(client_->failure().message()));
    }
}

void RtcPlayer::settle() {
    if (link_) {
        client_->settle();
    }
}

void RtcPlayer::close() {
    if (!link_) {
        return;
    }
    client_->settle();
    check().finish(now_ns());
    const bool is_open = !client_->over();
    if (is_open && factory_.options_.leave == "close") {
        client_->close();
    }
    factory_.remove(*this);
    out_.to = nullptr;
    link_.reset();
    client_.reset();
    if (is_open && factory_.options_.leave == "delete" && !location_.empty()) {
        factory_.take_leave(location_);
    }
}

}  // namespace weir::load
