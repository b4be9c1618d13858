#include "bench/load/player_group.h"

#include <algorithm>

#include "io/deadline.h"

#include "bench/load/tcp_player.h"

namespace weir::load {
namespace {

constexpr size_t kReceiveBuffer = 256 * 1024;
constexpr size_t kConnectors = 256;  // connections in the making at a time
constexpr size_t kReasonBytes = 200;
constexpr size_t kMaxReasons = 100;  // a server may word each refusal differently
constexpr uint32_t kClosesPerTurn = 256;
constexpr uint32_t kWakesPerTurn = 256;

// At most kReasonBytes, in ASCII.
std::string printable(const std::string& text) {
    std::string out = text.substr(0, kReasonBytes);
    std::ranges::replace_if(out, [](char c) { return c < ' ' || c > '~'; }, '?');
    return out;
}

}  // namespace

void GroupCounts::add(const GroupCounts& other) {
    wanted += other.wanted;
    connected += other.connected;
    refused += other.refused;
    broken += other.broken;
    left += other.left;
    had_media += other.had_media;
    playing += other.playing;
}

PlayerGroup::PlayerGroup(GroupOptions options, PlayTarget target)
    : options_(std::move(options)),
      target_(std::move(target)),
      sources_(target_.address),
      buffer_(kReceiveBuffer) {
    totals_.verify = options_.verify;
    totals_.stamped = {options_.stamped[0] && target_.keeps[0],
                       options_.stamped[1] && target_.keeps[1]};
    options_.stall = std::max(options_.stall, target_.least_stall);
    totals_.stall_ns = static_cast<uint64_t>(options_.stall.count()) * 1'000'000;
}

PlayerGroup::~PlayerGroup() = default;

Error PlayerGroup::grow(uint32_t clients, Millis ramp) {
    WEIR_TRY(start_helpers());
    auto first = static_cast<uint32_t>(players_.size());
    players_.reserve(players_.size() + clients);
    clients_.reserve(players_.size() + clients);
    for (uint32_t i = 0; i < clients; i++) {
        players_.push_back(make_player(first + i));
        players_.back()->set_number(first + i);
        Client client;
        client.player = players_.back().get();
        client.number = first + i;
        clients_.push_back(std::move(client));
    }
    waves_.push_back({first, first, first + clients, MonoClock::now(), ramp});
    while (connectors_.size() < std::min<size_t>(kConnectors, players_.size() - tried_)) {
        WEIR_TRY(
            connectors_.spawn("connector", io::StackSize::kNormal, [this] { connect_some(); }));
    }
    return {};
}

std::unique_ptr<Player> PlayerGroup::make_player(uint32_t number) {
    const uint32_t stream = number % options_.streams;
    if (target_.players) {
        return target_.players->make(*this, totals_, stream);
    }
    PlayerListener& listener = *this;
    return std::make_unique<TcpPlayer>(listener, totals_, stream, target_, buffer_);
}

Error PlayerGroup::start_helpers() {
    if (has_helpers_) {
        return {};
    }
    WEIR_TRY_ASSIGN(resumer_, io::Coroutine::spawn("resume", io::StackSize::kNormal,
                                                   [this] { resume_reading(); }));
    WEIR_TRY_ASSIGN(
        waker_, io::Coroutine::spawn("waker", io::StackSize::kNormal, [this] { wake_players(); }));
    has_helpers_ = true;
    if (options_.stay.count() > 0) {
        WEIR_TRY_ASSIGN(leaver_, io::Coroutine::spawn("leaver", io::StackSize::kNormal,
                                                      [this] { let_leave(); }));
    }
    return {};
}

bool PlayerGroup::settled() const {
    if (growing()) {
        return false;
    }
    return std::all_of(players_.begin(), players_.end(), [](const auto& each) {
        return !each->connected() || each->check().has_media();
    });
}

bool PlayerGroup::take_next(uint32_t& number, MonoTime& due) {
    while (!waves_.empty() && waves_.front().next == waves_.front().end) {
        waves_.pop_front();
    }
    if (waves_.empty()) {
        return false;
    }
    Wave& wave = waves_.front();
    number = wave.next++;
    double share =
        static_cast<double>(number - wave.first) / static_cast<double>(wave.end - wave.first);
    due = wave.begin +
          Micros(static_cast<int64_t>(share * 1000.0 * static_cast<double>(wave.ramp.count())));
    return true;
}

void PlayerGroup::connect_some() {
    uint32_t number = 0;
    MonoTime due;
    while (!stopping_ && take_next(number, due)) {
        if (Error error = io::sleep_until(io::Deadline::at(due))) {
            return;
        }
        if (!connect_one(number, due)) {
            return;
        }
    }
}

// False when interrupted. The player's patience begins at its turn: one that the connections before
// it kept waiting for too long does not try any more, so that the ramp ends in time.
bool PlayerGroup::connect_one(uint32_t number, MonoTime due) {
    MonoTime start = MonoClock::now();
    const auto deadline = io::Deadline::at(due + Micros(options_.connect_timeout));
    Player& player = *players_[number];
    Error error = deadline.passed() ? make_error(ErrorCode::kTimeout,
                                                 "no turn to connect within --connect-timeout")
                                    : player.connect(sources_.of(number), deadline);
    if (error && error.code() == ErrorCode::kInterrupted) {
        return false;
    }
    tried_++;
    Client& client = clients_[number];
    client.tried = true;
    if (error) {
        refused_++;
        count_failure(number, std::string(error.message()));
        return true;
    }
    client.connect_us = static_cast<uint64_t>((MonoClock::now() - start).count());
    totals_.connect.add(client.connect_us);
    connected_++;
    if (options_.stay.count() > 0) {
        leaving_.push_back({MonoClock::now() + Micros(options_.stay), number});
        leaving_signal_.notify_one();
    }
    if (!options_.read_at_once && !ReadTurns::is_timed(number, players_.size())) {
        turns_.add(player);
    }
    return true;
}

void PlayerGroup::player_broke(Player& player, const std::string& why) {
    broken_++;
    count_failure(player.number(), why);
}

void PlayerGroup::count_failure(uint32_t number, const std::string& words) {
    const std::string why = printable(words);  // they may be the server's
    clients_[number].failure = why;
    bool is_known = failures_.contains(why);
    failures_[is_known || failures_.size() < kMaxReasons ? why : "for other reasons"]++;
}

void PlayerGroup::player_has_more(Player& player) {
    unread_.push_back(&player);
    unread_signal_.notify_one();
}

void PlayerGroup::player_waits(Player& player, uint64_t due_ns) {
    const bool is_first = waiting_.empty() || due_ns < waiting_.top().due_ns;
    waiting_.push({due_ns, player.number()});
    if (is_first) {
        waiting_signal_.notify_one();
    }
}

void PlayerGroup::wake_players() {
    for (;;) {
        const uint64_t now = now_ns();
        for (uint32_t woken = 0; !waiting_.empty() && waiting_.top().due_ns <= now; woken++) {
            const uint32_t number = waiting_.top().number;
            waiting_.pop();
            players_[number]->wake();
            if (woken % kWakesPerTurn == kWakesPerTurn - 1) {
                io::yield();
            }
        }
        const io::Deadline next =
            waiting_.empty()
                ? io::Deadline::forever()  // ended by stop()
                : io::Deadline::after(Micros((waiting_.top().due_ns - now) / 1000 + 1));
        Error error = waiting_signal_.wait_until(next);
        if (error && error.code() != ErrorCode::kTimeout) {
            return;
        }
    }
}

void PlayerGroup::resume_reading() {
    for (;;) {
        while (unread_.empty()) {
            if (Error error = unread_signal_.wait_until(io::Deadline::forever())) {  // by stop()
                return;
            }
        }
        std::vector<Player*> batch;
        batch.swap(unread_);
        for (Player* each : batch) {
            each->read();
        }
        io::yield();
        if (io::interrupted()) {
            return;
        }
    }
}

void PlayerGroup::let_leave() {
    for (;;) {
        io::Deadline next = leaving_.empty() ? io::Deadline::forever()  // ended by stop()
                                             : io::Deadline::at(leaving_.front().due);
        Error error = leaving_signal_.wait_until(next);
        if (error && error.code() != ErrorCode::kTimeout) {
            return;
        }
        // All stay equally long, so the first to connect is the first to leave.
        MonoTime now = MonoClock::now();
        while (!leaving_.empty() && leaving_.front().due <= now) {
            leave(leaving_.front().number);
            leaving_.pop_front();
        }
    }
}

void PlayerGroup::leave(uint32_t number) {
    Player& player = *players_[number];
    if (player.connected()) {
        player.close();
        clients_[number].left = true;
        left_++;
    }
}

void PlayerGroup::shrink(uint32_t clients) {
    uint32_t closed = 0;
    for (size_t i = players_.size(); i > 0 && closed < clients; i--) {
        if (players_[i - 1]->connected()) {
            leave(static_cast<uint32_t>(i - 1));
            closed++;
            if (closed % kClosesPerTurn == 0) {
                io::yield();
            }
        }
    }
}

void PlayerGroup::stop() {
    stopping_ = true;
    connectors_.interrupt_all();
    if (Error error = connectors_.join_all(io::Deadline::forever())) {  // interrupted: they end
        complain(error.message());
    }
    turns_.stop();
    for (io::Coroutine* each : {&resumer_, &waker_, &leaver_}) {
        each->interrupt();
        each->join();
    }
    for (auto& each : players_) {
        each->close();
    }
    if (target_.players) {
        target_.players->stop();
    }
}

void PlayerGroup::settle() {
    for (auto& each : players_) {
        each->settle();
    }
}

void PlayerGroup::begin_window() {
    for (auto& each : players_) {
        each->settle();
        each->check().begin_window();
    }
    totals_.rtc.begin_window();
    totals_.rtsp.begin_window();
    totals_.hls.begin_window();
    totals_.latency.clear();
    for (Histogram& of_track : totals_.latency_of) {
        of_track.clear();
    }
    totals_.latency_first.clear();
    totals_.latency_last.clear();
}

void PlayerGroup::forget_joins() {
    totals_.connect.clear();
    totals_.first_byte.clear();
    totals_.first_key.clear();
}

GroupCounts PlayerGroup::counts() const {
    GroupCounts counts;
    counts.wanted = players_.size();
    counts.connected = connected_;
    counts.refused = refused_;
    counts.broken = broken_;
    counts.left = left_;
    counts.had_media = had_media_;
    counts.playing =
        static_cast<uint64_t>(std::count_if(players_.begin(), players_.end(), [](const auto& each) {
            return each->connected() && each->check().has_media();
        }));
    return counts;
}

PlaySum PlayerGroup::sum() const {
    PlaySum sum;
    const uint64_t now = now_ns();
    for (const auto& each : players_) {
        sum.add(each->check(), now);
    }
    return sum;
}

PlayerGroup::Behind PlayerGroup::behind(bool judge_gaps) const {
    Behind behind;
    const uint64_t now = now_ns();
    for (const Client& each : clients_) {
        const PlayerCheck& check = each.player->check();
        behind.worst_us = std::max(behind.worst_us, check.drift_us());
        bool is_slow = check.drift_us() > Micros(options_.behind).count();
        bool is_dry = !each.left && ((judge_gaps && check.dried_up()) || check.silent(now));
        behind.players += is_slow || is_dry ? 1U : 0U;
    }
    return behind;
}

}  // namespace weir::load
