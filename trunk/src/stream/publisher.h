// Publisher: who publishes a stream, as the stream sees it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::stream {

class Publisher {
  public:
    // "client abc12345 from 192.0.2.1", for the line of the log that says who holds the name.
    virtual std::string describe() const = 0;
    virtual std::string_view client_id() const = 0;

    // For the API: its address and protocol, "192.0.2.1" and "rtmp".
    virtual std::string_view client_ip() const { return {}; }

    virtual std::string_view client_transport() const { return {}; }

    // From where it brings the stream, when it is published at another node ("media-2", or an
    // address): what is done once for each stream is done there, and whoever publishes here has the
    // name. Empty: it is published here.
    virtual std::string_view relayed_from() const { return {}; }

    // Another publisher took the name over, here or at another node. The stream no longer listens
    // to this one.
    virtual void on_taken_over() = 0;

    // A player cannot go on without a key frame. Most publishers cannot be asked.
    virtual void on_key_frame_wanted() {}

    // A sink was attached to the stream, and has what is kept of it. May publish, must not yield.
    virtual void on_sink() {}

    // One of this simulcast layer.
    virtual void on_layer_wanted(uint8_t /*layer*/) { on_key_frame_wanted(); }

  protected:
    ~Publisher() = default;
};

}  // namespace weir::stream
