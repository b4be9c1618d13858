// A server without its configuration: registry, fan-out, RTMP and HTTP on loopback, a policy that a
// test sets, and the lines were logged.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.h"
#include "net/client_table.h"
#include "net/fanout.h"
#include "net/http/router.h"
#include "net/http/server.h"
#include "net/limits.h"
#include "net/services.h"
#include "session/flv/flv_http.h"
#include "session/rtmp/rtmp_server.h"
#include "stream/registry.h"

#include "test/session/rtmp_peer.h"
#include "test/support/io/loopback.h"

namespace weir::session {

class FakePolicy final : public net::Policy {
  public:
    static constexpr std::string_view kToken = "open-sesame";  // of the app "secret"

    stream::StreamKey key_of(std::string_view,
                             std::string_view app,
                             std::string_view name) const override {
        return {std::string(stream::kDefaultVhost), std::string(app), std::string(name)};
    }

    Result<net::PublishRules> may_publish(const net::AccessRequest& request) const override {
        if (is_closed(request)) {
            return make_error(ErrorCode::kDenied, "publishing is closed here");
        }
        return publish;
    }

    Result<net::PlayRules> may_play(const net::AccessRequest& request) const override {
        if (is_closed(request)) {
            return make_error(ErrorCode::kDenied, "playing is closed here");
        }
        return play;
    }

    net::LoginAnswer login(const net::LoginRequest&) const override {
        logins++;
        return login_answer;
    }

    bool is_closed(const net::AccessRequest& request) const {
        asked++;
        return request.key.app == "closed" ||
               (request.key.app == "secret" && request.token != kToken);
    }

    net::PublishRules publish;
    net::PlayRules play;
    net::LoginAnswer login_answer;
    mutable size_t asked = 0;  // who may publish or play
    mutable size_t logins = 0;
};

class World : public testing::Test {
  protected:
    World() {
        lines().clear();
        log::set_sink([](log::Level, std::string_view line) { lines().emplace_back(line); });
        policy_.play.pump.merge_window = Millis(0);
    }

    ~World() override {
        stop();
        EXPECT_EQ(clients_.size(), 0U);
        EXPECT_EQ(registry_.size(), 0U);
        EXPECT_EQ(connections_.used(), 0U);
        log::set_sink(nullptr);
    }

    void stop() {
        if (rtmp_) {
            Error error = rtmp_->stop(io::soon());
            EXPECT_FALSE(error) << error.to_string();
        }
        if (http_) {
            Error error = http_->stop(io::soon());
            EXPECT_FALSE(error) << error.to_string();
        }
        fanout_.stop(io::soon());
        rtmp_.reset();
        http_.reset();
    }

    void start_rtmp() {
        rtmp_ = std::make_unique<RtmpServer>(services_, options_);
        auto listener = io::TcpListener::listen(io::loopback());
        ASSERT_TRUE(listener.ok());
        rtmp_address_ = (*listener)->local();
        Error error = rtmp_->serve(std::move(*listener));
        ASSERT_FALSE(error) << error.to_string();
    }

    void start_http() {
        flv_.add_to(router_);
        net::HttpServerOptions options;
        options.admit = [this] { return connections_.take(); };
        options.release = [this] { connections_.give_back(); };
        http_ = net::HttpServer::create(router_, std::move(options));
        auto listener = io::TcpListener::listen(io::loopback());
        ASSERT_TRUE(listener.ok());
        http_address_ = (*listener)->local();
        Error error = http_->serve(std::move(*listener));
        ASSERT_FALSE(error) << error.to_string();
    }

    std::unique_ptr<RtmpPeer> peer() { return std::make_unique<RtmpPeer>(rtmp_address_); }

    // Opened and publishing, with media.
    std::unique_ptr<RtmpPeer> publisher(std::string_view name = "a") {
        auto made = peer();
        made->open();
        EXPECT_TRUE(made->publish(name));
        made->start_media();
        return made;
    }

    static std::vector<std::string>& lines() {
        static std::vector<std::string> instance;
        return instance;
    }

    static bool logged(std::string_view text) {
        return std::ranges::any_of(
            lines(), [&](const std::string& line) { return line.find(text) != std::string::npos; });
    }

    FakePolicy policy_;
    stream::Registry registry_;
    net::Fanout fanout_{registry_};
    net::ClientTable clients_;
    net::ConnectionBudget connections_{1000};
    net::Limits limits_;
    net::Services services_{registry_, fanout_, clients_, connections_, policy_, limits_};
    RtmpServerOptions options_;
    std::unique_ptr<RtmpServer> rtmp_;
    net::HttpPlay flv_{services_, flv_http_format()};
    net::HttpRouter router_;
    std::unique_ptr<net::HttpServer> http_;
    io::SocketAddress rtmp_address_;
    io::SocketAddress http_address_;
};

}  // namespace weir::session
