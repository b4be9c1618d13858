#include "app/api/proc_files.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace weir::app {
namespace {

TEST(ProcFilesTest, ReadsTheTicksOfAllCores) {
    const CpuTicks cpu = parse_proc_stat(
        "cpu  100 5 50 800 45 1 2 3 10 0\ncpu0 50 2 25 400 20 0 1 1 5 0\nintr 12345\n");
    EXPECT_EQ(cpu.idle(), 845U);
    EXPECT_EQ(cpu.all(), 1006U) << "guests are in user already";
    EXPECT_EQ(parse_proc_stat("").all(), 0U);
    EXPECT_EQ(parse_proc_stat("intr 1 2 3\n").all(), 0U);
}

TEST(ProcFilesTest, ReadsMemory) {
    const MemInfo memory = parse_meminfo(
        "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    250 kB\n"
        "Buffers:          10 kB\nCached:          120 kB\nSwapCached:        7 kB\n"
        "Active:          300 kB\nActive(anon):    200 kB\nSwapTotal:       400 kB\n"
        "SwapFree:        300 kB\n");
    EXPECT_EQ(memory.total, 1000U);
    EXPECT_EQ(memory.used(), 750U);
    EXPECT_EQ(memory.cached, 120U);
    EXPECT_EQ(memory.active, 300U);
    EXPECT_DOUBLE_EQ(memory.ram_share(), 0.75);
    EXPECT_DOUBLE_EQ(memory.swap_share(), 0.25);
    EXPECT_EQ(parse_meminfo("").ram_share(), 0);
}

TEST(ProcFilesTest, ReadsInterfacesAndSetsTheLoopbackApart) {
    const NetBytes bytes = parse_net_dev(
        "Inter-|   Receive                                                |  Transmit\n"
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n"
        "    lo:    1000      10    0    0    0     0          0         0    1001      10\n"
        "  eth0:    2000      20    0    0    0     0          0         0     300       3\n"
        "wlan0:5 1 0 0 0 0 0 0 7 1\n");
    EXPECT_EQ(bytes.loopback_received, 1000U);
    EXPECT_EQ(bytes.loopback_sent, 1001U);
    EXPECT_EQ(bytes.received, 2005U);
    EXPECT_EQ(bytes.sent, 307U);
}

TEST(ProcFilesTest, CountsWholeDisksOnce) {
    const DiskCounters disks = parse_diskstats(
        "   7       0 loop0 9 9 9999 9 9 9 9999 9 0 99999 9\n"
        "   8       0 sda 10 0 100 5 20 0 200 9 0 1500 14\n"
        "   8       1 sda1 10 0 100 5 20 0 200 9 0 1500 14\n"
        " 259       0 nvme0n1 1 0 7 1 1 0 8 1 0 20 2\n"
        " 259       1 nvme0n1p1 1 0 7 1 1 0 8 1 0 20 2\n"
        " 253       0 dm-0 10 0 100 5 20 0 200 9 0 1500 14\n");
    EXPECT_EQ(disks.read_sectors, 107U);
    EXPECT_EQ(disks.written_sectors, 208U);
    EXPECT_EQ(disks.busy_ms, 1500U);
}

TEST(ProcFilesTest, ReadsSocketsLoadAndUptime) {
    const SocketCounts sockets = parse_sockstat(
        "sockets: used 290\nTCP: inuse 11 orphan 0 tw 974 alloc 12 mem 1\nUDP: inuse 3 mem 2\n");
    EXPECT_EQ(sockets.all, 290U);
    EXPECT_EQ(sockets.tcp, 11U);
    EXPECT_EQ(sockets.tcp_waiting, 974U);
    EXPECT_EQ(sockets.udp, 3U);
    const auto load = parse_loadavg("0.52 1.50 12.00 2/345 6789\n");
    EXPECT_DOUBLE_EQ(load[0], 0.52);
    EXPECT_DOUBLE_EQ(load[2], 12.0);
    const auto [up, idle] = parse_uptime("65784.53 52808.38\n");
    EXPECT_DOUBLE_EQ(up, 65784.53);
    EXPECT_DOUBLE_EQ(idle, 52808.38);
}

TEST(ProcFilesTest, ReadsAProcessWhateverItsName) {
    const auto values = parse_process_stat(
        "42 (we) ir (x) S 1 42 42 0 -1 4194560 967 0 3 0 11 22 0 0 20 0 3 0 6577241 101920768 "
        "2731 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0\n");
    std::map<std::string, int64_t> by_name(values.begin(), values.end());
    EXPECT_EQ(by_name["ppid"], 1);
    EXPECT_EQ(by_name["tpgid"], -1);
    EXPECT_EQ(by_name["utime"], 11);
    EXPECT_EQ(by_name["num_threads"], 3);
    EXPECT_EQ(by_name["rss"], 2731);
    EXPECT_EQ(by_name["processor"], 1);
    EXPECT_FALSE(by_name.contains("startcode")) << "addresses are nobody's business";
    EXPECT_TRUE(parse_process_stat("garbage").empty());
}

TEST(ProcFilesTest, ReadsThisMachine) {
    EXPECT_GT(parse_proc_stat(read_proc_file("/proc/stat")).all(), 0U);
    EXPECT_GT(parse_meminfo(read_proc_file("/proc/meminfo")).total, 1000U);
    EXPECT_GT(parse_process_stat(read_proc_file("/proc/self/stat")).size(), 20U);
    EXPECT_EQ(read_proc_file("/proc/there/is/none"), "");
}

}  // namespace
}  // namespace weir::app
