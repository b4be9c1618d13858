#include "proto/ice/candidate.h"

#include <set>

#include <gtest/gtest.h>

namespace weir::ice {
namespace {

TEST(IceCandidateTest, ComputesThePrioritiesOfTheStandard) {
    // RFC 8445 §5.1.2.1: 2^24 * 126 + 2^8 * 65535 + (256 - 1).
    EXPECT_EQ(candidate_priority(CandidateType::kHost, Transport::kUdp, TcpType::kNone, 65535),
              2'130'706'431U);
    EXPECT_EQ(candidate_priority(CandidateType::kHost, Transport::kUdp, TcpType::kNone, 65535, 2),
              2'130'706'430U);
    EXPECT_EQ(
        candidate_priority(CandidateType::kServerReflexive, Transport::kUdp, TcpType::kNone, 65535),
        1'694'498'815U);
    EXPECT_EQ(candidate_priority(CandidateType::kRelayed, Transport::kUdp, TcpType::kNone, 0, 256),
              0U);
    // RFC 6544 §4.2: passive is 4 * 2^13 + 8191 of the local preference.
    EXPECT_EQ(candidate_priority(CandidateType::kHost, Transport::kTcp, TcpType::kPassive, 65535),
              (90U << 24U) + (40'959U << 8U) + 255U);
}

TEST(IceCandidateTest, MakesThoseOfTheServer) {
    NetAddress v4 = *NetAddress::parse("192.0.2.1:8000");
    NetAddress v6 = *NetAddress::parse("[2001:db8::1]:8000");
    std::vector<NetAddress> udp = {v4, v6, v4};
    std::vector<NetAddress> tcp = {v4};
    std::vector<Candidate> candidates = make_host_candidates(udp, tcp);
    ASSERT_EQ(candidates.size(), 3U);
    std::string foundation = candidates[0].foundation;
    EXPECT_EQ(candidates[0].to_text(),
              "candidate:" + foundation + " 1 udp 2130706431 192.0.2.1 8000 typ host");
    EXPECT_TRUE(candidates[1].to_text().ends_with(" 1 udp 2130706175 2001:db8::1 8000 typ host"));
    EXPECT_TRUE(candidates[2].to_text().ends_with(
        " 1 tcp 1520435199 192.0.2.1 8000 typ host tcptype passive"));
    std::set<std::string> foundations;
    for (const Candidate& candidate : candidates) {
        foundations.insert(candidate.foundation);
    }
    EXPECT_EQ(foundations.size(), 3U);
    EXPECT_EQ(make_host_candidates({}, {}).size(), 0U);
}

TEST(IceCandidateTest, MakesABoundedNumber) {
    std::vector<NetAddress> many;
    for (uint16_t port = 1; port < 100; port++) {
        many.push_back(NetAddress::from_v4({192, 0, 2, 1}, port));
    }
    std::vector<Candidate> candidates = make_host_candidates(many, many);
    EXPECT_EQ(candidates.size(), kMaxLocalCandidates);
    std::set<uint32_t> priorities;
    for (const Candidate& candidate : candidates) {
        priorities.insert(candidate.priority);
    }
    EXPECT_EQ(priorities.size(), candidates.size());
}

// In the form in which Chromium, Firefox and others send them (their documented output).
TEST(IceCandidateTest, ReadsThoseOfPeers) {
    std::optional<Candidate> mdns = Candidate::parse(
        "a=candidate:1467250027 1 udp 2122260223 6f2a4b0e-7d7a-4c43-8f0e-3a8b1f2f6f10.local 56143 "
        "typ host generation 0 ufrag abcd network-id 1 network-cost 10\r\n");
    ASSERT_TRUE(mdns);
    EXPECT_EQ(mdns->host_name, "6f2a4b0e-7d7a-4c43-8f0e-3a8b1f2f6f10.local");
    EXPECT_EQ(mdns->address.port(), 56143);
    EXPECT_EQ(mdns->ufrag, "abcd");
    EXPECT_EQ(mdns->priority, 2122260223U);

    std::optional<Candidate> reflexive = Candidate::parse(
        "candidate:1 1 UDP 1685987327 203.0.113.5 60000 typ srflx raddr 0.0.0.0 rport 0");
    ASSERT_TRUE(reflexive);
    EXPECT_EQ(reflexive->type, CandidateType::kServerReflexive);
    EXPECT_EQ(reflexive->address.to_string(), "203.0.113.5:60000");
    ASSERT_TRUE(reflexive->related);
    EXPECT_EQ(reflexive->related->to_string(), "0.0.0.0:0");

    std::optional<Candidate> tcp =
        Candidate::parse("candidate:10 1 TCP 2105393407 fe80::1%eth0 9 typ host tcptype active");
    ASSERT_TRUE(tcp);
    EXPECT_EQ(tcp->transport, Transport::kTcp);
    EXPECT_EQ(tcp->tcp_type, TcpType::kActive);
    EXPECT_EQ(tcp->address.to_string(), "[fe80::1]:9");
}

TEST(IceCandidateTest, ReadsWhatItWrites) {
    for (const char* text :
         {"candidate:1 1 udp 2130706431 192.0.2.1 8000 typ host",
          "candidate:abc+/ 2 tcp 0 2001:db8::1 65535 typ host tcptype passive",
          "candidate:1 1 tcp 5 192.0.2.1 9 typ prflx raddr 10.0.0.1 rport 9 tcptype so ufrag ab+/",
          "candidate:1 256 udp 4294967295 host-name.local 1 typ relay raddr :: rport 0"}) {
        std::optional<Candidate> candidate = Candidate::parse(text);
        ASSERT_TRUE(candidate) << text;
        EXPECT_EQ(candidate->to_text(), text);
        EXPECT_EQ(Candidate::parse(candidate->to_text()), candidate);
    }
}

TEST(IceCandidateTest, RefusesWhatIsMalformed) {
    for (const char* text :
         {"", "a=", "candidate:", "candidate:1 1 udp 1 192.0.2.1 1 typ",
          "candidate:1 1 udp 1 192.0.2.1 1 host", "candidate:1 0 udp 1 192.0.2.1 1 typ host",
          "candidate:1 257 udp 1 192.0.2.1 1 typ host", "candidate:1 1 sctp 1 192.0.2.1 1 typ host",
          "candidate:1 1 udp 4294967296 192.0.2.1 1 typ host",
          "candidate:1 1 udp -1 192.0.2.1 1 typ host",
          "candidate:1 1 udp 1 192.0.2.1 65536 typ host", "candidate:1 1 udp 1 a$b 1 typ host",
          "candidate:1 1 udp 1 192.0.2.1 1 typ other",
          "candidate:1 1 tcp 1 192.0.2.1 1 typ host tcptype sideways",
          "candidate:123456789012345678901234567890123 1 udp 1 192.0.2.1 1 typ host",
          "end-of-candidates"}) {
        EXPECT_FALSE(Candidate::parse(text)) << text;
    }
}

TEST(IceCandidateTest, RefusesWhatIsOverALimit) {
    std::string line = "candidate:1 1 udp 1 192.0.2.1 1 typ host";
    std::string extensions = line;
    for (size_t i = 0; i < kMaxExtensions; i++) {
        extensions += " n v";
    }
    EXPECT_TRUE(Candidate::parse(extensions));
    EXPECT_FALSE(Candidate::parse(extensions + " n v"));
    EXPECT_TRUE(
        Candidate::parse(line + " x " + std::string(kMaxCandidateText - line.size() - 3, 'y')));
    EXPECT_FALSE(
        Candidate::parse(line + " x " + std::string(kMaxCandidateText - line.size() - 2, 'y')));
    std::string host(kMaxHostName, 'h');
    EXPECT_TRUE(Candidate::parse("candidate:1 1 udp 1 " + host + " 1 typ host"));
    EXPECT_FALSE(Candidate::parse("candidate:1 1 udp 1 " + host + "h 1 typ host"));
}

TEST(IceCandidateTest, DropsAFragmentThatIsNone) {
    std::string line = "candidate:1 1 udp 1 192.0.2.1 1 typ host ufrag ";
    EXPECT_EQ(Candidate::parse(line + "abcd")->ufrag, "abcd");
    for (const char* bad : {"abc", "ab:d", "abc\td"}) {
        EXPECT_EQ(Candidate::parse(line + bad)->ufrag, "") << bad;
    }
}

TEST(IceCandidateTest, RefusesItAtEachTruncatedLength) {
    std::string line = "candidate:1 1 udp 1 192.0.2.1 1 typ host";
    for (size_t size = 0; size < line.size(); size++) {
        EXPECT_FALSE(Candidate::parse(line.substr(0, size))) << size;
    }
}

}  // namespace
}  // namespace weir::ice
