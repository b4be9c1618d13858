// <linux/tcp.h> knows more of TCP_INFO than libc's <netinet/tcp.h>, and does not go together with
// it: hence a file of its own.
#include <cstddef>

#include <linux/tcp.h>
#include <sys/socket.h>

#include "io/tcp.h"

namespace weir::io {

std::optional<TcpFacts> TcpStream::facts() const {
    tcp_info info{};  // an older kernel fills in less
    socklen_t size = sizeof info;
    if (fd_ < 0 || getsockopt(fd_, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
        return std::nullopt;
    }
    TcpFacts facts;
    facts.rtt = Micros(info.tcpi_rtt);
    facts.rtt_variation = Micros(info.tcpi_rttvar);
    facts.retransmits = info.tcpi_total_retrans;
    facts.retransmitted_bytes = info.tcpi_bytes_retrans;
    facts.unacknowledged = info.tcpi_unacked;
    facts.unsent_bytes = info.tcpi_notsent_bytes;
    facts.window_segments = info.tcpi_snd_cwnd;
    facts.delivery_bps = info.tcpi_delivery_rate * 8;
    return facts;
}

}  // namespace weir::io
