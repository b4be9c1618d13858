// World with a WebRTC server on loopback.
#pragma once

#include <memory>
#include <string>

#include "base/object_count.h"
#include "io/worker_pool.h"
#include "session/webrtc/rtc_routes.h"
#include "session/webrtc/rtc_server.h"

#include "test/session/webrtc/rtc_media.h"
#include "test/session/webrtc/rtc_peer.h"
#include "test/session/world.h"

namespace weir::session {

// Live objects of the classes that WebRTC sessions are made of.
inline uint64_t live_objects(std::string_view name) {
    for (const ObjectClass* at = ObjectClass::first(); at != nullptr; at = at->next()) {
        if (at->name() == name) {
            return at->live();
        }
    }
    ADD_FAILURE() << "no class " << name;
    return 0;
}

inline uint64_t objects_made(std::string_view subsystem) {
    uint64_t sum = 0;
    for (const ObjectClass* at = ObjectClass::first(); at != nullptr; at = at->next()) {
        sum += at->subsystem() == subsystem ? at->made() : 0;
    }
    return sum;
}

class RtcWorld : public World {
  protected:
    RtcWorld() {
        auto pool = io::WorkerPool::create(1, 1024);
        WEIR_CHECK(pool.ok());
        workers_ = std::move(*pool);
    }

    ~RtcWorld() override {
        if (rtc_) {
            Error error = rtc_->stop(io::soon());
            EXPECT_FALSE(error) << error.to_string();
        }
        World::stop();
        rtc_ = nullptr;
        own_rtc_.reset();
        if (stream::Stream* left = registry_.find(key())) {
            registry_.release(*left);  // a TestPublisher's
        }
        for (const char* name :
             {"rtc_session", "rtc_player", "rtc_publisher", "rtc_sender", "rtc_ingest", "rtc_pump",
              "rtp_muxer", "rtp_log", "ice_agent", "dtls_transport", "srtp_protector",
              "srtp_unprotector", "audio_bridge", "rtp_receiver"}) {
            EXPECT_EQ(live_objects(name), 0U) << name;
        }
    }

    void start_rtc(RtcServerOptions options = {}) {
        own_rtc_ = std::make_unique<RtcServer>(services_, std::move(options));
        serve_rtc(*own_rtc_);
    }

    // The server of somebody else, who stops it before it goes.
    void serve_rtc(RtcServer& server) {
        rtc_ = &server;
        Error error = rtc_->start(workers_.get());
        ASSERT_FALSE(error) << error.to_string();
        auto socket = io::UdpSocket::bind(io::loopback(), {});
        ASSERT_TRUE(socket.ok());
        rtc_address_ = (*socket)->local();
        error = rtc_->transport().serve(std::move(*socket));
        ASSERT_FALSE(error) << error.to_string();
    }

    stream::Stream& stream(std::string_view name = "a") {
        return registry_.get_or_create(key(name), {}, MonoClock::now());
    }

    static stream::StreamKey key(std::string_view name = "a") {
        return {std::string(stream::kDefaultVhost), "live", std::string(name)};
    }

    std::unique_ptr<net::Client> client(const stream::StreamKey& of) {
        auto made = std::make_unique<net::Client>(clients_, "webrtc", "127.0.0.1");
        made->key = of;
        return made;
    }

    Result<RtcAnswer> ask_to_publish(const std::string& offer, std::string_view name = "a") {
        return rtc_->publish(offer, key(name), policy_.publish, {client(key(name)), {}, {}});
    }

    Result<RtcAnswer> ask_to_play(const std::string& offer, std::string_view name = "a") {
        return rtc_->play(offer, key(name), policy_.play, {client(key(name)), {}, {}});
    }

    // Connected and publishing, or null. Yields.
    std::unique_ptr<RtcPeer> publishing_peer(std::string_view name = "a") {
        const Result<RtcAnswer> answer = ask_to_publish(RtcPeer::offer("chromium-whip"), name);
        return connected(answer);
    }

    std::unique_ptr<RtcPeer> playing_peer(std::string_view name = "a") {
        const Result<RtcAnswer> answer = ask_to_play(RtcPeer::offer("chromium-whep"), name);
        return connected(answer);
    }

    std::unique_ptr<RtcPeer> connected(const Result<RtcAnswer>& answer) {
        EXPECT_TRUE(answer.ok()) << answer.error().to_string();
        if (!answer.ok()) {
            return nullptr;
        }
        auto peer = std::make_unique<RtcPeer>(rtc_address_);
        peer->take_answer(answer->sdp);
        id_ = answer->session_id;
        EXPECT_TRUE(peer->connect());
        EXPECT_TRUE(io::eventually([&] {
            const RtcSession* session = rtc_->find(id_);
            return session != nullptr && session->is_connected();
        }));
        return peer;
    }

    bool is_gone(const std::string& id) {
        return io::eventually([&] {
            return rtc_->find(id) == nullptr && live_objects("rtc_session") == rtc_->sessions();
        });
    }

    std::unique_ptr<io::WorkerPool> workers_;
    std::unique_ptr<RtcServer> own_rtc_;
    RtcServer* rtc_ = nullptr;
    io::SocketAddress rtc_address_;
    std::string id_;  // of the session that connected last
};

}  // namespace weir::session
