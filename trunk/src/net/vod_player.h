// VodPlayer: plays a recording on a connection: it takes packets of a VodSource when they are due,
// has them written, and writes what came out to the socket. Each player has a place of its own in
// the recording and may pause and seek, so there is no log and no pump that it shares.
//
// It is driven by the connection's coroutine: run() sends until the peer says something, the
// connection hears and answers that by say(), pause(), seek() and so on, and calls run() again. A
// peer that does not read holds up its own playback and nothing else: kMaxUnsent bytes and a frame
// wait for it at most.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/object_count.h"
#include "io/signal.h"
#include "io/tcp.h"
#include "net/client_table.h"
#include "net/link_facts.h"
#include "net/vod_source.h"

namespace weir::net {

// What a protocol makes of packets. Appends to `out` what goes to the connection. Never yields.
class VodWriter {
  public:
    // Packets come from `first` on, after the beginning or a seek.
    virtual void on_vod_start(const VodSource& source,
                              const media::MediaPacket& first,
                              Bytes& out) = 0;
    virtual void on_vod_packet(Ref<media::MediaPacket> packet, Bytes& out) = 0;
    // All was written, up to the end or the place where the peer wanted to stop.
    virtual void on_vod_end(Bytes& out) = 0;

  protected:
    ~VodWriter() = default;
};

struct VodOptions {
    Millis lead{0};              // packets are sent so long before they are due
    Millis write_stall{20'000};  // a peer that takes nothing for so long is ended
    // One that says nothing for so long while it plays is ended; 0: it need not say anything.
    Millis silence{0};
};

class VodPlayer final : private io::EventHandler,
                        private VodSource::Listener,
                        private Counted<VodPlayer> {
  public:
    static constexpr ObjectName kObjectName{"vod_player", "fan_out"};

    static constexpr size_t kMaxUnsent = 256 * 1024;      // then no further packet is written
    static constexpr size_t kMaxAnswerBytes = 64 * 1024;  // since all was sent
    static constexpr Millis kMaxPause{2 * 3'600'000};     // of a peer that says nothing meanwhile
    static constexpr Millis kMaxIdleEnd{60'000};          // the same when all was played
    static constexpr Millis kMaxStarve{30'000};  // without a packet of a file that is whole
    static constexpr Millis kPoll{250};          // a source that has nothing is asked again
    // Of a player that was late by more, time goes on from where it is.
    static constexpr Millis kMaxLate{1'000};

    // `stream`, `client` and `writer` must outlive this; the stream's edges come here meanwhile.
    VodPlayer(io::TcpStream& stream,
              Client& client,
              std::unique_ptr<VodSource> source,
              VodWriter& writer,
              const VodOptions& options);
    ~VodPlayer();
    VodPlayer(const VodPlayer&) = delete;
    VodPlayer& operator=(const VodPlayer&) = delete;

    // Yields. Until there is something to read from the peer, or its end. kTimeout: it takes
    // nothing, or has paused for too long; kClosed, kSystem, kInterrupted; kMalformed: the
    // recording cannot be read on.
    Error run();

    // Bytes that go out behind what waits already, and before the next packet. False: the peer asks
    // again and again and does not read.
    bool say(ByteSpan bytes);

    void pause();
    void resume();

    // From the key frame at or before that time on; then on_vod_start() comes again.
    void seek(int64_t time_ms);

    // on_vod_start() comes again at the next packet, without a seek.
    void announce() { announce_ = true; }

    // What is shown from that time of the recording on is not sent any more; INT64_MAX: no end.
    void stop_at(int64_t time_ms) { stop_ms_ = time_ms; }

    void set_lead(Millis lead) { options_.lead = lead; }

    // The peer has said something that did not come through the connection.
    void note_heard(MonoTime now) { heard_ = now; }

    const VodSource& source() const { return *source_; }

    bool paused() const { return paused_; }

    // What ended the connection, as a read has found it.
    static Error explain_end(const io::IoResult& read);

    // All was sent, and on_vod_end() called.
    bool at_end() const { return at_end_; }

    LagFacts lag_facts() const;

    // What was not written to the socket: it may begin within a message.
    Bytes take_unsent();

  private:
    void on_ready(uint8_t ready) override;

    void on_vod_ready() override { changed_.notify_all(); }

    // When the kernel gives up on a peer that acknowledges nothing.
    void limit_stall(Millis limit);
    Error flush();
    void flow(MonoTime now);
    MonoTime due(const media::MediaPacket& packet) const;
    // When a peer is ended that says nothing until then; max(): it need not.
    MonoTime silent_at() const;
    // When there may be something to send, or nothing was taken for too long.
    MonoTime media_at(MonoTime now);
    // What has gone wrong.
    Error check(MonoTime now) const;

    size_t unsent() const { return out_.size() - sent_; }

    io::TcpStream& stream_;
    Client& client_;
    std::unique_ptr<VodSource> source_;
    VodWriter& writer_;
    VodOptions options_;
    io::Signal changed_;
    Bytes out_;
    size_t sent_ = 0;
    size_t answers_ = 0;
    MonoTime created_;
    MonoTime progress_;    // the socket took something, or there was nothing to take
    MonoTime heard_;       // run() came back, or note_heard()
    MonoTime starved_at_;  // the source has had nothing since
    MonoTime polled_at_{};
    MonoTime began_at_{};  // began_ms_ is due then, without the lead
    int64_t began_ms_ = 0;
    int64_t stop_ms_ = INT64_MAX;
    int turns_ = 0;         // since run() waited
    bool clocked_ = false;  // began_at_ is set
    bool announce_ = true;
    bool paused_ = false;
    bool at_end_ = false;
};

}  // namespace weir::net
