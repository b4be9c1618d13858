#include "net/ts/group_address.h"

#include <gtest/gtest.h>

namespace weir::net {
namespace {

TEST(GroupAddressTest, TakesEachFormApart) {
    struct Case {
        const char* text;
        const char* to;
        const char* source;
        const char* interface;
        bool group;
    };

    for (const Case& each : {
             Case{"239.1.1.1:5000", "239.1.1.1:5000", "", "", true},
             Case{"10.0.0.9@232.1.1.1:5000", "232.1.1.1:5000", "10.0.0.9", "", true},
             Case{"239.1.1.1:5000@eth1", "239.1.1.1:5000", "", "eth1", true},
             Case{"239.1.1.1:5000@192.168.1.2", "239.1.1.1:5000", "", "192.168.1.2", true},
             Case{"10.0.0.9@232.1.1.1:5000@eth1.7", "232.1.1.1:5000", "10.0.0.9", "eth1.7", true},
             Case{"[ff15::1]:5000", "[ff15::1]:5000", "", "", true},
             Case{"[fd00::9]@[ff35::1]:5000@eth0", "[ff35::1]:5000", "fd00::9", "eth0", true},
             Case{"239.1.1.1:5000@eth1?fec=5002&ttl=4", "239.1.1.1:5000", "", "eth1", true},
             Case{"239.1.1.1:5000?ttl=255", "239.1.1.1:5000", "", "", true},
             Case{"0.0.0.0:5000", "0.0.0.0:5000", "", "", false},
             Case{"192.168.1.2:65535", "192.168.1.2:65535", "", "", false},
             Case{"10.0.0.9@192.168.1.2:1", "192.168.1.2:1", "10.0.0.9", "", false},
         }) {
        const auto address = GroupAddress::parse(each.text);
        ASSERT_TRUE(address.ok()) << each.text << ": " << address.error().message();
        EXPECT_EQ(address->to.to_string(), each.to);
        EXPECT_EQ(address->source.empty() ? "" : address->source.ip_text(), each.source);
        EXPECT_EQ(address->interface, each.interface);
        EXPECT_EQ(address->is_group(), each.group) << each.text;
        EXPECT_EQ(address->to_string(), each.text);
    }
}

TEST(GroupAddressTest, TakesWhatPlayersWrite) {
    EXPECT_EQ(GroupAddress::parse("@239.1.1.1:5000")->to_string(), "239.1.1.1:5000");
    EXPECT_EQ(GroupAddress::parse("239.1.1.1:5000/")->to_string(), "239.1.1.1:5000");
    EXPECT_EQ(GroupAddress::parse("fd00::9@[ff35::1]:5000")->to_string(),
              "[fd00::9]@[ff35::1]:5000");
}

TEST(GroupAddressTest, RefusesWhatItIsNotAndSaysWhy) {
    struct Case {
        const char* text;
        const char* why;
    };

    for (const Case& each : {
             Case{"", "no numeric address with a port"},
             Case{"239.1.1.1", "no numeric address with a port"},
             Case{"239.1.1.1:0", "port 0"},
             Case{"239.1.1.1:65536", "no numeric address with a port"},
             Case{"tv.example:5000", "no numeric address with a port"},
             Case{"239.1.1.1:5000/path", "no numeric address with a port"},
             Case{"ff15::1:5000", "no numeric address with a port"},
             Case{"sender@239.1.1.1:5000", "the sender"},
             Case{"239.1.1.2@239.1.1.1:5000", "in front of @"},
             Case{"0.0.0.0@239.1.1.1:5000", "in front of @"},
             Case{"fd00::9@239.1.1.1:5000", "in front of @"},
             Case{"1.1.1.1@239.1.1.1:5000@eth0@eth1", "too many @"},
             Case{"239.1.1.1:5000@", "the interface"},
             Case{"239.1.1.1:5000@a-name-of-16-char", "the interface"},
             Case{"239.1.1.1:5000@e/0", "the interface"},
             Case{"127.0.0.1:5000@lo", "for groups only"},
             Case{"239.1.1.1:5000?fec=0", "?fec= takes a port"},
             Case{"239.1.1.1:5000?fec=65536", "?fec= takes a port"},
             Case{"239.1.1.1:5000?ttl=256", "?ttl= takes"},
             Case{"239.1.1.1:5000?fcc=5002", "?fcc is not supported"},
             Case{"239.1.1.1:5000?", "fec and ttl only"},
             Case{"239.1.1.1:5000?A b=5002", "fec and ttl only"},
         }) {
        const auto address = GroupAddress::parse(each.text);
        ASSERT_FALSE(address.ok()) << each.text;
        EXPECT_EQ(address.error().code(), ErrorCode::kMalformed);
        EXPECT_NE(address.error().message().find(each.why), std::string_view::npos)
            << each.text << ": " << address.error().message();
        EXPECT_NE(address.error().message().find("[SRC@]GROUP:PORT[@IF]"), std::string_view::npos);
    }
}

TEST(GroupAddressTest, KnowsGroupsFromOtherAddresses) {
    const auto is = [](const char* ip) { return is_multicast(*NetAddress::parse_ip(ip, 0)); };
    EXPECT_FALSE(is("223.255.255.255"));
    EXPECT_TRUE(is("224.0.0.0"));
    EXPECT_TRUE(is("239.255.255.255"));
    EXPECT_FALSE(is("240.0.0.0"));
    EXPECT_TRUE(is("ff02::1"));
    EXPECT_FALSE(is("fe80::1"));
}

}  // namespace
}  // namespace weir::net
