// What happens to streams, as events with names: for those who act on a stream's life without being
// its publisher or a player of it (sources, forwards, segmenters, recorders, hooks).
//
// An observer is added to one Stream or to the Registry (then it is told of all streams), and must
// be removed before it dies. Nothing is told per packet.
//
// The rules for observers: they may not yield, and may not make the stream of the event go
// (Registry::release). They may publish to it, attach sinks to it and detach them, add observers
// and remove any, themselves included: who is removed is not told any more, who is added is told
// from the next event on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "media/packet.h"

namespace weir::stream {

class Stream;
struct StreamKey;

// Why a publish ended.
enum class PublishEnd : uint8_t {
    kLeft,       // the publisher ended it, or its session did
    kTakenOver,  // another publisher took the name
};

// "left", "taken_over".
std::string_view to_string(PublishEnd why);

// Why nobody may begin to play before the next start.
enum class StartLost : uint8_t {
    kPublisherCame,  // what is kept is of the publisher before
    kPublisherGone,  // nothing comes any more, until the next publisher
    kVideoAppeared,  // of a stream that was audio only: players wait for the key frame
    kConfigChanged,  // what is kept cannot be decoded with the new configuration
    kGopOverTheCap,  // the GOP is larger than may be kept
};

// "publisher_came", "config_changed" ...
std::string_view to_string(StartLost why);

// Told at the end of the call that caused the event, when the stream is in order again; only
// on_start_lost comes at once.
class LifeObserver {
  public:
    // A publisher came.
    virtual void on_publish(Stream& /*stream*/) {}

    // The publisher went. With kTakenOver, on_publish of the next one follows at once.
    virtual void on_unpublish(Stream& /*stream*/, PublishEnd /*why*/) {}

    virtual void on_start_lost(Stream& /*stream*/, StartLost /*why*/) {}

    // The codec or the configuration of a track became known or changed (Stream::config(),
    // video(), audio()).
    virtual void on_codecs(Stream& /*stream*/, media::TrackKind /*kind*/) {}

    // The first sink was attached: somebody wants to play the stream, by any protocol, whether
    // somebody publishes it or not. Then: the last one was detached.
    virtual void on_demand(Stream& /*stream*/) {}

    virtual void on_demand_gone(Stream& /*stream*/) {}

    // Somebody asks for a stream that nobody publishes. True: the observer sees to it that it is
    // published soon, so whoever asks should wait a while (its failure is told by no event).
    virtual bool on_wanted(const StreamKey& /*key*/) { return false; }

  protected:
    ~LifeObserver() = default;
};

// The observers of one stream or of all.
class LifeObservers {
  public:
    LifeObservers() = default;
    ~LifeObservers();  // checks that nobody is being told
    LifeObservers(const LifeObservers&) = delete;
    LifeObservers& operator=(const LifeObservers&) = delete;

    void add(LifeObserver& observer) { list_.push_back(&observer); }

    // Does nothing when it is not there.
    void remove(LifeObserver& observer);

    bool empty() const { return list_.empty(); }

    // tell(observer) for each, in the order in which they were added.
    template <typename Tell>
    void tell(Tell&& tell) {
        if (list_.empty()) {
            return;
        }
        telling_++;
        const size_t count = list_.size();
        for (size_t i = 0; i < count; i++) {
            if (LifeObserver* const observer = list_[i]) {
                tell(*observer);
            }
        }
        if (--telling_ == 0) {
            std::erase(list_, nullptr);
        }
    }

  private:
    std::vector<LifeObserver*> list_;  // null: removed while others were being told
    uint32_t telling_ = 0;             // depth: an event may cause another
};

}  // namespace weir::stream
