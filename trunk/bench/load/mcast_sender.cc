#include "bench/load/mcast_sender.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

#include <netinet/in.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "io/signals_blocked.h"
#include "io/udp.h"

#include "bench/load/run_control.h"

namespace weir::load {
namespace {

constexpr int kSendBuffer = 8 * 1024 * 1024;
constexpr size_t kBatch = 64;
constexpr uint64_t kLongestSleepNs = 50'000'000;  // then stop() is looked at again
constexpr uint64_t kWakeNs = 20'000;              // datagrams due so soon leave at once (smooth)

void sleep_until_ns(uint64_t at) {
    timespec time{};
    time.tv_sec = static_cast<time_t>(at / 1'000'000'000);
    time.tv_nsec = static_cast<long>(at % 1'000'000'000);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
}

Error choose_interface(int fd, const McastShape& shape, int family) {
    if (shape.interface.empty()) {
        return {};
    }
    WEIR_TRY_ASSIGN(const uint32_t found, io::find_interface(shape.interface));
    const auto index = static_cast<int>(found);
    ip_mreqn request{};
    request.imr_ifindex = index;
    const int failed = family == AF_INET
                           ? setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof request)
                           : setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &index, sizeof index);
    return failed == 0 ? Error() : Error::from_errno(errno, "interface " + shape.interface);
}

}  // namespace

struct McastSender::Batch {
    std::array<std::array<uint8_t, McastStream::kMaxDatagram>, kBatch> bytes{};
    std::array<mmsghdr, kBatch> messages{};
    std::array<iovec, kBatch> parts{};
    unsigned size = 0;
};

Result<net::GroupAddress> mcast_group(const McastShape& shape, uint32_t number) {
    auto parsed = net::GroupAddress::parse(shape.first);
    if (!parsed.ok()) {
        return parsed.take_error().with_context("--group " + shape.first);
    }
    net::GroupAddress address = std::move(parsed).value();
    // From the last byte on, with carries into those before it.
    NetAddress::V6 ip = address.to.v6();
    uint64_t carry = number;
    for (size_t i = ip.size(); i-- > 13 && carry > 0;) {
        carry += ip[i];
        ip[i] = static_cast<uint8_t>(carry);
        carry >>= 8;
    }
    address.to = NetAddress::from_v6(ip, address.to.port());
    if (carry > 0 || !address.is_group()) {
        return make_error(ErrorCode::kMalformed,
                          "--group: '{}' and the {} behind it are not all multicast groups",
                          shape.first, shape.groups - 1);
    }
    if (address.interface.empty()) {
        address.interface = shape.interface;
    }
    return address;
}

Result<std::unique_ptr<McastSender>> McastSender::create(const McastShape& shape) {
    if (shape.bits_per_second == 0) {
        return make_error(ErrorCode::kMalformed, "--rate: expected the bit rate of a group");
    }
    WEIR_TRY_ASSIGN(const net::GroupAddress first, mcast_group(shape, 0));
    const int family = first.to.is_v4() ? AF_INET : AF_INET6;
    const int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return Error::from_errno(errno, "socket");
    }
    // lint: allow-new - private constructor
    std::unique_ptr<McastSender> sender(new McastSender(fd, shape));
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &kSendBuffer, sizeof kSendBuffer) != 0) {
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
    }
    WEIR_TRY(choose_interface(fd, shape, family));
    const auto session = static_cast<uint32_t>(now_ns() / 1'000'000);
    for (uint32_t i = 0; i < shape.groups; i++) {
        WEIR_TRY_ASSIGN(const net::GroupAddress address, mcast_group(shape, i));
        Group& group = sender->groups_.emplace_back(Group{McastStream(i, session, shape.rtp)});
        group.to_size = address.to.to_sockaddr(group.to, family);
    }
    return sender;
}

McastSender::McastSender(int fd, const McastShape& shape)
    : fd_(fd),
      shape_(shape),
      interval_ns_(static_cast<double>(McastStream::kPayload) * 8e9 /
                   static_cast<double>(shape.bits_per_second)) {}

McastSender::~McastSender() {
    stop();
    ::close(fd_);
}

Error McastSender::start() {
    io::SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
    return {};
}

void McastSender::stop() {
    stopped_ = true;
    if (thread_.joinable()) {
        thread_.join();
    }
}

McastSender::Counts McastSender::counts() const {
    return {.datagrams = datagrams_,
            .bytes = bytes_,
            .refused = refused_,
            .late = late_,
            .worst_ns = worst_ns_};
}

void McastSender::run() {
    prctl(PR_SET_NAME, "mcast sender");
    prctl(PR_SET_TIMERSLACK, 1'000);
    auto batch = std::make_unique<Batch>();
    const uint64_t began_ns = now_ns();
    for (size_t i = 0; i < groups_.size(); i++) {
        // Spread over an interval: smooth groups do not send at the same moment.
        groups_[i].begin_ns =
            began_ns + static_cast<uint64_t>(interval_ns_ * static_cast<double>(i) /
                                             static_cast<double>(groups_.size()));
        groups_[i].due_ns = groups_[i].begin_ns;
    }
    const uint64_t tick_ns = static_cast<uint64_t>(shape_.tick.count()) * 1'000'000;
    uint64_t wake = began_ns;
    while (!stopped_) {
        sleep_until_ns(wake);
        const uint64_t now = now_ns();
        if (now > wake + kLateNs) {
            late_++;
            worst_ns_ = std::max<uint64_t>(worst_ns_, now - wake);
        }
        const uint64_t due = send_due(now, shape_.smooth ? now + kWakeNs : now, *batch);
        if (shape_.smooth) {
            wake = std::min(due, now + kLongestSleepNs);
        } else {
            wake += tick_ns * std::max<uint64_t>(1, (now - wake) / tick_ns);
        }
    }
}

// What is due until then, of all groups; gives the time of the next one.
uint64_t McastSender::send_due(uint64_t now, uint64_t until_ns, Batch& batch) {
    uint64_t next = UINT64_MAX;
    for (Group& group : groups_) {
        while (group.due_ns <= until_ns && !stopped_) {
            auto& bytes = batch.bytes[batch.size];
            const size_t size = group.stream.datagram_size();
            group.stream.write(now, std::span(bytes).first(size));
            batch.parts[batch.size] = {bytes.data(), size};
            msghdr& message = batch.messages[batch.size].msg_hdr;
            message.msg_name = &group.to;
            message.msg_namelen = group.to_size;
            message.msg_iov = &batch.parts[batch.size];
            message.msg_iovlen = 1;
            if (++batch.size == kBatch) {
                flush(batch);
                now = now_ns();
            }
            group.sent++;
            group.due_ns = group.begin_ns +
                           static_cast<uint64_t>(interval_ns_ * static_cast<double>(group.sent));
        }
        next = std::min(next, group.due_ns);
    }
    flush(batch);
    return next;
}

void McastSender::flush(Batch& batch) {
    for (unsigned at = 0; at < batch.size;) {
        const int sent = sendmmsg(fd_, batch.messages.data() + at, batch.size - at, 0);
        if (sent <= 0) {
            refused_++;  // no route, a firewall: the next one may pass
            at++;
            continue;
        }
        for (int i = 0; i < sent; i++) {
            bytes_ += batch.messages[at + static_cast<unsigned>(i)].msg_len;
        }
        datagrams_ += static_cast<uint64_t>(sent);
        at += static_cast<unsigned>(sent);
    }
    batch.size = 0;
}

}  // namespace weir::load
