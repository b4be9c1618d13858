// A publisher by SRT: its frames as one MPEG-TS programme, made by the server's own muxer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/deadline.h"
#include "io/signal.h"
#include "io/srt/srt_engine.h"
#include "net/ts/ts_muxer.h"

#include "bench/load/core/frame_source.h"
#include "bench/load/publisher.h"

namespace weir::load {

class SrtPublisher final : public Publisher, private io::SrtPeer {
  public:
    // `engine` and `address` must outlive it.
    SrtPublisher(std::unique_ptr<FrameSource> source,
                 PublishTotals& totals,
                 io::Signal& changed,
                 io::SrtEngine& engine,
                 const io::SocketAddress& address,
                 io::SrtOptions call)
        : Publisher(std::move(source), totals, changed),
          engine_(engine),
          address_(address),
          call_(std::move(call)) {}

    ~SrtPublisher() override { disconnect(); }

  private:
    Error connect(io::Deadline deadline) override;
    Error publish() override;
    void disconnect() override;

    void on_srt_connected(bool) override {
        open_ = true;
        changed_.notify_all();
    }

    void on_srt_end(Error why) override;
    Error take(const SourceMessage& message);
    void flush();

    io::SrtEngine& engine_;
    const io::SocketAddress& address_;
    io::SrtOptions call_;
    io::SrtId id_ = 0;
    bool open_ = false;
    std::string why_;  // it has ended
    io::Signal changed_;
    net::TsMuxer muxer_;
    stream::Cursor cursor_;
    stream::Configs configs_;
    SourceMessage frame_;
};

}  // namespace weir::load
