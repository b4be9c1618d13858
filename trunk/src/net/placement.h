// Placement: in which process of this machine a client should be, and how its connection gets there
// (`processes N`). A connection moves with what was read of it; nothing of an answer may have been
// written that the other process would write again (io::Replay). Keys of TLS do not move: of an
// encrypted connection only what is inside does.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::io {
class SocketAddress;
class TcpStream;
struct Replay;
}  // namespace weir::io

namespace weir::stream {
struct StreamKey;
}

namespace weir::net {

enum class PlaceBy : uint8_t {
    kLoad,     // where its stream is, unless that process has much to do
    kSession,  // where its stream is: what the client has there is known nowhere else
};

// Where SIP is, and with it the telephones of pages.
inline constexpr uint32_t kSipProcess = 0;

class Placement {
  public:
    // Never yields. Another process, where a player of that stream should be; none: here.
    virtual std::optional<uint32_t> better_process(const stream::StreamKey& key, PlaceBy by) = 0;

    // Which process this is. What clients name later (sessions) says it, so that they get here.
    virtual uint32_t own() const = 0;

    // Never yields. The process of that number where it is another one that runs; none: here.
    virtual std::optional<uint32_t> other(uint64_t process) const = 0;

    // Never yields. For what belongs together and has no stream yet: the process of all that have
    // that hash, where it is another one that runs; none: here.
    virtual std::optional<uint32_t> process_of_hash(uint64_t hash) const = 0;

    // Never yields. Gives the connection to that process, for its server of that kind ("http").
    // True: it has it; the stream here is to be closed, without a word to the peer.
    virtual bool move(uint32_t process,
                      std::string_view kind,
                      const io::TcpStream& stream,
                      io::Replay replay) = 0;

    // Never yields. The same for what is inside of an encrypted connection, which cannot move:
    // `inside` is one end of a local pair, the other one is kept where TLS is. `local`: the address
    // that the client connected to.
    virtual bool move_inside(uint32_t process,
                             std::string_view kind,
                             const io::TcpStream& inside,
                             const io::SocketAddress& local,
                             io::Replay replay) = 0;

  protected:
    ~Placement() = default;
};

}  // namespace weir::net
