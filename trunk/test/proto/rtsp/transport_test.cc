#include "proto/rtsp/transport.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace weir::rtsp {
namespace {

Transport only(std::string_view value) {
    const std::vector<Transport> all = parse_transports(value);
    EXPECT_EQ(all.size(), 1U) << value;
    return all.empty() ? Transport() : all[0];
}

TEST(RtspTransportTest, ReadsWhatClientsOffer) {
    // ffmpeg over UDP, GStreamer over TCP, RFC 2326 §12.39.
    EXPECT_EQ(only("RTP/AVP/UDP;unicast;client_port=5000-5001"),
              (Transport{.client_port = PortPair{5000, 5001}}));
    EXPECT_EQ(only("RTP/AVP/TCP;unicast;interleaved=2-3"),
              (Transport{.tcp = true, .interleaved = ChannelPair{2, 3}}));
    EXPECT_EQ(only("RTP/AVP;multicast;ttl=127;mode=\"PLAY\""),
              (Transport{.multicast = true, .ttl = 127}));
    EXPECT_EQ(only("RTP/SAVP;unicast;client_port=4588-4589;mode=record"),
              (Transport{.secure = true, .record = true, .client_port = PortPair{4588, 4589}}));
}

TEST(RtspTransportTest, ReadsWhatServersAnswer) {
    EXPECT_EQ(only("RTP/AVP;unicast;client_port=4588-4589;server_port=6256-6257;ssrc=1a2B3c4D;"
                   "source=192.0.2.7;destination=192.0.2.1"),
              (Transport{.client_port = PortPair{4588, 4589},
                         .server_port = PortPair{6256, 6257},
                         .ssrc = 0x1A2B3C4D,
                         .destination = "192.0.2.1",
                         .source = "192.0.2.7"}));
    EXPECT_EQ(only("RTP/AVP;multicast;destination=239.1.2.3;port=3456-3457;ttl=16"),
              (Transport{.multicast = true,
                         .port = PortPair{3456, 3457},
                         .ttl = 16,
                         .destination = "239.1.2.3"}));
}

TEST(RtspTransportTest, KeepsTheOrderOfAlternativesAndLeavesOutWhatItDoesNotKnow) {
    const std::vector<Transport> all = parse_transports(
        "RTP/AVP/TCP;interleaved=0-1;mode=\"PLAY,RECORD\", RAW/RAW/UDP;unicast,,"
        "RTP/AVP;unicast;client_port=x,rtp/avp;client_port=3000");
    ASSERT_EQ(all.size(), 2U);
    EXPECT_TRUE(all[0].tcp);
    EXPECT_TRUE(all[0].record);
    EXPECT_EQ(all[1].client_port, (PortPair{3000, 3001}));
}

TEST(RtspTransportTest, TakesTheOdditiesOfCameras) {
    struct Case {
        std::string_view value;
        Transport expected;
    };

    const Case cases[] = {
        // Neither unicast nor multicast.
        {"RTP/AVP;client_port=5000-5001", {.client_port = PortPair{5000, 5001}}},
        {" RTP/AVP/TCP ; unicast ; interleaved = 0 - 1 ; ",
         {.tcp = true, .interleaved = ChannelPair{0, 1}}},
        {"RTP/AVP/TCP;interleaved=4", {.tcp = true, .interleaved = ChannelPair{4, 5}}},
        {"RTP/AVP/TCP;interleaved=255", {.tcp = true, .interleaved = ChannelPair{255, 255}}},
        {"RTP/AVP;unicast;server_port=0-0", {}},
        {"RTP/AVP;unicast;server_port=;client_port=5000-5001",
         {.client_port = PortPair{5000, 5001}}},
        {"RTP/AVP;unicast;server_port=-1", {}},
        {"RTP/AVP;unicast;mode=receive", {.record = true}},
        {"RTP/AVP;unicast;mode=\"RECORD\"", {.record = true}},
        {"RTP/AVP;unicast;mode=\"\"", {}},
        // Numbers that cannot be an SSRC.
        {"RTP/AVP;unicast;ssrc=123456789", {}},
        {"RTP/AVP;unicast;ssrc=-1", {}},
        {"RTP/AVP;unicast;ssrc= 00FF", {.ssrc = 255}},
        {"RTP/AVP;unicast;ssrc=", {}},
        {"RTP/AVP;unicast;ttl=256;layers=2;append;RTCP-mux;=;x=", {}},
        {"RTP/AVP;unicast;destination=a b;source=\"10.0.0.1\"", {.source = "10.0.0.1"}},
        {"RTP/AVP;unicast;source=[2001:db8::1]", {.source = "[2001:db8::1]"}},
    };
    for (const Case& each : cases) {
        EXPECT_EQ(only(each.value), each.expected) << each.value;
    }
}

TEST(RtspTransportTest, LeavesOutAlternativesWithoutUsableNumbers) {
    for (const std::string_view value :
         {"", ",", "RTP", "RTP/AVP/SCTP", "RTP/AVP;client_port=", "RTP/AVP;client_port=65536",
          "RTP/AVP;client_port=1-65536", "RTP/AVP;client_port=1-", "RTP/AVP;client_port=-2",
          "RTP/AVP/TCP;interleaved=256-257", "RTP/AVP/TCP;interleaved=0-256",
          "RTP/AVP/TCP;interleaved=a-b", "RTP/AVP;port=1-2-3", "\"RTP/AVP\""}) {
        EXPECT_TRUE(parse_transports(value).empty()) << value;
    }
}

TEST(RtspTransportTest, BoundsWhatItReads) {
    std::string many;
    for (size_t i = 0; i < kMaxTransports + 1; i++) {
        many += "RTP/AVP,";
    }
    EXPECT_EQ(parse_transports(many).size(), kMaxTransports);
    EXPECT_TRUE(parse_transports("RTP/AVP;" + std::string(kMaxTransportText, 'x')).empty());
    EXPECT_EQ(only("RTP/AVP;source=" + std::string(kMaxTransportHost, 'h')).source.size(),
              kMaxTransportHost);
    EXPECT_EQ(only("RTP/AVP;source=" + std::string(kMaxTransportHost + 1, 'h')).source, "");
}

TEST(RtspTransportTest, WritesWhatItReads) {
    const Transport all = {.secure = true,
                           .tcp = true,
                           .multicast = true,
                           .record = true,
                           .client_port = PortPair{1, 2},
                           .server_port = PortPair{3, 4},
                           .port = PortPair{5, 6},
                           .interleaved = ChannelPair{7, 8},
                           .ttl = 9,
                           .ssrc = 0xAB,
                           .destination = "239.0.0.1",
                           .source = "h"};
    EXPECT_EQ(write(all),
              "RTP/SAVP/TCP;multicast;destination=239.0.0.1;source=h;port=5-6;client_port=1-2;"
              "server_port=3-4;interleaved=7-8;ttl=9;ssrc=000000AB;mode=record");
    EXPECT_EQ(only(write(all)), all);
    const std::vector<Transport> two = {all, Transport()};
    EXPECT_EQ(parse_transports(write(two)), two);
}

TEST(RtspTransportTest, WritesNoHostThatCouldSplitTheField) {
    EXPECT_EQ(write(Transport{.destination = "a\r\nb", .source = "a;b"}), "RTP/AVP;unicast");
}

}  // namespace
}  // namespace weir::rtsp
