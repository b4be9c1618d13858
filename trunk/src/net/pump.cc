#include "net/pump.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "io/deadline.h"
#include "io/runtime.h"
#include "io/tcp.h"
#include "net/client.h"
#include "net/fanout.h"
#include "stream/stream.h"

namespace weir::net {
namespace {

// A merge window has up to this many slots, and one for so many players: fewer slots mean fewer
// wake-ups, more of them shorter bursts (doc/adr/0005-fan-out.md).
constexpr size_t kSlotsPerWindow = 8;
constexpr size_t kPlayersPerSlot = 512;
constexpr Micros kShortestSlot{5'000};
constexpr Millis kIdleSweep{1000};    // while players only wait for a publisher
constexpr size_t kWritesPerLook = 8;  // the clock is read after so many

}  // namespace

Pump::Pump(Fanout& fanout,
           stream::Stream& stream,
           const stream::Format& format,
           const PumpOptions& options)
    : fanout_(fanout),
      stream_(stream),
      format_(format),
      options_(options),
      muxer_(format.create_muxer()) {
    stream_.attach(*muxer_);
    edition_ = muxer_->edition();
    muxer_->log().set_listener(this);
}

Pump::~Pump() {
    bury();
    WEIR_CHECK(players() == 0);
    fanout_.forget(*this);
    muxer_->log().set_listener(nullptr);
    stream_.detach(*muxer_);
}

Millis Pump::window() const {
    return options_.merge_window.value_or(fanout_.automatic_window().window());
}

// The begin of the slot that the time is in; the time itself when nothing is held back.
MonoTime Pump::slot_of(MonoTime time) const {
    return window() == Millis::zero() ? time : time - time.time_since_epoch() % slot();
}

Micros Pump::slot() const {
    const auto slots = std::clamp<size_t>(flowing_.size() / kPlayersPerSlot, 1, kSlotsPerWindow);
    return std::max<Micros>(kShortestSlot, Micros(window()) / static_cast<int>(slots));
}

FileWrites& Pump::file_writes() {
    return fanout_.file_writes();
}

void Pump::note_large_write() {
    if (players() >= FileWrites::kLeastPlayers && ++large_writes_ == FileWrites::kWritesToBegin) {
        muxer_->log().use_file();
    }
}

PumpStats& Pump::stats() {
    return fanout_.stats();
}

PlayerList* Pump::list_of(Player::State state) {
    switch (state) {
        case Player::State::kWaiting: return &waiting_;
        case Player::State::kFlowing: return &flowing_;
        case Player::State::kBlocked: return &blocked_;
        case Player::State::kPaused: return &paused_;
        case Player::State::kEnded: return &ended_;
    }
    return &ended_;
}

void Pump::enter(Player& player, Player::State state, MonoTime now) {
    list_of(player.state_)->remove(player);
    player.state_ = state;
    player.since_ = now;
    list_of(state)->push_back(player);
}

// The sweep sees a send buffer that is full and stays so. Before it is full, which takes a thin
// stream a minute and more, only the kernel knows that the peer takes nothing: it ends the
// connection after the same time (ETIMEDOUT).
void Pump::limit_stall(io::TcpStream& stream) const {
    stream.apply({.user_timeout = options_.write_stall});
}

void Pump::reconfigure(const PumpOptions& options) {
    const bool other_stall = options.write_stall != options_.write_stall;
    options_ = options;
    for (PlayerList* list : {&waiting_, &flowing_, &blocked_, &paused_}) {
        for (Player* player = other_stall ? list->first() : nullptr; player;
             player = PlayerList::next(*player)) {
            limit_stall(*player->stream_);
        }
    }
    wake();  // it may be due sooner now
}

void Pump::wake() {
    if (!woken_) {
        woken_ = true;
        signal_.notify_one();
    }
}

// Whether the newest entry waits for the next video frame.
bool Pump::rides() {
    if (options_.merge_window || flowing_.empty()) {
        ride_.end();
        return false;
    }
    if (!log().newest_rides() && !ride_.waits()) {
        return false;  // no need for the clock
    }
    const MonoTime now = MonoClock::now();
    const AudioRide::Verdict verdict = ride_.take(log(), now);
    if (verdict == AudioRide::Verdict::kBegins) {
        fanout_.end_ride_later(*this, now);
    }
    return verdict != AudioRide::Verdict::kDue;
}

void Pump::end_ride() {
    ride_.end();
    notice();
}

void Pump::on_log_change() {
    if (muxer_->edition() != edition_) {
        wake();
    } else if (!rides()) {
        notice();
    }
}

// There is something for the players. While the first flowing player is known to be behind, the
// pump comes by itself when it is due.
void Pump::notice() {
    if (stream_.live() && window() == Millis::zero() && waiting_.empty() &&
        flowing_.size() <= kSmall && !woken_ && !outran_sweep()) {
        if (!queued_ && !flowing_.empty()) {
            fanout_.write_soon(*this);
        }
    } else if (!due_armed_ || !waiting_.empty() || outran_sweep()) {
        wake();
    }
}

// A stream so fast that the period of the sweep would let slow players hold far more than their
// queue.
bool Pump::outran_sweep() const {
    return !blocked_.empty() && muxer_->log().head() - swept_head_ > options_.queue_bytes / 4;
}

void Pump::add(std::unique_ptr<io::TcpStream> stream,
               std::unique_ptr<PlayerProtocol> protocol,
               std::unique_ptr<Client> client) {
    const MonoTime now = MonoClock::now();
    limit_stall(*stream);
    // Owned by the lists from here on; bury() deletes.
    auto* player =
        std::make_unique<Player>(*this, std::move(stream), std::move(protocol), std::move(client))
            .release();
    waiting_.push_back(*player);
    count(*player->client_, true);
    player->protocol_->on_joined(*player);
    // What the peer said before the hand-over is still in its protocol or in the socket.
    if (!player->hear({}) || (player->stream_->readable() && !player->read_peer())) {
        return;
    }
    if (player->state_ == Player::State::kWaiting && log().has_start()) {
        begin(*player, now);
    } else {
        if (player->state_ == Player::State::kWaiting && !stream_.live()) {
            tell_wait(*player);
        }
        write_to(*player, now);
    }
    wake();
}

void Pump::tell_wait(Player& player) {
    log::info_as(player.client_->id(), "waits for a publisher stream={} for {} s at most",
                 log::token(stream_.key().to_string()),
                 std::chrono::duration<double>(options_.wait_publisher).count());
    Bytes words;
    player.protocol_->on_wait(words);
    (void)player.say(log(), words);  // few bytes
}

void Pump::begin(Player& player, MonoTime now) {
    if (!player.protocol_->fits(*muxer_)) {
        end(player, EndReason::kCodecsChanged);
        return;
    }
    player.place(stream_, *muxer_);
    // What the peer said before playing began may be answered now.
    if (player.hear({})) {
        write_to(player, now);
    }
}

void Pump::run() {
    while (!io::interrupted()) {
        bury();
        if (players() == 0) {
            return;
        }
        MonoTime now = MonoClock::now();
        woken_ = false;
        fanout_.automatic_window().update(now, &io::busy_share);
        end_misfits();
        start_waiting(now);
        pass(now);
        now = MonoClock::now();
        if (now >= next_sweep_ || outran_sweep()) {
            sweep(now);
        }
        if (woken_ || !ended_.empty()) {
            continue;
        }
        const Micros wait = until_next_due(now);
        due_armed_ = first_is_behind();
        Error waited = signal_.wait_until(io::Deadline::after(wait));
        due_armed_ = false;
        if (waited.code() == ErrorCode::kInterrupted) {
            break;
        }
    }
    for (PlayerList* list : {&waiting_, &flowing_, &blocked_, &paused_}) {
        while (Player* player = list->first()) {
            end(*player, EndReason::kServerStopping);
        }
    }
    bury();
}

bool Pump::first_is_behind() const {
    const Player* first = flowing_.first();
    return first && first->cursor_.position() < ride_.due_head(muxer_->log());
}

bool Pump::is_due(const Player& player) const {
    return player.outbox_ || player.cursor_.position() < ride_.due_head(muxer_->log());
}

// How long the pump may sleep when nothing is appended.
Micros Pump::until_next_due(MonoTime now) const {
    Micros wait = std::chrono::hours(1);
    if (first_is_behind()) {
        const MonoTime due = flowing_.first()->since_ + window();
        wait = std::max(slot_of(due + slot() - Micros(1)) - now, Micros::zero());
    }
    if (!blocked_.empty()) {
        wait = std::min<Micros>(wait, kSweepPeriod);
    }
    if (!waiting_.empty() || !stream_.live()) {
        wait = std::min<Micros>(wait, kIdleSweep);
    }
    return wait;
}

bool Pump::spend_slice(size_t& writes, MonoTime& slice_begin) {
    if (++writes % kWritesPerLook != 0 ||
        (writes < kWritesPerSlice && MonoClock::now() - slice_begin < kSlice)) {
        return true;
    }
    io::yield();
    writes = 0;
    slice_begin = MonoClock::now();
    return !io::interrupted();
}

void Pump::end_misfits() {
    if (edition_ == muxer_->edition()) {
        return;
    }
    edition_ = muxer_->edition();
    for (PlayerList* list : {&waiting_, &flowing_, &blocked_, &paused_}) {
        Player* next = nullptr;
        for (Player* player = list->first(); player; player = next) {
            next = PlayerList::next(*player);
            if (player->protocol_->fits(*muxer_)) {
                continue;
            }
            const EndReason why = player->protocol_->misfit();
            if (why == EndReason::kPublisherGone) {
                write_to(*player, MonoClock::now());
            }
            end(*player, why);
        }
    }
}

void Pump::start_waiting(MonoTime now) {
    size_t writes = 0;
    MonoTime slice_begin = now;
    while (log().has_start() && !waiting_.empty() && !io::interrupted()) {
        begin(*waiting_.first(), now);
        if (!spend_slice(writes, slice_begin)) {
            return;
        }
    }
}

void Pump::pass(MonoTime now) {
    stats().passes++;
    size_t writes = 0;
    MonoTime slice_begin = now;
    const MonoTime written_before = now - window();
    while (Player* player = flowing_.first()) {
        if (!is_due(*player) || player->since_ > written_before) {
            return;
        }
        flowing_.prefetch_behind(*player);
        write_to(*player, now);
        if (!spend_slice(writes, slice_begin)) {
            return;
        }
        if (writes == 0) {
            wake();  // the sweep, the window and new players have their turn, then this goes on
            return;
        }
    }
}

void Pump::write_now(MonoTime now) {
    stats().passes++;
    fanout_.automatic_window().update(now, &io::busy_share);
    for (size_t i = edition_ == muxer_->edition() ? flowing_.size() : 0; i > 0; i--) {
        Player* player = flowing_.first();
        if (!player || !is_due(*player)) {
            return;
        }
        write_to(*player, now, kMaxWritesNow);
    }
}

void Pump::write_to(Player& player, MonoTime now, int most) {
    const uint64_t sent_before = player.client_->sent_bytes;
    Player::Flush flush = Player::Flush::kMore;
    for (int i = 0; i < most && flush == Player::Flush::kMore; i++) {
        flush = player.flush(log());
    }
    if (flush == Player::Flush::kEnded) {
        return;
    }
    if (!player.placed_ || player.state_ == Player::State::kPaused) {
        return;  // only private bytes; what is left of them goes out at the next edge
    }
    const bool blocked = flush == Player::Flush::kBlocked;
    const bool progress = player.client_->sent_bytes > sent_before;
    if (blocked && player.state_ == Player::State::kBlocked && !progress) {
        return;
    }
    if (blocked && player.state_ != Player::State::kBlocked) {
        player.client_->write_stalls++;
        stats().blocked++;
    }
    enter(player, blocked ? Player::State::kBlocked : Player::State::kFlowing,
          blocked ? now : slot_of(now));
    if (flush == Player::Flush::kMore || (blocked && blocked_.size() == 1)) {
        wake();  // it has had its share and no edge will come; or the sweep has somebody to look
                 // after from now on
    }
}

void Pump::pause(Player& player) {
    if (player.state_ == Player::State::kPaused) {
        return;
    }
    if (player.placed_) {
        player.close_entry(log());
        player.unplace();
    }
    enter(player, Player::State::kPaused, MonoClock::now());
}

void Pump::resume(Player& player) {
    if (player.outbox_ && player.outbox_->bytes.size() > Player::kMaxResumeBytes) {
        end(player, EndReason::kProtocolError);
        return;
    }
    if (player.state_ == Player::State::kPaused) {
        enter(player, Player::State::kWaiting, MonoClock::now());
        wake();
    }
}

void Pump::sweep(MonoTime now) {
    next_sweep_ = now + kSweepPeriod;
    swept_head_ = log().head();
    sweep_blocked(now);
    if (!stream_.live()) {
        sweep_waiting(now);
    }
}

void Pump::sweep_blocked(MonoTime now) {
    Player* next = nullptr;
    for (Player* player = blocked_.first(); player; player = next) {
        next = PlayerList::next(*player);
        if (now - player->since_ > options_.write_stall) {
            end(*player, EndReason::kWriteStalled);
            continue;
        }
        const bool behind = log().bytes_behind(player->cursor_) > options_.queue_bytes ||
                            log().ms_behind(player->cursor_) > options_.queue_length.count();
        // Within the newest GOP (a long one) there is nothing newer to move to.
        if (behind &&
            (!log().has_start() || log().start().position() > player->cursor_.position())) {
            stats().resyncs++;
            const MonoTime since = player->since_;
            player->resync(stream_, *muxer_);
            if (!player->placed_) {
                enter(*player, Player::State::kWaiting, since);
            }
        }
    }
}

// Nobody publishes: players are told when their wait is over.
void Pump::sweep_waiting(MonoTime now) {
    if (now - stream_.absent_since() <= options_.wait_publisher) {
        return;
    }
    for (PlayerList* list : {&waiting_, &flowing_, &blocked_, &paused_}) {
        Player* next = nullptr;
        for (Player* player = list->first(); player; player = next) {
            next = PlayerList::next(*player);
            if (now - player->joined_ > options_.wait_publisher) {
                end(*player,
                    player->started_ ? EndReason::kPublisherGone : EndReason::kNoPublisher);
            }
        }
    }
}

void Pump::end(Player& player, EndReason reason, std::string_view detail) {
    if (player.state_ == Player::State::kEnded) {
        return;
    }
    Bytes last_words;
    player.protocol_->on_end(reason, player.started_, last_words);
    const bool at_boundary =
        player.open_frame_bytes() == 0 &&
        (!player.placed_ || log().next_boundary(player.cursor_) == player.cursor_.position());
    if (!last_words.empty() && at_boundary && !player.outbox_) {
        const io::IoResult result = player.stream_->try_write(last_words);
        player.client_->sent_bytes += result.status == io::IoStatus::kDone ? result.bytes : 0;
    }
    stats().stalled += reason == EndReason::kWriteStalled ? 1 : 0;
    player.client_->log_summary(end_class(reason), detail.empty() ? to_string(reason) : detail);
    player.client_->probe = nullptr;
    count(*player.client_, false);
    player.stream_->close();
    player.cursor_ = {};
    player.outbox_.reset();
    enter(player, Player::State::kEnded, MonoClock::now());
    wake();
}

void Pump::complete(Player& player) {
    enter(player, Player::State::kFlowing, MonoClock::now());  // it has taken everything
    release(player);
}

void Pump::release(Player& player) {
    if (player.outbox_) {
        write_to(player, MonoClock::now());  // answers to what it said before
        if (player.state_ == Player::State::kEnded) {
            return;
        }
    }
    if (player.outbox_ || player.state_ == Player::State::kBlocked) {
        end(player, EndReason::kPeerClosed);  // it talks on while it does not read: no conversation
        return;
    }
    player.stream_->set_handler(nullptr);
    player.client_->kick = nullptr;
    player.client_->probe = nullptr;
    count(*player.client_, false);
    enter(player, Player::State::kEnded, MonoClock::now());
    player.cursor_ = {};
    PlayerProtocol& protocol = *player.protocol_;
    protocol.on_released(std::move(player.protocol_), std::move(player.stream_),
                         std::move(player.client_));
    wake();
}

void Pump::count(const Client& client, bool comes) {
    const std::string_view transport = client.transport();
    auto place = std::ranges::find_if(
        by_transport_, [&](const TransportCount& each) { return each.transport == transport; });
    if (place == by_transport_.end()) {
        place = by_transport_.insert(place, {client.transport(), 0});
    }
    comes ? place->players++ : place->players--;
}

void Pump::bury() {
    while (Player* player = ended_.first()) {
        ended_.remove(*player);
        std::unique_ptr<Player>(player).reset();
    }
}

}  // namespace weir::net
