#include "net/http/bridge.h"

#include <array>
#include <memory>

#include "base/bytes.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "io/tcp.h"

namespace weir::net {
namespace {

// Yields. Until `from` ends (success), one of them fails, or `over`.
Error bring(io::TcpStream& from, io::TcpStream& to, Millis write_timeout, const bool& over) {
    const auto buffer = std::make_unique<std::array<uint8_t, kBridgeBytes>>();
    while (!over) {
        Result<size_t> got = from.read_some(*buffer, io::Deadline::after(kBridgeLook));
        if (got.ok()) {
            WEIR_TRY(
                to.write_all(ByteSpan(*buffer).first(*got), io::Deadline::after(write_timeout)));
        } else if (got.error().code() == ErrorCode::kClosed) {
            return {};
        } else if (got.error().code() != ErrorCode::kTimeout) {
            return got.take_error();
        }
    }
    return {};
}

}  // namespace

void bridge(io::TcpStream& client, io::TcpStream& inside, Millis write_timeout) {
    bool over = false;
    Result<io::Coroutine> up = io::Coroutine::spawn("http bridge", io::StackSize::kNormal, [&] {
        if (bring(client, inside, write_timeout, over)) {
            inside.shutdown();
        } else {
            (void)inside.end_writing();
        }
    });
    if (!up.ok()) {
        return;
    }
    (void)bring(inside, client, write_timeout, over);
    over = true;
    up->interrupt();
    up->join();
}

}  // namespace weir::net
