#include "session/ts/group_pull.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/log.h"
#include "net/ts/group_receiver.h"
#include "net/ts/rtp_order.h"
#include "net/ts/ts_ingest.h"

namespace weir::session {
namespace {

class GroupPullRun final : private net::RtpOrderOutput, private net::TsOutput {
  public:
    explicit GroupPullRun(net::SourceRun& run) : run_(run), order_(*this), ingest_(*this) {}

    // Yields.
    Error run() {
        const net::SourceUrl& url = run_.spec().url;
        WEIR_TRY_ASSIGN(receiver_, net::GroupReceiver::open(url.group));
        run_.connected();
        Error why = flow();
        tell();
        return why;
    }

  private:
    Error flow() {
        for (;;) {
            Error waited = receiver_->wait(next_due());
            if (waited && waited.code() != ErrorCode::kTimeout) {
                return waited;
            }
            const bool more = read();
            WEIR_TRY(std::move(failed_));
            if (run_.media_deadline().passed()) {
                return run_.silence();
            }
            if (more) {
                io::yield();
            } else {
                WEIR_TRY(io::sleep_for(GroupPull::kBatch));
            }
        }
    }

    // Never yields. True: there is more.
    bool read() {
        const MonoTime now = MonoClock::now();
        const bool more = receiver_->read([&](ByteSpan datagram) {
            run_.note_bytes(datagram.size());
            order_.feed(now, datagram);
        });
        order_.handle_timeout(now);
        return more;
    }

    io::Deadline next_due() const {
        const MonoTime media = run_.media_deadline().time();
        return io::Deadline::at(std::min(media, order_.next_timeout().value_or(media)));
    }

    // net::RtpOrderOutput
    void on_ordered(MonoTime now, ByteSpan bytes) override {
        if (failed_) {
            return;
        }
        if (Error failed = ingest_.feed(now, bytes)) {
            failed_ = std::move(failed);
        }
    }

    void on_gap() override { ingest_.lose(); }

    // net::TsOutput

    void on_ts_packet(MonoTime now, Ref<media::MediaPacket> packet) override {
        (void)now;
        if (!failed_) {
            failed_ = run_.publish(std::move(packet));
        }
    }

    void on_ts_description(media::Description description) override {
        if (failed_) {
            return;
        }
        Result<stream::Stream*> stream = run_.begin();
        if (stream.ok()) {
            (*stream)->describe(run_.publisher(), std::move(description));
        }
    }

    // One line with what came and what did not.
    void tell() const {
        const io::UdpStats& socket = receiver_->stats();
        const net::RtpOrderCounters& order = order_.counters();
        log::info(
            "group datagrams={} bytes={} kernel_drops={} strangers={} foreign={} lost={} "
            "reordered={} late={} duplicates={} restarts={} continuity_errors={} frames={} "
            "dropped_frames={}",
            socket.received, socket.received_bytes, socket.kernel_drops, receiver_->strangers(),
            order.foreign, order.lost, order.reordered, order.late, order.duplicates,
            order.restarts, ingest_.counters().continuity_errors, ingest_.stats().frames,
            ingest_.stats().dropped_frames);
    }

    net::SourceRun& run_;
    net::RtpOrder order_;
    net::TsIngest ingest_;
    std::unique_ptr<net::GroupReceiver> receiver_;
    Error failed_;
};

}  // namespace

Error GroupPull::run(net::SourceRun& run) {
    const auto one = std::make_unique<GroupPullRun>(run);  // too large for a coroutine's stack
    return one->run();
}

}  // namespace weir::session
