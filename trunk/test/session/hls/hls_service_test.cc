// HLS as a client sees it: addresses, who may, what waits, what is answered how.
#include "session/hls/hls_service.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/gzip.h"
#include "io/deadline.h"

#include "test/session/hls/hls_service_fixture.h"

namespace weir::session {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kForASecond = "max-age=1, stale-while-revalidate=0";

TEST_F(HlsServiceTest, AViewerBeginsWithTheMultivariantAndIsOneClient) {
    publish();
    pictures(20);
    const std::string list = begin("?key=k1");
    EXPECT_THAT(list,
                testing::MatchesRegex("/app/stream.hls/index.m3u8\\?session=[a-z0-9]{20}&key=k1"));
    const TestAnswer media = get(list);
    EXPECT_EQ(media.status, 200);
    EXPECT_EQ(media.headers.get("Content-Type").value_or(""), "application/vnd.apple.mpegurl");
    EXPECT_EQ(media.headers.get("Cache-Control").value_or(""), "no-cache");
    EXPECT_EQ(media.headers.get("Access-Control-Allow-Origin").value_or(""), "*");
    const std::string session = find(list, "session=([a-z0-9]+)");
    EXPECT_THAT(media.body, HasSubstr(".m4s?session=" + session + "&key=k1"));
    EXPECT_EQ(clients_.size(), 1U);
    clients_.for_each([&](const net::Client& client) {
        EXPECT_STREQ(client.transport(), "hls");
        EXPECT_EQ(client.role, net::ClientRole::kPlayer);
        EXPECT_GT(client.sent_bytes, 0U);
    });
}

TEST_F(HlsServiceTest, WhatThePlaylistNamesIsThere) {
    publish();
    pictures(60);
    const TestAnswer media = get(begin());
    const std::string header = find(media.body, "URI=\"(init-[^\"]+)\"");
    const std::string segment = find(media.body, "\n([0-9]+\\.m4s[^\n]*)");
    const std::string part = find(media.body, "PART:DURATION=[0-9.]+,URI=\"([^\"]+)\"");
    for (const std::string& file : {header, segment, part}) {
        const TestAnswer answer = get("/app/stream.hls/" + file);
        EXPECT_EQ(answer.status, 200) << file;
        EXPECT_EQ(answer.headers.get("Content-Type").value_or(""), "video/mp4");
        EXPECT_THAT(std::string(answer.headers.get("Cache-Control").value_or("")),
                    HasSubstr("max-age=3600"));
        EXPECT_GT(answer.body.size(), 100U);
    }
    EXPECT_EQ(get("/app/stream.hls/" + header).body.substr(4, 4), "ftyp");
    EXPECT_EQ(get("/app/stream.hls/" + segment).body.substr(4, 4), "styp");
}

TEST_F(HlsServiceTest, APlaylistIsNotSentTwice) {
    publish();
    pictures(20);
    const std::string list = begin();
    const std::string tag(get(list).headers.get("ETag").value_or(""));
    EXPECT_EQ(get(list, "If-None-Match: " + tag + "\r\n").status, 304);
    pictures(20);
    EXPECT_EQ(get(list, "If-None-Match: " + tag + "\r\n").status, 200);
}

TEST_F(HlsServiceTest, VariantsThatAreLiveStandInThePlaylistAndBehindOneSession) {
    options_.variants = {{"", "app", "low"}, {"", "app", "gone"}, {"", "app", "lower"}};
    publish();
    pictures(60);
    OtherStream low(registry_, "low");
    OtherStream lower(registry_, "lower");
    const TestAnswer master = get("/app/stream.m3u8?key=k1");
    const std::regex uri("\n(stream\\.hls/[^\n?]*)\\?session=[a-z0-9]{20}&key=k1");
    std::vector<std::string> uris;
    for (std::sregex_iterator at(master.body.begin(), master.body.end(), uri), end; at != end;
         ++at) {
        uris.push_back((*at)[1].str());
    }
    EXPECT_EQ(uris, (std::vector<std::string>{"stream.hls/index.m3u8", "stream.hls/1/index.m3u8",
                                              "stream.hls/3/index.m3u8"}));
    const std::string session = find(master.body, "(session=[a-z0-9]+)");
    const std::string folder = "/app/stream.hls/1/";
    const TestAnswer list = get(folder + "index.m3u8?" + session);
    EXPECT_EQ(list.status, 200) << list.body;
    const std::string segment = find(list.body, "\n([0-9]+\\.m4s[^\n]*)");
    EXPECT_EQ(get(folder + segment).status, 200);
    EXPECT_THAT(list.body, HasSubstr("#EXT-X-RENDITION-REPORT:URI=\"../index.m3u8?" + session));
    EXPECT_THAT(list.body, HasSubstr("#EXT-X-RENDITION-REPORT:URI=\"../3/index.m3u8?" + session));
    EXPECT_THAT(get("/app/stream.hls/index.m3u8?" + session).body,
                HasSubstr("#EXT-X-RENDITION-REPORT:URI=\"1/index.m3u8?" + session));
    EXPECT_EQ(clients_.size(), 1U) << "one viewer, whichever it plays";
    EXPECT_EQ(get("/app/stream.hls/2/index.m3u8?" + session).status, 404);
    EXPECT_EQ(get("/app/stream.hls/4/index.m3u8?" + session).status, 404);
    EXPECT_EQ(get("/app/stream.hls/1/index.m3u8").status, 403) << "no session";
}

TEST_F(HlsServiceTest, ARangeOfASegmentIsAnswered) {
    publish();
    pictures(60);
    const std::string path = "/app/stream.hls/" + find(get(begin()).body, "\n([0-9]+\\.m4s[^\n]*)");
    const TestAnswer whole = get(path);
    ASSERT_EQ(whole.status, 200);
    ASSERT_GT(whole.body.size(), 100U);
    for (const auto& [offset, length] : {std::pair<size_t, size_t>(0, 10),
                                         {whole.body.size() / 2, 50},
                                         {whole.body.size() - 5, 5},
                                         {0, whole.body.size()}}) {
        const TestAnswer part =
            get(path, fmt::format("Range: bytes={}-{}\r\n", offset, offset + length - 1));
        EXPECT_EQ(part.status, 206);
        EXPECT_EQ(part.body, whole.body.substr(offset, length));
    }
    EXPECT_EQ(get(path, fmt::format("Range: bytes={}-\r\n", whole.body.size())).status, 416);
    EXPECT_EQ(get(path, "Range: apples=1-2\r\n").status, 200);
}

TEST_F(HlsServiceTest, BlockingRequestsAreAnsweredByTheirPart) {
    publish();
    pictures(20);
    const std::string list = begin();
    pictures(8);
    const std::string hint = find(get(list).body, "PRELOAD-HINT:TYPE=PART,URI=\"([^\"]+)\"");
    const std::string next =
        "&_HLS_msn=" + find(hint, "^([0-9]+)") + "&_HLS_part=" + find(hint, "^[0-9]+\\.([0-9]+)");
    std::vector<std::unique_ptr<TestClient>> waiting;
    for (int i = 0; i < 20; i++) {
        waiting.push_back(std::make_unique<TestClient>(address_));
        waiting.back()->send(net::get_request(i == 0 ? "/app/stream.hls/" + hint : list + next));
    }
    wait_for_requests(waiting.size());
    pictures(8);
    for (size_t i = 0; i < waiting.size(); i++) {
        const TestAnswer answer = waiting[i]->read_answer();
        EXPECT_EQ(answer.status, 200);
        if (i > 0) {
            EXPECT_THAT(answer.body, HasSubstr("URI=\"" + hint + "\""));
            EXPECT_THAT(answer.body, Not(HasSubstr("HINT:TYPE=PART,URI=\"" + hint)));
        }
    }
    EXPECT_EQ(service_.stats().blocked, 19U);
}

TEST_F(HlsServiceTest, WhatCannotBeIsRefused) {
    publish();
    pictures(20);
    const std::string list = begin();
    const std::string session = list.substr(list.find('?'));
    EXPECT_EQ(get(list + "&_HLS_msn=99999999999").status, 400);
    EXPECT_EQ(get(list + "&_HLS_msn=x").status, 400);
    EXPECT_EQ(get(list + "&_HLS_part=1").status, 400);
    for (const char* file : {"1.m4s", "99999999999.m4s", "1.2.m4s", "99999999999.0.m4s", "1.ts",
                             "init-1.mp4", "x", "index.m3u9", "..%2f..%2fetc%2fpasswd"}) {
        EXPECT_EQ(get("/app/stream.hls/" + std::string(file) + session).status, 404) << file;
    }
    EXPECT_EQ(get("/app/stream.hls/index.m3u8").status, 403);
    EXPECT_EQ(get("/app/stream.hls/index.m3u8?session=short").status, 403);
    EXPECT_EQ(get("/app/stream.hls/1.m4s?session=aaaaaaaaaaaaaaaaaaaa").status, 403);
    EXPECT_EQ(get("/app/nobody.m3u8").status, 404);
    EXPECT_EQ(get("/nobody.m3u8").status, 404);
    EXPECT_EQ(get("/app/nobody.hls/index.m3u8?session=aaaaaaaaaaaaaaaaaaaa").status, 404);
}

TEST_F(HlsServiceTest, RulesHoldForEachAddress) {
    publish("closed");
    pictures(20);
    EXPECT_EQ(get("/closed/stream.m3u8").status, 403);
    const TestAnswer answer = get("/closed/stream.m3u8?key=sesame");
    EXPECT_EQ(answer.status, 200);
    EXPECT_THAT(answer.body, HasSubstr("&key=sesame"));
    options_.sessions = false;
    EXPECT_EQ(get("/closed/stream.hls/index.m3u8").status, 403);
    const TestAnswer media = get("/closed/stream.hls/index.m3u8?key=sesame");
    EXPECT_EQ(media.status, 200);
    EXPECT_THAT(media.body, HasSubstr(".m4s?key=sesame"));
}

TEST_F(HlsServiceTest, WithoutSessionsAddressesAreTheSameForAll) {
    options_.sessions = false;
    publish();
    pictures(20);
    EXPECT_EQ(begin(), "/app/stream.hls/index.m3u8");
    const TestAnswer media = get("/app/stream.hls/index.m3u8");
    EXPECT_EQ(media.status, 200);
    EXPECT_THAT(media.body, Not(HasSubstr("?")));
    EXPECT_EQ(media.headers.get("Cache-Control").value_or(""), kForASecond);
    EXPECT_EQ(clients_.size(), 0U);
}

TEST_F(HlsServiceTest, PlaylistsThatAreTheSameForAllAreCompressed) {
    options_.sessions = false;
    publish();
    pictures(60);
    const std::string list = begin();
    const TestAnswer plain = get(list);
    EXPECT_EQ(plain.headers.get("Vary").value_or(""), "Accept-Encoding");
    EXPECT_FALSE(plain.headers.has("Content-Encoding"));
    for (int i = 0; i < 2; i++) {
        const TestAnswer small = get(list, "Accept-Encoding: gzip, deflate\r\n");
        EXPECT_EQ(small.headers.get("Content-Encoding").value_or(""), "gzip");
        EXPECT_EQ(small.body, gzip(plain.body));
    }
    options_.sessions = true;
    const TestAnswer own = get(begin(), "Accept-Encoding: gzip\r\n");
    EXPECT_EQ(own.status, 200);
    EXPECT_FALSE(own.headers.has("Content-Encoding")) << "it is one viewer's alone";
}

TEST_F(HlsServiceTest, AnEndedSessionIsAskedAgainButNotAKickedOne) {
    publish();
    pictures(20);
    EXPECT_EQ(get("/app/stream.hls/index.m3u8?session=aaaaaaaaaaaaaaaaaaaa").status, 200);
    EXPECT_EQ(clients_.size(), 1U);
    clients_.for_each([](const net::Client& client) { client.kick(); });
    EXPECT_EQ(get("/app/stream.hls/index.m3u8?session=aaaaaaaaaaaaaaaaaaaa").status, 403);
    const io::Deadline deadline = io::soon();
    while (clients_.size() > 0 && !deadline.passed()) {
        (void)io::sleep_for(Millis(10));
    }
    EXPECT_EQ(clients_.size(), 0U);
    EXPECT_EQ(get("/app/stream.hls/index.m3u8?session=aaaaaaaaaaaaaaaaaaaa").status, 403);
}

TEST_F(HlsServiceTest, OneAddressCannotTakeAllPlacesByBeginningAgainAndAgain) {
    options_.max_begun = 5;
    publish();
    pictures(20);
    const std::string first = begin();
    for (size_t i = 1; i < options_.max_begun; i++) {
        EXPECT_EQ(get("/app/stream.m3u8").status, 200) << i;
    }
    const TestAnswer full = get("/app/stream.m3u8");
    EXPECT_EQ(full.status, 503);
    EXPECT_EQ(full.headers.get("Cache-Control").value_or(""), "no-store");
    EXPECT_EQ(get(first).status, 200) << "who plays is no newcomer";
    EXPECT_EQ(get("/app/stream.m3u8").status, 200) << "and has made room";
}

TEST_F(HlsServiceTest, AHostOfIpv6IsOneAddressWhateverItCallsItself) {
    options_.max_begun = 3;
    publish();
    pictures(20);
    const auto status = [this](std::string_view ip) {
        return get("/app/stream.m3u8", fmt::format("X-Forwarded-For: {}\r\n", ip)).status;
    };
    for (const char* ip : {"2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:1:ffff::3"}) {
        EXPECT_EQ(status(ip), 200) << ip;
    }
    EXPECT_EQ(status("2001:db8:0:1::4"), 503);
    EXPECT_EQ(status("2001:db8:0:2::1"), 200) << "another network";
}

TEST_F(HlsServiceTest, WhatIsRefusedToAllMayBeKeptForAMoment) {
    publish();
    pictures(20);
    const std::string list = begin();
    EXPECT_EQ(get("/app/nobody.m3u8").headers.get("Cache-Control").value_or(""), kForASecond);
    const TestAnswer ahead = get(list + "&_HLS_msn=99999999999");
    EXPECT_EQ(ahead.status, 400);
    EXPECT_EQ(ahead.headers.get("Cache-Control").value_or(""), kForASecond);
    const TestAnswer token = get("/app/stream.m3u8", "Authorization: Bearer\r\n");
    EXPECT_EQ(token.status, 400);
    EXPECT_EQ(token.headers.get("Cache-Control").value_or(""), "no-store") << "it is its own fault";
    const TestAnswer denied = get("/app/stream.hls/index.m3u8");
    EXPECT_EQ(denied.status, 403);
    EXPECT_EQ(denied.headers.get("Cache-Control").value_or(""), "no-store");
}

TEST_F(HlsServiceTest, AViewerOfNothingWaitsForThePublisher) {
    policy_.play.pump.wait_publisher = Millis(60'000);
    TestClient client(address_);
    client.send(net::get_request("/app/stream.m3u8"));
    (void)io::sleep_for(Millis(50));
    publish();
    pictures(20);
    EXPECT_EQ(client.read_answer().status, 200);
}

TEST_F(HlsServiceTest, TheEndIsSaidAndANewPublisherGoesOnWithADiscontinuity) {
    publish();
    pictures(20);
    const std::string list = begin();
    stream_->end_publish(*this, MonoClock::now());
    const io::Deadline deadline = io::soon();
    std::string text;
    do {
        (void)io::sleep_for(Millis(50));
        text = get(list).body;
    } while (!text.ends_with("#EXT-X-ENDLIST\n") && !deadline.passed());
    EXPECT_THAT(text, testing::EndsWith("#EXT-X-ENDLIST\n"));
    clock_ = 0;
    number_ = 0;
    publish();
    pictures(20);
    text = get(list).body;
    EXPECT_THAT(text, HasSubstr("#EXT-X-DISCONTINUITY\n"));
    EXPECT_THAT(text, Not(HasSubstr("ENDLIST")));
}

TEST_F(HlsServiceTest, CaptionsInTheVideoAreSaid) {
    publish();
    const Bytes captions = {0,   0,   0,   18,   0x06, 0x04, 13,   0xB5, 0x00, 0x31, 'G',
                            'A', '9', '4', 0x03, 0x41, 0xFF, 0xFC, 0x14, 0x2C, 0x80, 0x80};
    for (int i = 0; i < 60; i++) {
        Bytes body = captions;
        ByteWriter(body).u32(2).u8(i % 25 == 0 ? 0x65 : 0x41).u8(0x88);
        send(tag_body(Codec::kH264, i % 25 == 0 ? BodyKind::kKeyFrame : BodyKind::kFrame, body));
        clock_ += 40;
    }
    const std::string list = get("/app/stream.m3u8").body;
    EXPECT_THAT(list, HasSubstr("#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID=\"cc\",NAME=\"CC1\","
                                "INSTREAM-ID=\"CC1\",AUTOSELECT=YES\n"));
    EXPECT_THAT(list, HasSubstr(",CLOSED-CAPTIONS=\"cc\"\n"));
    EXPECT_THAT(describe().body, HasSubstr("cea-608:2015\" value=\"CC1\""));
}

// ---- DASH ----

TEST_F(HlsServiceTest, ADescriptionNamesWhatIsThere) {
    publish();
    pictures(60);
    const TestAnswer first = describe("/app/stream.mpd?key=k1");
    ASSERT_EQ(first.status, 200) << first.body;
    EXPECT_EQ(first.headers.get("Content-Type").value_or(""), "application/dash+xml");
    const std::string session = find(first.body, "(session=[a-z0-9]{20})&amp;key=k1\"");
    ASSERT_FALSE(session.empty());
    pictures(100);
    const TestAnswer again = get("/app/stream.mpd?" + session);
    ASSERT_EQ(again.status, 200);
    const std::string header = find(again.body, "initialization=\"([^?]+)\\?");
    const TestAnswer init = get("/app/" + header + "?" + session);
    EXPECT_EQ(init.status, 200);
    EXPECT_EQ(init.body.substr(4, 4), "ftyp");
    std::string media = find(again.body, "media=\"([^?]+)\\?");
    media.replace(media.find("$Time$"), 6, find(again.body, "<S t=\"([0-9]+)\""));
    const TestAnswer segment = get("/app/" + media + "?" + session);
    EXPECT_EQ(segment.status, 200);
    EXPECT_EQ(segment.body.substr(4, 4), "styp");
    EXPECT_EQ(get("/app/stream.hls/time?" + session).body.size(), 24U);
    EXPECT_EQ(clients_.size(), 1U);
    clients_.for_each([&](const net::Client& client) {
        EXPECT_STREQ(client.transport(), "dash");
        EXPECT_GE(client.first_frame_ms, 0);
    });
}

TEST_F(HlsServiceTest, TheOpenSegmentOfATrackIsReadWhileItGrows) {
    publish();
    pictures(60);
    const TestAnswer first = describe();
    const std::string session = find(first.body, "(session=[a-z0-9]{20})");
    const std::string id = find(first.body, "init-([0-9]+)\\.video");
    const std::string newest = find(first.body, "<S t=\"([0-9]+)\" d=\"[0-9]+\"/>\n +</Seg");
    TestClient client(address_);
    client.send(net::get_request("/app/stream.hls/" + id + "." + newest + ".video.m4s?" + session));
    wait_for_requests(1);
    pictures(60);
    const TestAnswer grown = client.read_answer();
    EXPECT_EQ(grown.status, 200);
    EXPECT_EQ(grown.headers.get("Transfer-Encoding").value_or(""), "chunked");
    const TestAnswer whole = get("/app/stream.hls/" + id + "." + newest + ".video.m4s?" + session);
    EXPECT_EQ(whole.headers.get("Content-Length").value_or(""), std::to_string(whole.body.size()));
    EXPECT_EQ(grown.body, whole.body);
}

TEST_F(HlsServiceTest, ASegmentThatWasDescribedIsNotCutForAViewerOfHls) {
    publish();
    pictures(60);
    const auto newest = [](const TestAnswer& answer) {
        return find(answer.body, "(<S t=\"[0-9]+\" d=\"[0-9]+\"/>)\n +</Seg");
    };
    const TestAnswer first = describe();
    ASSERT_FALSE(newest(first).empty()) << first.body;
    const std::string session = find(first.body, "(session=[a-z0-9]{20})");
    TestClient viewer(address_);
    viewer.send(net::get_request("/app/stream.m3u8"));
    wait_for_requests(1);
    EXPECT_EQ(newest(get("/app/stream.mpd?" + session)), newest(first));
    pictures(60);
    EXPECT_EQ(viewer.read_answer().status, 200);
}

TEST_F(HlsServiceTest, ThePresentationOfGStreamerBeginsWithWhatIsListed) {
    publish();
    pictures(60);
    const auto origin = [](const TestAnswer& answer) {
        return find(answer.body, "availabilityStartTime=\"([^\"]*)\"");
    };
    EXPECT_EQ(origin(describe()), "1970-01-01T00:00:00.000Z");
    const std::string who = "User-Agent: GStreamer souphttpsrc 1.22.0\r\n";
    const TestAnswer first = describe("/app/stream.mpd", who);
    EXPECT_EQ(find(first.body, "<Period id=\"[0-9]+\" start=\"([^\"]*)\""), "PT0.000S");
    EXPECT_EQ(find(first.body, "presentationTimeOffset=\"([0-9]+)\""),
              find(first.body, "<S t=\"([0-9]+)\""));
    const std::string session = find(first.body, "(session=[a-z0-9]{20})");
    pictures(100);
    EXPECT_EQ(origin(get("/app/stream.mpd?" + session, who)), origin(first)) << "while it watches";
}

TEST_F(HlsServiceTest, ADescriptionHasTheVariantsBehindOneSession) {
    options_.variants = {{"", "app", "low"}, {"", "app", "gone"}, {"", "app", "lower"}};
    publish();
    pictures(60);
    OtherStream low(registry_, "low", 60);
    const TestAnswer first = describe();
    ASSERT_EQ(first.status, 200) << first.body;
    const std::string session = "?" + find(first.body, "(session=[a-z0-9]{20})");
    const std::string id = find(first.body, "<Representation id=\"video-(1-[0-9]+)\"");
    ASSERT_FALSE(id.empty()) << first.body;
    EXPECT_THAT(first.body, HasSubstr("<Representation id=\"video\""));
    EXPECT_THAT(first.body, Not(HasSubstr("video-2-")));
    const std::string header = find(first.body, "initialization=\"(stream\\.hls/1/[^?]+)\\?");
    EXPECT_EQ(get("/app/" + header + session).body.substr(4, 4), "ftyp");
    pictures(60);
    low.go_on(60);
    const std::string body = describe("/app/stream.mpd" + session).body;
    EXPECT_EQ(find(body, "<Representation id=\"video-(1-[0-9]+)\""), id) << "it is the same one";
    std::string media = find(body, "media=\"(stream\\.hls/1/[^?]+)\\?");
    media.replace(media.find("$Time$"), 6,
                  find(body.substr(body.find("\"video-1-")), "<S t=\"([0-9]+)\""));
    EXPECT_EQ(get("/app/" + media + session).body.substr(4, 4), "styp");
    EXPECT_EQ(get("/app/" + media).status, 403) << "no session";
    // A player that has begun keeps what it began with; another one has all.
    OtherStream lower(registry_, "lower", 120);
    EXPECT_THAT(describe("/app/stream.mpd" + session).body, Not(HasSubstr("\"video-3-")));
    EXPECT_THAT(describe("/app/stream.mpd?key=other").body, HasSubstr("\"video-3-"));
    EXPECT_EQ(clients_.size(), 2U);
}

TEST_F(HlsServiceTest, AVariantThatIsNotForDashIsLeftOut) {
    options_.variants = {{"", "app", "low"}};
    publish();
    pictures(60);
    container_of_others_ = net::SegmentContainer::kTs;
    OtherStream low(registry_, "low", 60);
    const TestAnswer answer = describe();
    EXPECT_EQ(answer.status, 200);
    EXPECT_THAT(answer.body, Not(HasSubstr("video-1-")));
}

TEST_F(HlsServiceTest, WithoutSessionsAllHaveOneDescription) {
    options_.sessions = false;
    publish();
    pictures(60);
    const std::string one = describe("/app/stream.mpd", "User-Agent: one\r\n").body;
    EXPECT_THAT(one, Not(HasSubstr("Location")));
    EXPECT_EQ(describe("/app/stream.mpd", "User-Agent: two\r\n").body, one);
}

TEST_F(HlsServiceTest, BehindTheEndADescriptionIsNotGivenAgainAtOnce) {
    publish();
    pictures(160);
    const std::string session = find(describe().body, "(session=[a-z0-9]{20})");
    unpublish();
    ASSERT_TRUE(io::eventually([&] {
        return get("/app/stream.mpd?" + session).body.find("mediaPresentationDuration") !=
               std::string::npos;
    }));
    const MonoTime asked = MonoClock::now();
    EXPECT_EQ(get("/app/stream.mpd?" + session).status, 200);
    EXPECT_GE(MonoClock::now() - asked, HlsPump::kOpenWait);
}

TEST_F(HlsServiceTest, BehindTheEndOfAnOldPeriodNothingIsRefusedAtOnce) {
    options_.sessions = false;
    publish();
    pictures(160);
    const std::string period = find(describe().body, "<Period id=\"([0-9]+)\"");
    unpublish();
    publish();
    pictures(60);
    ASSERT_TRUE(io::eventually(
        [&] { return describe().body.rfind("<Period") != describe().body.find("<Period"); }));
    const MonoTime asked = MonoClock::now();
    EXPECT_EQ(get("/app/stream.hls/" + period + ".99999999.video.m4s").status, 404);
    EXPECT_GE(MonoClock::now() - asked, HlsPump::kOpenWait);
}

TEST_F(HlsServiceTest, APlayerIsLedToWhereItsSessionIs) {
    publish();
    pictures(60);
    const TestAnswer answer = get("/app/stream.mpd?key=a%20b&_=1");
    EXPECT_EQ(answer.status, 307);
    EXPECT_EQ(answer.headers.get("Cache-Control").value_or(""), "no-store");
    const std::string to(answer.headers.get("Location").value_or(""));
    const std::string session = find(to, "^stream\\.mpd\\?(session=[a-z0-9]{20})&key=a%20b$");
    ASSERT_FALSE(session.empty()) << to;
    EXPECT_THAT(get("/app/" + to).body, HasSubstr(session));
    EXPECT_EQ(clients_.size(), 1U);
}

TEST_F(HlsServiceTest, TheOldAddressOfADescriptionLeadsToTheNewOne) {
    publish();
    pictures(60);
    const TestAnswer answer = get("/app/stream.hls/index.mpd?session=aaaaaaaaaaaaaaaaaaaa&key=k");
    EXPECT_EQ(answer.status, 307);
    EXPECT_EQ(answer.headers.get("Location").value_or(""),
              "../stream.mpd?session=aaaaaaaaaaaaaaaaaaaa&key=k");
}

TEST_F(HlsServiceTest, APlayerThatDoesNotStayThereIsOneViewer) {
    publish();
    pictures(60);
    const std::string ffmpeg = "User-Agent: one\r\n";
    const std::string session =
        find(describe("/app/stream.mpd", ffmpeg).body, "(session=[a-z0-9]{20})");
    EXPECT_EQ(find(describe("/app/stream.mpd", ffmpeg).body, "(session=[a-z0-9]{20})"), session);
    EXPECT_EQ(clients_.size(), 1U);
    for (const char* other : {"/app/stream.mpd?key=other", "/app/stream.mpd"}) {
        EXPECT_NE(find(describe(other, "User-Agent: two\r\n").body, "(session=[a-z0-9]{20})"),
                  session);
    }
    EXPECT_EQ(clients_.size(), 3U);
    const std::string token = "/app/stream.mpd?key=" + std::string(1'500, 'k');
    const std::string long_one = find(describe(token, ffmpeg).body, "(session=[a-z0-9]{20})");
    EXPECT_EQ(find(describe(token, ffmpeg).body, "(session=[a-z0-9]{20})"), long_one);
    EXPECT_EQ(clients_.size(), 4U);
    // One that says who it is: whoever looks so then is another.
    EXPECT_EQ(get("/app/stream.mpd?" + session).status, 200);
    EXPECT_NE(find(describe("/app/stream.mpd", ffmpeg).body, "(session=[a-z0-9]{20})"), session);
    EXPECT_EQ(clients_.size(), 5U);
    clients_.for_each([](const net::Client& client) { client.kick(); });
    EXPECT_EQ(describe("/app/stream.mpd", ffmpeg).status, 403);
}

TEST_F(HlsServiceTest, WhatDashCannotHaveIsRefused) {
    publish();
    pictures(60);
    const std::string body = describe().body;
    const std::string session = "?" + find(body, "(session=[a-z0-9]{20})");
    const std::string id = find(body, "init-([0-9]+)\\.video");
    for (const char* file :
         {".1.video.m4s", ".99999999.video.m4s", ".999999999999999999.audio.m4s"}) {
        EXPECT_EQ(get("/app/stream.hls/" + id + file + session).status, 404) << file;
    }
    EXPECT_EQ(get("/app/stream.hls/init-" + id + ".audio.mp4" + session).status, 404)
        << "there is no sound";
    EXPECT_EQ(get("/app/stream.hls/1.2.video.m4s").status, 403);
    EXPECT_EQ(get("/app/nobody.mpd").status, 404);
    EXPECT_EQ(get("/nobody.mpd").status, 404);
}

TEST_F(HlsServiceTest, TransportStreamsAreNotForDash) {
    options_.container = net::SegmentContainer::kTs;
    publish();
    pictures(60);
    const TestAnswer answer = describe();
    EXPECT_EQ(answer.status, 404);
    EXPECT_THAT(answer.body, HasSubstr("container fmp4"));
}

TEST_F(HlsServiceTest, KeysOfEncryptedSegmentsAreForViewers) {
    options_.segments.segments_per_key = 2;
    publish();
    pictures(60);
    const std::string list = begin();
    pictures(200);
    const TestAnswer media = get(list);
    EXPECT_THAT(media.body, Not(HasSubstr("#EXT-X-PART")));
    const std::string key = find(media.body, "METHOD=AES-128,URI=\"([^\"]+)\"");
    ASSERT_FALSE(key.empty()) << media.body;
    const TestAnswer answer = get("/app/stream.hls/" + key);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body.size(), 16U);
    EXPECT_EQ(answer.headers.get("Cache-Control").value_or(""), "no-store");
    const std::string segment = find(media.body, "\n([0-9]+\\.m4s[^\n]*)");
    EXPECT_EQ(get("/app/stream.hls/" + segment).body.size() % 16, 0U);
    const std::string session = key.substr(key.find('?'));
    const std::string number = find(key, "^([0-9]+)");
    EXPECT_EQ(get("/app/stream.hls/" + number + ".key").status, 403) << "no session";
    for (const std::string& other : {std::string("1"), std::to_string(std::stoull(number) + 1),
                                     std::to_string(std::stoull(number) + 1000)}) {
        EXPECT_EQ(get("/app/stream.hls/" + other + ".key" + session).status, 404) << other;
    }
    EXPECT_EQ(get("/app/stream.hls/" + number + ".0.m4s" + session).status, 404);
    EXPECT_EQ(describe().status, 404);
    service_.for_each([&](const HlsPump& pump) {
        for (const net::Segment& each : pump.store().all()) {
            for (const char* track : {"video", "audio"}) {
                const std::string file =
                    fmt::format("{}.{}.{}.m4s", each.format->id, each.start_ms, track);
                EXPECT_EQ(get("/app/stream.hls/" + file + session).status, 404) << file;
            }
        }
    });
}

TEST_F(HlsServiceTest, WhatMemoryDoesNotHaveAnyMoreComesFromTheDisk) {
    const Place& place = place_.emplace();
    options_.path = place.path();
    options_.always = true;
    options_.dvr_ms = 60'000;
    publish();
    pictures(25 * 30);
    const std::string list = begin();
    const std::string text = get(list).body;
    const std::string first = find(text, "\n([0-9]+\\.m4s)");
    EXPECT_THAT(text, HasSubstr("#EXT-X-MEDIA-SEQUENCE:" + first.substr(0, first.find('.'))));
    size_t named = 0;
    for (size_t at = text.find("#EXTINF"); at != std::string::npos;
         at = text.find("#EXTINF", at + 1)) {
        named++;
    }
    EXPECT_GE(named, 14U) << "all of 30 s";
    ASSERT_TRUE(io::eventually([&] {
        return place.has("app/stream/" + first) && service_.folders().stats().segments >= 1;
    }));
    const std::string query = list.substr(list.find('?'));
    const TestAnswer segment = get("/app/stream.hls/" + first + query);
    EXPECT_EQ(segment.status, 200) << segment.body;
    EXPECT_EQ(segment.headers.get("Content-Type").value_or(""), "video/mp4");
    EXPECT_THAT(std::string(segment.headers.get("Cache-Control").value_or("")),
                HasSubstr("immutable"));
    EXPECT_EQ(segment.body.substr(4, 4), "styp");
    EXPECT_EQ(get("/app/stream.hls/" + first + query, "Range: bytes=4-7\r\n").body, "styp");
    EXPECT_GE(service_.folders().stats().reads, 1U);
    // A delta update leaves most of it out.
    const std::string delta = get(list + "&_HLS_skip=YES").body;
    EXPECT_THAT(delta, HasSubstr("#EXT-X-SKIP:SKIPPED-SEGMENTS="));
    EXPECT_THAT(delta, Not(HasSubstr(first)));
    std::filesystem::remove(std::filesystem::path(place.path()) / "app/stream" / first);
    EXPECT_EQ(get("/app/stream.hls/" + first + query).status, 404);
}

TEST_F(HlsServiceTest, TheEndOfTheServerIsTheEndOfThePlaylistOnDisk) {
    const Place& place = place_.emplace();
    options_.path = place.path();
    options_.always = true;
    publish();
    pictures(100);
    service_.stop(io::soon());
    std::ifstream in(std::filesystem::path(place.path()) / "app/stream/index.m3u8");
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    EXPECT_THAT(text, testing::EndsWith("#EXT-X-ENDLIST\n"));
}

TEST_F(HlsServiceTest, OffIsOff) {
    options_.enabled = false;
    publish();
    const std::string session = "?session=aaaaaaaaaaaaaaaaaaaa";
    for (const std::string& path : {std::string("stream.m3u8"), std::string("stream.mpd"),
                                    "stream.hls/index.m3u8" + session, "stream.mpd" + session}) {
        const TestAnswer answer = get("/app/" + path);
        EXPECT_EQ(answer.status, 404) << path;
        EXPECT_THAT(answer.body, HasSubstr("enabled"));
    }
    EXPECT_EQ(clients_.size(), 0U);
}

TEST_F(HlsServiceTest, TransportStreamsAreServedAsSuch) {
    options_.container = net::SegmentContainer::kTs;
    publish();
    pictures(60);
    const TestAnswer media = get(begin());
    EXPECT_THAT(media.body, Not(HasSubstr("PART")));
    const TestAnswer answer = get("/app/stream.hls/" + find(media.body, "\n([0-9]+\\.ts[^\n]*)"));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.headers.get("Content-Type").value_or(""), "video/mp2t");
    ASSERT_GE(answer.body.size(), 188U);
    EXPECT_EQ(answer.body.size() % 188, 0U);
    EXPECT_EQ(answer.body[0], 0x47);
}

}  // namespace
}  // namespace weir::session
