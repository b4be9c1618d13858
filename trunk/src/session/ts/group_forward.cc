#include "session/ts/group_forward.h"

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "io/coroutine.h"
#include "net/policy.h"
#include "net/source/source_spec.h"
#include "net/source/source_url.h"
#include "net/ts/group_sender.h"
#include "net/ts/ts_muxer.h"
#include "net/ts/ts_pacer.h"
#include "proto/mpegts/packet.h"
#include "stream/registry.h"
#include "stream/stream.h"
#include "stream/stream_key.h"

namespace weir::session {
namespace {

constexpr Millis kIdle{25};         // while nothing is known to be due
constexpr Millis kNoteSent{1'000};  // sent bytes are noted this often
constexpr size_t kMaxParts = 64;

class GroupForwardRun final {
  public:
    GroupForwardRun(const net::Services& services, net::SourceRun& run)
        : services_(services), run_(run), stream_(stream_of(services, run)) {
        stream_.attach(muxer_);
    }

    ~GroupForwardRun() {
        stream_.detach(muxer_);
        services_.registry.release(stream_);
    }

    GroupForwardRun(const GroupForwardRun&) = delete;
    GroupForwardRun& operator=(const GroupForwardRun&) = delete;

    // Yields.
    Error run() {
        const net::SourceUrl& url = run_.spec().url;
        WEIR_TRY_ASSIGN(sender_, net::GroupSender::open(url.group, url.scheme == "rtp"));
        run_.connected();
        for (;;) {
            const MonoTime now = MonoClock::now();
            take(now);
            send(now);
            if (!stream_.live()) {
                return make_error(ErrorCode::kClosed, "nobody publishes the stream");
            }
            const auto due = pacer_.next_time();
            WEIR_TRY(io::sleep_for(due ? GroupForward::kTick : kIdle));
        }
    }

  private:
    static stream::Stream& stream_of(const net::Services& services, net::SourceRun& run) {
        const stream::StreamKey& key = run.spec().key;
        return services.registry.get_or_create(key, services.policy.rules_of_forward(key).stream,
                                               MonoClock::now());
    }

    // What is new in the log, to the pacer. Begins with the newest start.
    void take(MonoTime now) {
        stream::WireLog& log = muxer_.log();
        if (!cursor_) {
            if (!log.has_start()) {
                return;
            }
            cursor_ = log.start();
            Bytes front;
            muxer_.front(true, front);  // for those who read what an earlier run sent
            pacer_.feed(now, front);
            run_.live();
        }
        std::array<iovec, kMaxParts> parts;
        size_t count = 0;
        while (const size_t bytes = log.gather(*cursor_, parts, SIZE_MAX, count)) {
            for (size_t i = 0; i < count; i++) {
                cut(now, {static_cast<const uint8_t*>(parts[i].iov_base), parts[i].iov_len});
            }
            stream::WireLog::advance(*cursor_, bytes);
        }
    }

    // Blocks of the log end anywhere.
    void cut(MonoTime now, ByteSpan bytes) {
        if (!rest_.empty()) {
            const size_t more = std::min(mpegts::kPacketSize - rest_.size(), bytes.size());
            rest_.insert(rest_.end(), bytes.begin(),
                         bytes.begin() + static_cast<std::ptrdiff_t>(more));
            bytes = bytes.subspan(more);
            if (rest_.size() < mpegts::kPacketSize) {
                return;
            }
            pacer_.feed(now, rest_);
            rest_.clear();
        }
        const size_t whole = bytes.size() - bytes.size() % mpegts::kPacketSize;
        pacer_.feed(now, bytes.first(whole));
        bytes = bytes.subspan(whole);
        rest_.assign(bytes.begin(), bytes.end());
    }

    void send(MonoTime now) {
        while (pacer_.next(now, GroupForward::kPacketsPerDatagram, datagram_)) {
            sender_->send(now, datagram_);
        }
        if (now >= next_note_) {
            next_note_ = now + kNoteSent;
            const uint64_t sent = sender_->stats().sent_bytes;
            run_.note_bytes(sent - noted_);
            stream_.note_sent(sent - noted_);
            noted_ = sent;
        }
    }

    const net::Services& services_;
    net::SourceRun& run_;
    stream::Stream& stream_;
    net::TsMuxer muxer_;
    std::optional<stream::Cursor> cursor_;
    net::TsPacer pacer_;
    std::unique_ptr<net::GroupSender> sender_;
    Bytes rest_;
    Bytes datagram_;
    MonoTime next_note_{};
    uint64_t noted_ = 0;
};

}  // namespace

Error GroupForward::run(net::SourceRun& run) {
    const auto one = std::make_unique<GroupForwardRun>(services_, run);
    return one->run();
}

}  // namespace weir::session
