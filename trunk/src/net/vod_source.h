// Recordings as sessions play them: packets in order of decoding, with times of the recording.
// session/record implements both interfaces; sessions find them by net::Services.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/ref.h"
#include "media/packet.h"
#include "net/policy.h"
#include "stream/stream_key.h"

namespace weir::io {
class SocketAddress;
}

namespace weir::net {

// A recording that is open, at a place. Files are read ahead by threads, a little; what is not at
// hand yet comes later. On the media thread. Never yields, except where it says so.
class VodSource {
  public:
    // Who waits for packets. May not yield.
    class Listener {
      public:
        virtual void on_vod_ready() = 0;

      protected:
        ~Listener() = default;
    };

    VodSource() = default;
    VodSource(const VodSource&) = delete;
    VodSource& operator=(const VodSource&) = delete;
    virtual ~VodSource() = default;

    // Null: nobody. Must outlive this, or be taken away.
    virtual void set_listener(Listener* listener) = 0;

    // The sequence headers in force at front(), first those of video. Meaningful once there is a
    // packet at hand.
    virtual const std::vector<media::PacketRef>& configs() const = 0;

    // The codecs in force there, of video and of audio; kUnknown: there is no such track.
    struct Codecs {
        media::Codec video = media::Codec::kUnknown;
        media::Codec audio = media::Codec::kUnknown;
    };

    virtual Codecs codecs() const = 0;

    // Of the whole, from 0 on. Of a recording that grows: as far as it is known.
    virtual int64_t duration_ms() const = 0;

    virtual bool grows() const = 0;

    // Goes to the key frame at or before that time, and drops what is at hand. Beyond the end: to
    // the last one.
    virtual void seek(int64_t time_ms) = 0;

    // The next packet, which is nobody else's; null: none is at hand. Where a codec changes, its
    // sequence header is such a packet.
    virtual media::MediaPacket* front() = 0;
    virtual Ref<media::MediaPacket> pop() = 0;

    // Nothing follows until the next seek().
    virtual bool ended() const = 0;

    // Where none is at hand: a recording that grows is looked at again, and what the readers had
    // no place for is asked of them again. Not more often than a few times a second.
    virtual void poll() = 0;
};

// What a name of a recording means.
class VodRecording {
  public:
    VodRecording() = default;
    VodRecording(const VodRecording&) = delete;
    VodRecording& operator=(const VodRecording&) = delete;
    virtual ~VodRecording() = default;

    // Whose rules hold: who may play the stream may play its recordings.
    virtual const stream::StreamKey& key() const = 0;
};

class VodLibrary {
  public:
    // Names begin with "vod/" where they mean recordings, not live streams.
    static constexpr std::string_view kApp = "vod";

    // Whether some recordings can be played, so that such names are not those of live streams.
    virtual bool serves() const = 0;

    // Yields, in a long list. `path`: behind "vod/", a file of the list of recordings, also without
    // its ".mp4", without a vhost in front and with "mp4:" before a part; or APP/STREAM, which are
    // all its files, or those of the span of time that `query` says (from=, to=). kNotFound,
    // kMalformed.
    virtual Result<std::unique_ptr<VodRecording>> find(const Policy& policy,
                                                       std::string_view vhost,
                                                       std::string_view path,
                                                       std::string_view query) = 0;

    // Yields while the disk is read. At its beginning; `peer` is who plays it. kNotFound,
    // kMalformed: it cannot be read; kFull: too many play, in all or of that address.
    virtual Result<std::unique_ptr<VodSource>> open(std::unique_ptr<VodRecording> recording,
                                                    const io::SocketAddress& peer) = 0;

  protected:
    ~VodLibrary() = default;
};

// "vod/live/cam" gives "live/cam"; nothing: that is no recording's name.
inline std::optional<std::string_view> vod_path(std::string_view app_and_stream) {
    constexpr std::string_view kApp = VodLibrary::kApp;
    while (app_and_stream.starts_with('/')) {
        app_and_stream.remove_prefix(1);
    }
    if (!app_and_stream.starts_with(kApp) || app_and_stream.size() <= kApp.size() + 1 ||
        app_and_stream[kApp.size()] != '/') {
        return std::nullopt;
    }
    return app_and_stream.substr(kApp.size() + 1);
}

}  // namespace weir::net
