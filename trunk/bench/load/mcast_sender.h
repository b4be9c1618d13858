// McastSender: sends McastStreams to groups at exact rates, from a thread of its own, so that its
// clock does not depend on how busy the receivers of this process are. A tick's datagrams of all
// groups leave by few calls (sendmmsg).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/socket.h>

#include "base/clock.h"
#include "base/error.h"
#include "net/ts/group_address.h"

#include "bench/load/core/mcast_stream.h"

namespace weir::load {

struct McastShape {
    std::string first = "239.255.0.1:5000";  // the address of the first group
    uint32_t groups = 1;                     // those behind it, one address after the other
    uint64_t bits_per_second = 0;            // of TS packets, of each group
    bool rtp = false;
    bool smooth = false;  // each datagram at its time; else those of a tick together
    Millis tick{1};
    std::string interface;  // name or address; empty: the system's routes say it
};

// The address of group `number`, from 0. kMalformed: no group, or not so many addresses behind it.
Result<net::GroupAddress> mcast_group(const McastShape& shape, uint32_t number);

class McastSender {
  public:
    struct Counts {
        uint64_t datagrams = 0;
        uint64_t bytes = 0;     // of datagrams' payloads
        uint64_t refused = 0;   // datagrams that the kernel did not take
        uint64_t late = 0;      // turns that began more than kLate behind their time
        uint64_t worst_ns = 0;  // the latest of them
    };

    static constexpr uint64_t kLateNs = 5'000'000;

    // Never yields. kMalformed, kNotFound: the interface; kSystem.
    static Result<std::unique_ptr<McastSender>> create(const McastShape& shape);
    ~McastSender();  // stops
    McastSender(const McastSender&) = delete;
    McastSender& operator=(const McastSender&) = delete;

    Error start();

    // Blocks for a tick at most.
    void stop();

    Counts counts() const;

  private:
    struct Group {
        McastStream stream;
        sockaddr_storage to{};
        socklen_t to_size = 0;
        uint64_t begin_ns = 0;
        uint64_t sent = 0;    // datagrams
        uint64_t due_ns = 0;  // of the next one
    };

    struct Batch;

    McastSender(int fd, const McastShape& shape);

    void run();
    uint64_t send_due(uint64_t now_ns, uint64_t until_ns, Batch& batch);
    void flush(Batch& batch);

    int fd_;
    McastShape shape_;
    double interval_ns_;  // between two datagrams of a group
    std::vector<Group> groups_;
    std::thread thread_;
    std::atomic<bool> stopped_{false};
    std::atomic<uint64_t> datagrams_{0};
    std::atomic<uint64_t> bytes_{0};
    std::atomic<uint64_t> refused_{0};
    std::atomic<uint64_t> late_{0};
    std::atomic<uint64_t> worst_ns_{0};
};

}  // namespace weir::load
