// Shared by the tests of proto/sdp: the stored offers, and a local side that is always the same.
#pragma once

#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "proto/sdp/description.h"
#include "proto/sdp/negotiate.h"

#include "test/support/source_file.h"

namespace weir::sdp::test {

// Of trunk/test/data/sdp; its README says where they come from.
inline const std::vector<std::string> kPublishers = {
    "aiortc-whip",    "chromium-datachannel",
    "chromium-whip",  "chromium-whip-simulcast",
    "firefox-whip",   "firefox-whip-simulcast",
    "gstreamer-whip", "libdatachannel-whip",
    "pion-whip",      "safari-whip",
};
inline const std::vector<std::string> kPlayers = {
    "aiortc-whep", "chromium-datachannel", "chromium-whep", "firefox-whep", "gstreamer-whep",
    "pion-whep",   "safari-whep",
};

inline std::string read_offer(const std::string& name) {
    std::ifstream in(weir::test::source_file("test/data/sdp/" + name + ".sdp"), std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    EXPECT_FALSE(text.empty()) << name;
    return text;
}

inline Session parse_or_die(std::string_view text) {
    Result<Session> session = Session::parse(text);
    EXPECT_TRUE(session.ok()) << session.error().to_string();
    return session.ok() ? std::move(session).value() : Session();
}

// Every occurrence; the text must hold one.
inline std::string replaced(std::string text, std::string_view what, std::string_view by) {
    size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    for (; at != std::string::npos; at = text.find(what, at + by.size())) {
        text.replace(at, what.size(), by);
    }
    return text;
}

inline LocalTransport local_transport() {
    LocalTransport local;
    local.ice_ufrag = "weir";
    local.ice_pwd = "0123456789abcdefghijklmn";
    local.fingerprint.hash = "sha-256";
    for (int i = 0; i < 32; i++) {
        local.fingerprint.bytes.push_back(static_cast<uint8_t>(i * 8));
    }
    local.candidates = {"1 1 udp 2130706431 192.0.2.1 8000 typ host"};
    local.session_id = "42";
    local.cname = "cname";
    return local;
}

// A stream of H.264 (High 4.0) and Opus.
inline PlayerOptions player_options() {
    PlayerOptions options;
    options.video.codecs = {{media::Codec::kH264, 0x640028, 0, 0}};
    options.video.ssrc = 1111;
    options.video.rtx_ssrc = 2222;
    options.audio.codecs = {{media::Codec::kOpus, 0, 0, 2}};
    options.audio.ssrc = 3333;
    return options;
}

inline Result<Answer> publish(std::string_view offer, const PublisherOptions& options = {}) {
    return answer_publisher(parse_or_die(offer), local_transport(), options);
}

inline Result<Answer> play(std::string_view offer,
                           const PlayerOptions& options = player_options()) {
    return answer_player(parse_or_die(offer), local_transport(), options);
}

}  // namespace weir::sdp::test
