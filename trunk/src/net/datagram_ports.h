// DatagramPorts: a protocol over UDP, as whoever opens and takes away its ports sees it.
//
// Sessions send and receive by the socket through which they came: a port that is taken away stays
// open, retired, until the last of them has ended.
#pragma once

#include <cstddef>
#include <memory>

#include "base/error.h"

namespace weir::io {
class SocketAddress;
class UdpSocket;
}  // namespace weir::io

namespace weir::net {

class ProcessDatagrams;

class DatagramPorts {
  public:
    // Receives on it from now on.
    virtual Error serve(std::unique_ptr<io::UdpSocket> socket) = 0;

    // Peers are not told of that socket any more. It is closed when the last session that uses it
    // has ended.
    virtual void retire(const io::UdpSocket& socket) = 0;

    // Undoes it where the socket is not closed yet. nullptr: there is none at that address.
    virtual io::UdpSocket* revive(const io::SocketAddress& bound) = 0;

    // Sockets that wait for the end of their sessions.
    virtual size_t retired() const = 0;

    // Yields. Looks at once which of them can be closed.
    virtual void close_unused() = 0;

    // All that there are, on whatever socket.
    virtual size_t sessions() const = 0;

    // Before the first port. All processes have the same ports; `others` must outlive this.
    virtual void share(ProcessDatagrams& others) { (void)others; }

  protected:
    ~DatagramPorts() = default;
};

}  // namespace weir::net
