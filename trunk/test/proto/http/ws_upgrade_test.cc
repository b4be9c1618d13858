#include "proto/http/ws_upgrade.h"

#include <gtest/gtest.h>

namespace weir::http {
namespace {

// The handshake of RFC 6455 §1.2.
Request good_request() {
    Request request;
    request.path = "/live/a.flv";
    request.headers = {{"Host", "server.example.com"},
                       {"Upgrade", "websocket"},
                       {"Connection", "keep-alive, Upgrade"},
                       {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
                       {"Sec-WebSocket-Version", "13"}};
    return request;
}

TEST(WsUpgradeTest, AcceptsTheHandshakeOfTheRfc) {
    ASSERT_TRUE(wants_websocket(good_request()));
    WsUpgrade upgrade = check_ws_upgrade(good_request(), {{"X-Extra", "1"}});
    EXPECT_EQ(upgrade.status, 101);
    EXPECT_TRUE(upgrade.head.starts_with("HTTP/1.1 101 Switching Protocols\r\n"));
    EXPECT_NE(upgrade.head.find("\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"),
              std::string::npos);
    EXPECT_NE(upgrade.head.find("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"),
              std::string::npos);
    EXPECT_NE(upgrade.head.find("\r\nX-Extra: 1\r\n"), std::string::npos);
    EXPECT_TRUE(upgrade.head.ends_with("\r\n\r\n"));
}

TEST(WsUpgradeTest, RefusesEachBrokenFieldWithAReason) {
    struct Case {
        const char* field;
        const char* value;
        int status;
    };

    const Case cases[] = {
        {"Upgrade", "h2c", 426},
        {"Connection", "keep-alive", 400},
        {"Sec-WebSocket-Version", "8", 426},
        {"Sec-WebSocket-Key", "short", 400},
        {"Sec-WebSocket-Key", "", 400},
    };
    for (const Case& c : cases) {
        Request request = good_request();
        request.headers.set(c.field, c.value);
        WsUpgrade upgrade = check_ws_upgrade(request);
        EXPECT_EQ(upgrade.status, c.status) << c.field << ": " << c.value;
        EXPECT_FALSE(upgrade.reason.empty());
        EXPECT_TRUE(upgrade.head.empty());
    }
}

TEST(WsUpgradeTest, NamesTheVersionItSpeaks) {
    Request request = good_request();
    request.headers.set("Sec-WebSocket-Version", "7");
    EXPECT_EQ(check_ws_upgrade(request).fields.get("Sec-WebSocket-Version"), "13");
}

TEST(WsUpgradeTest, RefusesOtherMethodsVersionsAndDoubleKeys) {
    Request head = good_request();
    head.method = Method::kHead;
    EXPECT_EQ(check_ws_upgrade(head).status, 405);
    Request old = good_request();
    old.version_minor = 0;
    EXPECT_EQ(check_ws_upgrade(old).status, 400);
    Request doubled = good_request();
    doubled.headers.add("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
    EXPECT_EQ(check_ws_upgrade(doubled).status, 400);
    EXPECT_FALSE(wants_websocket(Request()));
}

}  // namespace
}  // namespace weir::http
