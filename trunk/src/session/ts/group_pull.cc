#include "session/ts/group_pull.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "net/source/run_publisher.h"
#include "net/source/source_spec.h"
#include "net/ts/fast_change_link.h"
#include "net/ts/group_input.h"
#include "net/ts/group_receiver.h"
#include "net/ts/group_stats.h"
#include "net/ts/ts_carrier.h"
#include "net/ts/ts_ingest.h"
#include "stream/stream.h"

namespace weir::session {
namespace {

constexpr Millis kStatsPeriod{1'000};
constexpr int kBusyTurns = 4;  // without a look at the parities

class GroupPullRun final : private net::RtpOrderOutput {
  public:
    GroupPullRun(const GroupPull& owner, net::SourceRun& run)
        : owner_(owner),
          run_(run),
          output_(run),
          target_(owner.hints().take(MonoClock::now(), run.spec().key)),
          input_(*this,
                 {.fec = run.spec().url.group.fec_port != 0, .fast_change = target_.has_value()}) {}

    // Yields.
    Error run() {
        begin_fast_change();
        if (!fast_) {
            WEIR_TRY(join());
        }
        run_.connected();
        Error why = flow();
        const net::GroupStats stats = this->stats();
        run_.note_group(stats);
        tell(stats);
        return why;
    }

  private:
    Error join() {
        const net::GroupAddress& group = run_.spec().url.group;
        WEIR_TRY_ASSIGN(receiver_, net::GroupReceiver::open(group));
        WEIR_TRY(open_parities(group));
        joined_ = MonoClock::now();
        return {};
    }

    // ---- fast channel change ----

    void begin_fast_change() {
        if (!target_) {
            return;
        }
        const std::string server = target_->server.to_string();
        auto link = net::FastChangeLink::open(std::move(*target_), run_.spec().url.group.to,
                                              [this](MonoTime now, ByteSpan datagram) {
                                                  last_datagram_ = now;
                                                  run_.note_bytes(datagram.size());
                                                  input_.feed(now, datagram);
                                              });
        if (!link.ok()) {
            log::warn("fast channel change with {}: {}", server, link.error().message());
            return;
        }
        fast_ = std::move(link).value();
    }

    // Never yields. True: there is more.
    bool read_unicast(MonoTime now, bool& more) {
        more = fast_->read(now);
        const net::FastChange& change = fast_->change();
        if (change.wants_group() && !receiver_) {
            output_.fail(join());
            input_.set_patience(GroupPull::kOverlapPatience);
        }
        if (!change.is_over()) {
            return false;
        }
        fast_changed_ = change.packets();
        log::info("fast channel change packets={} outcome=\"{}\"", change.packets(),
                  change.outcome());
        return true;
    }

    // Columns or Reed-Solomon parities come to the port that the address names, rows two behind it
    // (ST 2022-1 §7). What comes to the port of the group itself is read anyway.
    Error open_parities(net::GroupAddress group) {
        constexpr uint16_t kRows = net::GroupInput::kRowPort - net::GroupInput::kColumnPort;
        const uint16_t media = group.to.port();
        const uint16_t columns = group.fec_port;
        for (const int port : {int{columns}, columns + kRows}) {
            if (columns == 0 || port > UINT16_MAX || port == media) {
                continue;
            }
            group.to = group.to.with_port(static_cast<uint16_t>(port));
            WEIR_TRY_ASSIGN(std::unique_ptr<net::GroupReceiver> receiver,
                            net::GroupReceiver::open(group));
            parities_.push_back(std::move(receiver));
        }
        return {};
    }

    Error flow() {
        last_datagram_ = MonoClock::now();
        for (;;) {
            const MonoTime now = MonoClock::now();
            look_after_outputs(now);
            const bool more = read(now);
            publish_carried(now);
            WEIR_TRY(std::move(output_.failure()));
            if (run_.media_deadline().passed()) {
                return run_.silence();
            }
            look_after_group(now);
            if (more) {
                io::yield();  // players take what is there before the next comes
                if (io::interrupted()) {
                    return make_error(ErrorCode::kInterrupted, "the group is left");
                }
            } else {
                WEIR_TRY(io::sleep_until(io::Deadline::at(next_turn())));
            }
        }
    }

    // Never yields. True: there is more.
    bool read(MonoTime now) {
        bool unicast = false;
        if (fast_ && read_unicast(now, unicast)) {
            // What was out of step is given out, or up, after the usual time.
            fast_.reset();
            input_.set_patience(net::RtpOrderOptions::kPatience);
        }
        if (!receiver_) {
            input_.handle_timeout(now);
            return unicast;
        }
        const bool more = receiver_->read([&](ByteSpan datagram) {
            last_datagram_ = now;
            run_.note_bytes(datagram.size());
            if (fast_) {
                fast_->change().feed_group(now, datagram);
            }
            input_.feed(now, datagram);
        });
        if (more && ++busy_turns_ < kBusyTurns) {
            input_.handle_timeout(now);
            return more;  // what the group holds needs no recovery
        }
        busy_turns_ = 0;
        for (const auto& parities : parities_) {
            parities->read([&](ByteSpan datagram) {
                run_.note_bytes(datagram.size());
                input_.feed_parity(now, datagram);
            });
        }
        input_.handle_timeout(now);
        return more;
    }

    // All groups have their turn at the same times, so that they share wake-ups.
    MonoTime next_turn() const {
        const MonoTime now = MonoClock::now();
        const stream::Stream* const stream = run_.stream();
        const Millis period =
            now - last_datagram_ > GroupPull::kIdle
                ? GroupPull::kIdleBatch
                : GroupPull::batch_for(stream != nullptr ? owner_.players_of(*stream) : 0);
        return now - now.time_since_epoch() % Micros(period) + period;
    }

    void look_after_group(MonoTime now) {
        if (now >= next_stats_) {
            next_stats_ = now + kStatsPeriod;
            run_.note_group(stats());
        }
        const Millis again = owner_.join_again_period();
        if (receiver_ && again != Millis::zero() && now - joined_ >= again) {
            joined_ = now;
            output_.fail(receiver_->join_again());
            for (const auto& parities : parities_) {
                output_.fail(parities->join_again());
            }
        }
    }

    // ---- who takes what ----

    void look_after_outputs(MonoTime now) {
        stream::Stream* const stream = run_.stream();
        const bool carried = run_.spec().carried;
        if (carried ||
            (stream != nullptr && stream->has_audience(media::Audience::kTransportStream))) {
            if (!carrier_) {
                carrier_.emplace(run_.kept_bytes());
            }
        } else if (carrier_) {
            carrier_.reset();
            run_.end_transport();
        }
        if (!carried || (stream != nullptr && stream->wants_frames())) {
            frames_wanted_ = now;
            begin_frames(now);
        } else if (ingest_ && now - frames_wanted_ > GroupPull::kFramesLinger) {
            add_frames(gone_, *ingest_);
            ingest_.reset();
            if (stream != nullptr) {
                stream->end_frames(run_.publisher());
            }
        }
    }

    // With what is kept of the transport stream: who wants frames has a picture at once.
    void begin_frames(MonoTime now) {
        if (ingest_) {
            return;
        }
        ingest_ = std::make_unique<net::TsIngest>(output_);
        const stream::Stream* const stream = run_.stream();
        if (stream == nullptr) {
            return;
        }
        const std::vector<media::PacketRef> kept = stream->kept_transport();
        uint64_t bytes = 0;
        for (const media::PacketRef& packet : kept) {
            bytes += packet->body().size();
        }
        for (const media::PacketRef& packet : kept) {
            if (bytes <= GroupPull::kMaxReplayBytes) {
                feed_ingest(now, packet->body());
            }
        }
    }

    void feed_ingest(MonoTime now, ByteSpan bytes) {
        if (!output_.failure()) {
            output_.fail(ingest_->feed(now, bytes));
        }
    }

    void publish_carried(MonoTime now) {
        if (!carrier_) {
            return;
        }
        carrier_->take(now, [&](Ref<media::MediaPacket> packet) {
            output_.publish_transport(std::move(packet));
        });
    }

    // ---- net::RtpOrderOutput ----

    void on_ordered(MonoTime now, ByteSpan bytes) override {
        if (carrier_) {
            carrier_->feed(bytes);
        }
        if (ingest_) {
            feed_ingest(now, bytes);
        }
    }

    void on_gap() override {
        if (carrier_) {
            carrier_->lose();
        }
        if (ingest_) {
            ingest_->lose();
        }
    }

    // ---- what is said of it ----

    static void add_frames(net::GroupStats& to, const net::TsIngest& ingest) {
        to.frames += ingest.stats().frames;
        to.dropped_frames += ingest.stats().dropped_frames;
    }

    net::GroupStats stats() const {
        net::GroupStats stats = gone_;
        const io::UdpStats socket = receiver_ ? receiver_->stats() : io::UdpStats();
        const net::RtpOrderCounters& order = input_.counters();
        stats.datagrams = socket.received;
        stats.bytes = socket.received_bytes;
        stats.kernel_drops = socket.kernel_drops;
        stats.strangers = receiver_ ? receiver_->strangers() : 0;
        stats.unicast = fast_ ? fast_->change().packets() : fast_changed_;
        stats.foreign = order.foreign;
        stats.lost = order.lost;
        stats.reordered = order.reordered;
        stats.late = order.late;
        stats.duplicates = order.duplicates;
        stats.restarts = order.restarts;
        if (const net::FecCounters* const fec = input_.fec_counters()) {
            stats.recovered = fec->recovered;
            stats.parities = fec->parities;
        }
        stats.receive_buffer =
            receiver_ ? static_cast<uint64_t>(receiver_->receive_buffer_bytes()) : 0;
        if (ingest_) {
            add_frames(stats, *ingest_);
            stats.continuity_errors = ingest_->counters().continuity_errors;
        }
        if (carrier_) {
            stats.continuity_errors = carrier_->counters().continuity_errors;
        }
        return stats;
    }

    // One line with what came and what did not.
    static void tell(const net::GroupStats& stats) {
        log::info(
            "group datagrams={} bytes={} kernel_drops={} strangers={} foreign={} lost={} "
            "parities={} recovered={} reordered={} late={} duplicates={} restarts={} "
            "continuity_errors={} "
            "frames={} "
            "dropped_frames={}",
            stats.datagrams, stats.bytes, stats.kernel_drops, stats.strangers, stats.foreign,
            stats.lost, stats.parities, stats.recovered, stats.reordered, stats.late,
            stats.duplicates, stats.restarts, stats.continuity_errors, stats.frames,
            stats.dropped_frames);
    }

    const GroupPull& owner_;
    net::SourceRun& run_;
    net::RunPublisher output_;
    std::optional<net::FastChangeTarget> target_;  // until it is begun
    net::GroupInput input_;
    std::unique_ptr<net::FastChangeLink> fast_;                  // until the group is there
    uint64_t fast_changed_ = 0;                                  // packets of unicast
    std::unique_ptr<net::GroupReceiver> receiver_;               // null while the unicast is alone
    std::vector<std::unique_ptr<net::GroupReceiver>> parities_;  // with ?fec=PORT
    std::optional<net::TsCarrier> carrier_;  // while somebody takes the bytes as they are
    std::unique_ptr<net::TsIngest> ingest_;  // while somebody wants frames
    int busy_turns_ = 0;
    MonoTime frames_wanted_{};
    net::GroupStats gone_;  // of ingests before
    MonoTime last_datagram_{};
    MonoTime joined_{};
    MonoTime next_stats_{};
};

}  // namespace

Millis GroupPull::batch_for(size_t players) {
    const auto times = static_cast<int64_t>(players / kPlayersPerBatch);
    return std::clamp(kShortestBatch * times, kShortestBatch, kLongestBatch);
}

Error GroupPull::run(net::SourceRun& run) {
    const auto one = std::make_unique<GroupPullRun>(*this, run);  // too large for a stack
    return one->run();
}

}  // namespace weir::session
