#include "io/discard_unsent.h"

#include <sys/socket.h>

#include "io/tcp.h"

namespace weir::io {

void discard_unsent(const TcpStream& stream) {
    const linger none{.l_onoff = 1, .l_linger = 0};
    // It can fail only where there is no socket any more.
    (void)::setsockopt(stream.fd(), SOL_SOCKET, SO_LINGER, &none, sizeof(none));
}

}  // namespace weir::io
