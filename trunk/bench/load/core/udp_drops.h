// Datagrams that the kernel dropped: since a server's receive buffer was full, by the tables of its
// sockets (/proc/PID/net/udp, udp6), or before any socket (/proc/net/softnet_stat). Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir::load {

// The sum of the drops of sockets bound to this port, in the text of such a table.
uint64_t udp_drops(std::string_view table, uint16_t port);

// Packets of the whole machine that found the queue of their processor full
// (net.core.netdev_max_backlog); each row is of one processor, the second number says it, in hex.
uint64_t backlog_drops(std::string_view table);

}  // namespace weir::load
