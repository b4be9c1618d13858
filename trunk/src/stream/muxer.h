// What takes a stream's packets: PacketSink, and the usual kind of it, a Muxer, which turns them
// into one wire format, once for all players of that format.
//
// Implemented by the egress sessions (session/rtmp, session/flv ...) and attached to a Stream,
// which calls it from the publisher's coroutine. Never yields.
#pragma once

#include <memory>
#include <vector>

#include "base/bytes.h"
#include "media/packet.h"
#include "stream/life.h"
#include "stream/wire_log.h"

namespace weir::stream {

class Muxer;
class Stream;

// What a format is to the stream core: a name and a way to make its muxer. One static object per
// format.
class Format {
  public:
    virtual const char* name() const = 0;  // "rtmp", "flv"
    virtual std::unique_ptr<Muxer> create_muxer() const = 0;

  protected:
    ~Format() = default;
};

// Codec configurations and metadata in force, in the order in which they came.
using Configs = std::vector<media::PacketRef>;

class PacketSink {
  public:
    PacketSink() = default;
    PacketSink(const PacketSink&) = delete;
    PacketSink& operator=(const PacketSink&) = delete;
    virtual ~PacketSink() = default;

    // Packets for others are not given to it.
    virtual media::Audience audience() const { return media::Audience::kFlv; }

    // It will get the packets of the stream, those of the current GOP first.
    virtual void on_attach(const Stream&) {}

    // Takes a packet (frame, codec configuration, metadata, data). `start` is set when a new cursor
    // may begin here (a key frame of the first video track, or any frame of an audio-only stream):
    // the configurations and metadata in force, which such a cursor must be sent first (the
    // format's player protocol does that), and then audio frames that were given before it and are
    // of its time or later.
    virtual void on_packet(const media::PacketRef& packet, const Configs* start) = 0;

    // Nobody may begin to play before the next start.
    virtual void on_start_lost(StartLost why) = 0;
};

class Muxer : public PacketSink {
  public:
    void on_start_lost(StartLost) override { log_.forget_start(); }

    // Grows when what some players were told of the stream in advance may no longer hold. Stays 0
    // in formats that tell everything with each start.
    uint32_t edition() const { return edition_; }

    WireLog& log() { return log_; }

    const WireLog& log() const { return log_; }

  protected:
    // An audio frame goes with the next video frame. Of an audio-only stream each is a start.
    static bool rides(const media::MediaPacket& packet, const Configs* start) {
        return start == nullptr && packet.info().kind == media::TrackKind::kAudio &&
               !packet.info().config;
    }

    // The body of the packet was written last: a stream that remembers it does not keep it twice.
    // Configurations are kept for long, and would keep what follows them in the log.
    void share_body(const media::MediaPacket& packet) {
        const media::PacketInfo& info = packet.info();
        const bool message = info.kind == media::TrackKind::kData &&
                             info.audience != media::Audience::kTransportStream;
        if (message || info.config || info.metadata || packet.body().empty()) {
            return;
        }
        ByteSpan body;
        if (Ref<LogBlock> block = log_.newest(packet.body().size(), body)) {
            packet.move_body(std::move(block), body);
        }
    }

    void set_edition(uint32_t edition) { edition_ = edition; }

  private:
    WireLog log_;
    uint32_t edition_ = 0;
};

}  // namespace weir::stream
