#include "proto/cluster/records.h"

#include <gtest/gtest.h>

namespace weir::cluster {
namespace {

constexpr std::string_view kBoot = "0123456789abcdef";

NodeRecord example() {
    NodeRecord node;
    node.boot = kBoot;
    node.url = "http://10.0.0.7:8080";
    node.machine = "rack-1";
    node.state = NodeState::kDraining;
    node.busy_permille = 420;
    node.bits_per_second = 1'000'000'000;
    node.version = "0.1.0";
    node.since_ms = 1732600000000;
    return node;
}

TEST(NodeRecordTest, IsWrittenAndRead) {
    const NodeRecord node = example();
    EXPECT_EQ(node.write(),
              "0123456789abcdef http://10.0.0.7:8080 rack-1 draining 420 1000000000 0.1.0 "
              "1732600000000");
    EXPECT_EQ(NodeRecord::parse(node.write()), node);
    NodeRecord bare;
    bare.boot = kBoot;
    EXPECT_EQ(NodeRecord::parse(bare.write()), bare);
}

TEST(NodeRecordTest, WhatALaterVersionAddsIsNotLookedAt) {
    EXPECT_EQ(NodeRecord::parse(example().write() + " more of it"), example());
}

TEST(NodeRecordTest, AnEarlierVersionDoesNotSaySinceWhen) {
    NodeRecord node = example();
    node.since_ms = 0;
    const std::string head =
        "0123456789abcdef http://10.0.0.7:8080 rack-1 draining 420 1000000000 0.1.0";
    EXPECT_EQ(NodeRecord::parse(head), node);
    EXPECT_EQ(NodeRecord::parse(head + " soon"), node);
    EXPECT_EQ(NodeRecord::parse(head + " 1000000000000000"), node) << "not before the year 33658";
}

TEST(NodeRecordTest, WhatDoesNotHoldIsNone) {
    const std::string boot(kBoot);
    for (const std::string& text :
         {std::string(), boot, boot + " - - serving 0 0", std::string("short - - serving 0 0 -"),
          boot + " ftp://h - serving 0 0 -", boot + " http://h/path - serving 0 0 -",
          boot + " http://u:p@h - serving 0 0 -", boot + " - ma\xffchine serving 0 0 -",
          boot + " - - asleep 0 0 -", boot + " - - serving 1001 0 -", boot + " - - serving -1 0 -",
          boot + " - - serving 0 99999999999999999999 -", boot + " - - serving 0 0 v\x01",
          boot + "  - - serving 0 0 -",
          boot + " http://" + std::string(600, 'h') + " - serving 0 0 -",
          boot + " - - serving 0 0 - " + std::string(kMaxNodeRecord, 'x')}) {
        EXPECT_FALSE(NodeRecord::parse(text)) << text.substr(0, 100);
    }
    const std::string whole = example().write();
    for (size_t size = 0; size + 20 < whole.size(); size++) {
        EXPECT_FALSE(NodeRecord::parse(whole.substr(0, size))) << size;
    }
}

TEST(StreamRecordTest, IsRead) {
    const auto record = StreamRecord::parse("media-1 0123456789abcdef 1732600000001 1732600000000");
    ASSERT_TRUE(record);
    EXPECT_EQ(*record, (StreamRecord{"media-1", std::string(kBoot), 1732600000001, 1732600000000}));
}

TEST(StreamRecordTest, WhatDoesNotHoldIsNone) {
    for (const std::string& text :
         {std::string(), std::string("n 0123456789abcdef 1"), std::string("n b 1 1"),
          std::string("n 0123456789abcdef 0 1"), std::string("n 0123456789abcdef -1 1"),
          std::string("n 0123456789abcdef 1 1 1"), std::string("n 0123456789abcdef 1e3 1"),
          std::string("n 0123456789abcdef 1000000000000000 1"),
          std::string("n n 0123456789abcdef 1 1"), std::string("n\n 0123456789abcdef 1 1"),
          "n 0123456789abcdef 1 1" + std::string(kMaxStreamRecord, ' ')}) {
        EXPECT_FALSE(StreamRecord::parse(text)) << text.substr(0, 100);
    }
}

TEST(RelaysRecordTest, WhatDoesNotHoldIsNone) {
    const std::string boot(kBoot);
    EXPECT_TRUE(RelaysRecordView::parse(boot)->streams.empty());
    EXPECT_EQ(RelaysRecordView::parse(boot + " v/live/a")->streams.size(), 1U);
    for (const std::string& text : {std::string(), std::string("v/live/a"), boot + "x v/live/a",
                                    " " + boot, boot + " " + std::string(kMaxRelaysRecord, 'x')}) {
        EXPECT_FALSE(RelaysRecordView::parse(text)) << text.substr(0, 100);
    }
}

TEST(ClusterEventTest, IsWrittenAndRead) {
    for (const EventKind kind : {EventKind::kClaim, EventKind::kRelease, EventKind::kKick}) {
        const Event event{kind, "v/live/cam", 17, "media-1"};
        EXPECT_EQ(Event::parse(event.write()), event) << event.write();
    }
}

TEST(ClusterEventTest, WhatDoesNotHoldIsNone) {
    for (const std::string& text :
         {std::string(), std::string("claim"), std::string("claim v/a/n 1"),
          std::string("claims v/a/n 1 n"), std::string("claim v/a 1 n"),
          std::string("claim v/a/n 0 n"), std::string("claim v/a/n 1 n n"),
          std::string("claim v/a/n 1 n\n"), "claim v/a/" + std::string(kMaxEvent, 'n') + " 1 n"}) {
        EXPECT_FALSE(Event::parse(text)) << text.substr(0, 100);
    }
}

TEST(ReachableTest, NothingThatOnlyThisMachineOrLinkKnows) {
    const auto reachable = [](std::string_view ip) {
        return is_reachable(NetAddress::parse_ip(ip, 80).value());
    };
    for (const char* ip : {"10.0.0.7", "192.0.2.1", "2001:db8::1", "fd00::1"}) {
        EXPECT_TRUE(reachable(ip)) << ip;
    }
    for (const char* ip :
         {"127.0.0.1", "127.255.0.1", "::1", "0.0.0.0", "0.1.2.3", "::", "169.254.169.254",
          "fe80::1", "224.0.0.1", "255.255.255.255", "ff02::1", "::ffff:127.0.0.1"}) {
        EXPECT_FALSE(reachable(ip)) << ip;
    }
}

TEST(ReachableTest, LocalNamesAreKnown) {
    EXPECT_TRUE(is_local_name("localhost"));
    EXPECT_TRUE(is_local_name("a.localhost"));
    EXPECT_TRUE(is_local_name("localhost."));
    EXPECT_FALSE(is_local_name("localhost.example"));
    EXPECT_FALSE(is_local_name("node"));
}

}  // namespace
}  // namespace weir::cluster
