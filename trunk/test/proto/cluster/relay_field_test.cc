#include "proto/cluster/relay_field.h"

#include <string>

#include <gtest/gtest.h>

#include "proto/cluster/records.h"

namespace weir::cluster {
namespace {

constexpr std::string_view kSecret = "0123456789abcdef";
constexpr std::string_view kHost = "a.example:8080";
constexpr std::string_view kTarget = "/live/cam.flv?vhost=a.example&relay=1";
constexpr int64_t kNow = 1'764'128'638'123;

RelayRequest request() {
    RelayRequest made;
    made.path = {"b", "c-1.example_2"};
    made.epoch = 17;
    made.time_ms = kNow;
    for (size_t i = 0; i < made.nonce.size(); i++) {
        made.nonce[i] = static_cast<uint8_t>(i * 17);
    }
    return made;
}

std::string written(const RelayRequest& what = request()) {
    return write_relay_request(what, kSecret, "GET", kHost, kTarget);
}

ErrorCode code_of(std::string_view value, int64_t now_ms = kNow) {
    const Result<RelayRequest> read =
        read_relay_request(value, kSecret, "GET", kHost, kTarget, now_ms);
    return read.ok() ? ErrorCode::kOk : read.error().code();
}

TEST(RelayFieldTest, ARequestIsReadAsItWasWritten) {
    const Result<RelayRequest> read =
        read_relay_request(written(), kSecret, "GET", kHost, kTarget, kNow);
    ASSERT_TRUE(read.ok()) << read.error().message();
    EXPECT_EQ(*read, request());
}

// The mac was computed with Python's hmac module.
TEST(RelayFieldTest, TheBytesOfARequestStayAsTheyAre) {
    RelayRequest simple;
    simple.path = {"b"};
    simple.time_ms = 1'000;
    EXPECT_EQ(write_relay_request(simple, kSecret, "GET", kHost, "/live/cam.flv?relay=1"),
              "v=2;path=b;epoch=0;time=1000;nonce=00000000000000000000000000000000;mac="
              "be19aef0c1eeaf047e5bf10c95817d41d3ef7823a3c940894eb29c14e5690369");
}

TEST(RelayFieldTest, AnAnswerIsReadAsItWasWritten) {
    const RelayAnswer answer{{"a", "b"}, kMaxEpoch};
    EXPECT_EQ(write_relay_answer(answer), "v=1;path=a,b;epoch=999999999999999");
    const Result<RelayAnswer> read = read_relay_answer(write_relay_answer(answer));
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(*read, answer);
    EXPECT_FALSE(read_relay_answer("v=1;path=a;epoch=1000000000000000").ok())
        << "no later claim could win";
}

TEST(RelayFieldTest, NothingOfItCanBeChanged) {
    const std::string good = written();
    for (size_t i = 0; i < good.size(); i++) {
        std::string bad = good;
        bad[i] = bad[i] == '1' ? '2' : '1';
        EXPECT_NE(code_of(bad), ErrorCode::kOk) << bad;
    }
}

TEST(RelayFieldTest, NoPartOfItIsEnough) {
    const std::string good = written();
    for (size_t i = 0; i < good.size(); i++) {
        EXPECT_NE(code_of(good.substr(0, i)), ErrorCode::kOk) << i;
    }
    EXPECT_NE(code_of(good + "0"), ErrorCode::kOk);
}

TEST(RelayFieldTest, ItHoldsForOneMethodAndOneTargetAndOneSecret) {
    const std::string good = written();
    const auto read = [&](std::string_view secret, std::string_view method,
                          std::string_view target) {
        const auto got = read_relay_request(good, secret, method, kHost, target, kNow);
        return got.ok() ? ErrorCode::kOk : got.error().code();
    };
    EXPECT_EQ(read(kSecret, "GET", kTarget), ErrorCode::kOk);
    EXPECT_EQ(read("0123456789abcdeF", "GET", kTarget), ErrorCode::kDenied);
    EXPECT_EQ(read(kSecret, "HEAD", kTarget), ErrorCode::kDenied);
    EXPECT_EQ(read(kSecret, "GET", "/live/cam.flv?vhost=b.example&relay=1"), ErrorCode::kDenied);
}

TEST(RelayFieldTest, ItHoldsForOneHostWhateverItsPort) {
    const std::string good = written();
    const auto read = [&](std::string_view host) {
        const auto got = read_relay_request(good, kSecret, "GET", host, kTarget, kNow);
        return got.ok() ? ErrorCode::kOk : got.error().code();
    };
    EXPECT_EQ(read("a.example:8080"), ErrorCode::kOk);
    EXPECT_EQ(read("A.Example"), ErrorCode::kOk) << "a proxy left the port out";
    for (const char* other : {"b.example:8080", "", "a.example.", "[::1]:8080", "xa.example"}) {
        EXPECT_EQ(read(other), ErrorCode::kDenied) << other;
    }
}

// While a cluster is updated: nodes before signed without the host.
TEST(RelayFieldTest, ReadsWhatOlderNodesSign) {
    const std::string old =
        "v=1;path=b;epoch=0;time=1764128638123;nonce=00000000000000000000000000000000;mac="
        "e992399e5de483b67cefb71632a021422813639fdd4ba0e8725b77ec0df5123c";
    const auto read = read_relay_request(old, kSecret, "GET", kHost, kTarget, kNow);
    ASSERT_TRUE(read.ok());
    EXPECT_TRUE(read->for_any_host);
    std::string stripped = written();
    stripped[2] = '1';
    EXPECT_EQ(code_of(stripped), ErrorCode::kDenied) << "a newer one is no older one";
}

TEST(RelayFieldTest, ItHoldsForItsLifeInBothDirections) {
    EXPECT_EQ(code_of(written(), kNow + kRelayLife.count()), ErrorCode::kOk);
    EXPECT_EQ(code_of(written(), kNow - kRelayLife.count()), ErrorCode::kOk);
    EXPECT_EQ(code_of(written(), kNow + kRelayLife.count() + 1), ErrorCode::kDenied);
    EXPECT_EQ(code_of(written(), kNow - kRelayLife.count() - 1), ErrorCode::kDenied);
}

TEST(RelayFieldTest, PathsAreBounded) {
    RelayRequest longest = request();
    longest.path.assign(kMaxRelayPath, std::string(kMaxNodeName, 'n'));
    longest.epoch = UINT64_MAX;
    EXPECT_LE(written(longest).size(), kMaxRelayFieldSize);
    EXPECT_EQ(code_of(written(longest)), ErrorCode::kOk);
    longest.path.emplace_back("n");
    EXPECT_EQ(code_of(written(longest)), ErrorCode::kMalformed);
    longest.path = {std::string(kMaxNodeName + 1, 'n')};
    EXPECT_EQ(code_of(written(longest)), ErrorCode::kMalformed);
    longest.path = {"a b"};
    EXPECT_EQ(code_of(written(longest)), ErrorCode::kMalformed);
    EXPECT_EQ(code_of(std::string(kMaxRelayFieldSize, 'x') + written()), ErrorCode::kMalformed);
}

TEST(RelayFieldTest, WhatIsNoAnswerIsRefused) {
    for (const std::string_view bad :
         {"", "v=1", "v=2;path=a;epoch=1", "v=1;path=;epoch=1", "v=1;path=a;epoch=",
          "v=1;path=a,,b", "v=1;path=a;epoch=18446744073709551616", "v=1;path=a;epoch=1;x",
          "v=1;epoch=1;path=a", "v=1;path=a/b;epoch=1", "v=1;path=a;epoch=-1"}) {
        EXPECT_FALSE(read_relay_answer(bad).ok()) << bad;
    }
}

}  // namespace
}  // namespace weir::cluster
