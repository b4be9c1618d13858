// ClientProbe: what a client's connection says of itself when it is asked.
#pragma once

#include <optional>

#include "net/link_facts.h"

namespace weir::io {
class TcpStream;
}

namespace weir::net {

// Whoever has a client's connection, and knows more of it than its counters say. Never yields.
class ClientProbe {
  public:
    virtual std::optional<LinkFacts> link_facts() const { return std::nullopt; }

    virtual std::optional<SrtFacts> srt_facts() const { return std::nullopt; }

    // Of players. Cheap: asked once a second for each.
    virtual std::optional<LagFacts> lag_facts() const { return std::nullopt; }

    // Its TCP connection, null where there is none (any more).
    virtual const io::TcpStream* tcp() const { return nullptr; }

  protected:
    ~ClientProbe() = default;
};

}  // namespace weir::net
