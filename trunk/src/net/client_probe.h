// ClientProbe: what a client's connection says of itself when it is asked.
#pragma once

#include <optional>

#include "net/link_facts.h"

namespace weir::io {
class TcpStream;
}

namespace weir::net {

// The owner of a client's connection, which knows more about it than its counters. Never yields.
class ClientProbe {
  public:
    virtual std::optional<LinkFacts> link_facts() const { return std::nullopt; }

    virtual std::optional<SrtFacts> srt_facts() const { return std::nullopt; }

    // For players. Cheap, because it is called once a second for each.
    virtual std::optional<LagFacts> lag_facts() const { return std::nullopt; }

    // Its TCP connection, null where there is none (any more).
    virtual const io::TcpStream* tcp() const { return nullptr; }

  protected:
    ~ClientProbe() = default;
};

}  // namespace weir::net
