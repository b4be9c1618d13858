// --explain loses no function silently: what Weir can do is written, what it cannot heads the text.
#include <regex>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.h"
#include "config/directives.h"
#include "config/explain/explain.h"
#include "config/explain/explainer.h"
#include "config/explain/translate.h"

namespace weir::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Explained nginx(std::string_view application, std::string_view http = "") {
    Explained done = explain(fmt::format("rtmp {{ server {{ listen 1935; application live {{ live "
                                         "on; {} }} }} }} {}",
                                         application, http),
                             "n.conf", ForeignServer::kNginxRtmp);
    EXPECT_TRUE(done.errors.empty()) << to_string(done.errors);
    return done;
}

Explained srs(std::string_view vhost, std::string_view rest = "") {
    Explained done =
        explain(fmt::format("listen 1935; {} vhost __defaultVhost__ {{ {} }}", rest, vhost),
                "s.conf", ForeignServer::kSrs);
    EXPECT_TRUE(done.errors.empty()) << to_string(done.errors);
    return done;
}

Config loaded(const Explained& done) {
    ParseOutcome outcome = parse_config(done.config, "c/t.conf");
    EXPECT_TRUE(outcome.ok()) << done.config << to_string(outcome.errors);
    return outcome.ok() ? *outcome.config : Config{};
}

void expect_written(const Explained& done, const std::vector<std::string>& lines) {
    EXPECT_THAT(done.losses, IsEmpty());
    (void)loaded(done);
    for (const std::string& line : lines) {
        EXPECT_THAT(done.config, HasSubstr(line));
    }
}

TEST(ExplainLostTest, RelaysOfNginxAreWritten) {
    expect_written(nginx("push a.example; push rtmp://b.example:1936/in/key;"
                         " push c.example app=x playpath=y;"),
                   {"forward rtmp://a.example/[app];", "forward rtmp://b.example:1936/in/key;",
                    "forward rtmp://c.example/x/y;"});
    expect_written(nginx("pull rtmp://o.example; pull o.example/in name=cam;"
                         " pull o.example/in/main name=tv static;"),
                   {"source rtmp://o.example/live;",
                    "source rtmp://o.example/in/cam { stream cam; on_demand on; }",
                    "source rtmp://o.example/in/main { stream tv; }"});
}

TEST(ExplainLostTest, ProgramsOfNginxAreWritten) {
    const Explained done = nginx(
        "exec ffmpeg -i rtmp://localhost/$app/$name -f flv "
        "rtmp://localhost/small/${name}_low 2>>/var/log/$name.log;");
    expect_written(done, {"exec_push ffmpeg -i rtmp://localhost/$app/$name -f flv "
                          "\"rtmp://localhost/small/${name}_low\";"});
    EXPECT_THAT(nginx("exec a $addr;").losses, ElementsAre(HasSubstr("$addr is not known")));
}

TEST(ExplainLostTest, RecordingOfNginxIsWritten) {
    const Explained done = nginx(
        "record all; record_path /rec; record_interval 15m;"
        " record_max_size 100M; record_unique on;");
    expect_written(done, {});
    const Config config = loaded(done);
    const RecordConfig& record = config.find_settings("", "live")->record;
    EXPECT_TRUE(record.enabled);
    EXPECT_EQ(record.path, "/rec");
    EXPECT_EQ(record.format, RecordContainer::kFlv);
    EXPECT_EQ(record.split, Millis(900'000));
    EXPECT_EQ(record.split_size, 100U << 20);
    EXPECT_FALSE(loaded(nginx("record off;")).find_settings("", "live")->record.enabled);
    EXPECT_FALSE(loaded(nginx("record all manual;")).find_settings("", "live")->record.enabled);
    EXPECT_EQ(loaded(nginx("record all;")).find_settings("", "live")->record.path, "/tmp");
    EXPECT_TRUE(loaded(nginx("recorder a { record all; record_path /r; }"))
                    .find_settings("", "live")
                    ->record.enabled);
    EXPECT_THAT(nginx("record all; recorder a { record video; }").losses,
                ElementsAre(HasSubstr("a second recording")));
}

TEST(ExplainLostTest, HlsOfNginxHasItsPortAndItsLengths) {
    const Explained done =
        nginx("hls on; hls_path /tmp/hls; hls_fragment 4s; hls_playlist_length 60s;",
              "http { include mime.types; server { listen 8090; location /hls { types { "
              "application/vnd.apple.mpegurl m3u8; } root /tmp; } } }");
    expect_written(done, {"listen 0.0.0.0:8090;"});
    const Config config = loaded(done);
    EXPECT_TRUE(config.http_server.enabled);
    const VhostConfig& live = *config.find_settings("", "live");
    EXPECT_EQ(live.hls.fragment, Millis(4000));
    EXPECT_EQ(live.hls.window, 15U);
    EXPECT_EQ(live.hls.path, "/tmp/hls");
    EXPECT_THAT(nginx("hls on; deny play all;").losses, ElementsAre(HasSubstr("asked no rule")));
    EXPECT_THAT(nginx("hls on; hls_path /h;",
                      "http { server { listen 80; location / { root /h; auth_basic x; } } }")
                    .decisions,
                ElementsAre(HasSubstr("who gets the streams by HTTP")));
}

TEST(ExplainLostTest, LengthsOfDashAreThoseOfSegmentsWhereThereIsNoHls) {
    const Explained done = nginx("dash on; dash_fragment 2s; dash_playlist_length 40s;");
    expect_written(done, {"fragment 2s;", "window 20;"});
    const Explained both =
        nginx("hls on; hls_fragment 4s; dash on; dash_fragment 2s; dash_playlist_length 40s;");
    expect_written(both, {"fragment 4s;", "window 8;"});
    EXPECT_THAT(both.config, Not(HasSubstr("fragment 2s;")));
    EXPECT_THAT(nginx("dash_fragment 2s;").config, Not(HasSubstr("fragment")));
}

TEST(ExplainLostTest, TheWebServerOfHlsKeepsItsCertificate) {
    const Explained done =
        nginx("hls on; hls_path /srv/hls;",
              "http { ssl_certificate_key own.key; server { listen 8443 ssl; listen 8090; "
              "ssl_certificate own.crt; location /hls { root /srv; } } }");
    EXPECT_THAT(done.losses, IsEmpty());
    for (const char* const line : {"listen 0.0.0.0:8443 ssl;", "listen 0.0.0.0:8090;",
                                   "ssl_certificate own.crt;", "ssl_certificate_key own.key;"}) {
        EXPECT_THAT(done.config, HasSubstr(line));
    }
    EXPECT_THAT(
        nginx("hls on; hls_path /h;", "http { server { listen 443 ssl; location / { root /h; } } }")
            .losses,
        ElementsAre(HasSubstr("listen 443 ssl")))
        << "no certificate is named";
    EXPECT_THAT(nginx("hls on; hls_path /h;",
                      "http { ssl_certificate_key k; server { listen 443 ssl; ssl_certificate a; "
                      "location / { root /h; } } server { listen 444 ssl; ssl_certificate b; "
                      "location / { root /h; } } }")
                    .losses,
                ElementsAre(HasSubstr("listen 444 ssl")))
        << "http_server has one certificate";
}

TEST(ExplainLostTest, AQuotedTextOfNginxMayStandInParentheses) {
    const Explained done =
        nginx("", "http { server { if ($arg_x != \"secret\") { return 403; } } }");
    EXPECT_THAT(done.losses, IsEmpty());
    (void)loaded(done);
}

TEST(ExplainLostTest, CandidatesOfSrsMayHaveBrackets) {
    const Explained done =
        srs("rtc { enabled on; }",
            "rtc_server { enabled on; listen 8000; candidate 192.0.2.1 [2001:db8::7]; }");
    expect_written(done, {"candidate 192.0.2.1 2001:db8::7;"});
}

TEST(ExplainLostTest, SrsLosesAudioAloneByHttpAndPublishersThatNobodyPlays) {
    const Explained done = srs("http_remux { enabled on; mount [vhost]/[app]/[stream].mp3; }",
                               "http_server { enabled on; listen 8080; }");
    EXPECT_THAT(done.losses, ElementsAre(HasSubstr("HTTP-MP3 and HTTP-AAC are not made")));
    EXPECT_THAT(done.decisions, ElementsAre(HasSubstr("the path is always")));
    EXPECT_THAT(srs("publish { kickoff_for_idle 60; }").losses,
                ElementsAre(HasSubstr("stays connected when nobody plays")));
    EXPECT_THAT(srs("publish { kickoff_for_idle 0; }").losses, IsEmpty());
}

TEST(ExplainLostTest, WhatNginxCanAndWeirCannotHeadsTheText) {
    for (const char* line :
         {"exec_static a;", "exec_pull a;", "exec_play_done a;", "exec_publish_done a;",
          "exec_record_done a;", "exec_publish a;", "exec_play a;", "play /var/flv;",
          "record all; record_max_frames 2;", "record all; record_notify on;",
          "push a.example name=one;", "pull a.example/x/y;", "hls on; hls_base_url http://cdn/;",
          "hls on; hls_variant _low BANDWIDTH=1;", "hls on; hls_type event;"}) {
        const Explained done = nginx(line);
        EXPECT_THAT(done.losses, SizeIs(1)) << line << done.text;
        EXPECT_TRUE(done.text.starts_with("LOST: one function in n.conf ")) << line;
        EXPECT_THAT(done.text, HasSubstr("\n- " + done.losses.front())) << line;
    }
    EXPECT_THAT(nginx("play off; hls_type live; record_notify off;").losses, IsEmpty());
}

TEST(ExplainLostTest, RecordingOfSrsIsWritten) {
    const Explained done =
        srs("dvr { enabled on; dvr_path /rec/[app]/[2006]/[01]/[stream]-[15].[04].mp4;"
            " dvr_plan segment; dvr_duration 60; }");
    expect_written(done, {"name \"{app}/{stream}-{time}\";"});
    const RecordConfig record = loaded(done).find_vhost("")->record;
    EXPECT_TRUE(record.enabled);
    EXPECT_EQ(record.path, "/rec");
    EXPECT_EQ(record.format, RecordContainer::kMp4);
    EXPECT_EQ(record.split, Millis(60'000));
    expect_written(srs("dvr { enabled on; dvr_path ./html; }"),
                   {"path ./html;", "format flv;", "name \"{app}/{stream}/{time}\";"});
    expect_written(srs("dvr { enabled on; dvr_path ./[app]/[2006]/[15].flv; }"),
                   {"path .;", "name \"{app}/{time}\";"});
    EXPECT_FALSE(loaded(srs("dvr { dvr_path /x; }")).find_vhost("")->record.enabled);
    EXPECT_THAT(srs("dvr { enabled on; dvr_apply live/a; }").losses,
                ElementsAre(HasSubstr("only some streams were recorded")));
}

TEST(ExplainLostTest, RelaysOfSrsAreWritten) {
    expect_written(srs("forward { enabled on; destination a.example:19350 [2001:db8::1]:1935; }"),
                   {"forward rtmp://a.example:19350/[app]/[stream];",
                    "forward rtmp://[2001:db8::1]:1935/[app]/[stream];"});
    expect_written(srs("cluster { mode remote; origin o.example:1935 p.example; }"),
                   {"origin rtmp://o.example:1935;", "origin rtmp://p.example;",
                    "forward rtmp://o.example:1935/[app]/[stream];"});
    expect_written(srs("mode remote; origin o.example;"), {"origin rtmp://o.example;"});
    expect_written(srs("cluster { mode local; origin o.example; }"), {});
    expect_written(
        srs("ingest cam { enabled on; input { type stream; url rtsp://u:p@cam/1; } engine { "
            "enabled on; perfile { rtsp_transport tcp; } vcodec copy; acodec copy; output "
            "rtmp://127.0.0.1:[port]/live/cam?vhost=[vhost]; } }"),
        {"source rtsp://u:p@cam/1 { stream live/cam; transport tcp; }"});
    expect_written(srs("",
                       "stream_caster { enabled on; caster mpegts_over_udp; listen 8935; "
                       "output rtmp://127.0.0.1/live/ts; }"),
                   {"source udp://0.0.0.0:8935 { stream live/ts; }"});
}

TEST(ExplainLostTest, ProgramsOfSrsPublishIntoAVhostWithoutPrograms) {
    const Explained done =
        srs("security { enabled on; allow play all; allow publish 127.0.0.1; }"
            "transcode { enabled on; ffmpeg /usr/bin/ffmpeg; engine sd { enabled on; vcodec "
            "libx264; vbitrate 500; vfps 25; vwidth 640; vheight 360; vparams { g 50; } acodec "
            "copy; output rtmp://127.0.0.1:[port]/[app]/[stream]_[engine]?vhost=[vhost]; } }");
    EXPECT_THAT(done.losses, ElementsAre(HasSubstr("/APP/STREAM_sd?vhost=transcoded")));
    const Config config = loaded(done);
    ASSERT_THAT(config.find_vhost("")->commands, SizeIs(1));
    EXPECT_THAT(
        config.find_vhost("")->commands[0],
        ElementsAre("/usr/bin/ffmpeg", "-i", "rtmp://127.0.0.1:1935/$app/$name", "-c:v", "libx264",
                    "-b:v", "500k", "-r", "25", "-s", "640x360", "-g", "50", "-c:a", "copy", "-f",
                    "flv", "-y", "rtmp://127.0.0.1:1935/$app/${name}_sd?vhost=transcoded"));
    const VhostConfig& copies = *config.find_vhost("transcoded");
    EXPECT_THAT(copies.commands, IsEmpty()) << "or a copy would be copied again";
    EXPECT_FALSE(copies.security.allows(Action::kPublish, "10.0.0.1"));
    EXPECT_TRUE(copies.security.allows(Action::kPublish, "127.0.0.1"));
    expect_written(srs("exec { enabled on; publish /bin/x -i [url] [stream].flv; }"),
                   {"exec_push /bin/x -i rtmp://127.0.0.1:1935/$app/$name $name.flv;"});
}

TEST(ExplainLostTest, HlsOfSrsIsServed) {
    const Explained done =
        srs("hls { enabled on; hls_fragment 5; hls_window 30; hls_path ./html; }",
            "http_server { enabled on; listen 8080; }");
    expect_written(done, {"path ./html;"});
    const Config config = loaded(done);
    EXPECT_TRUE(config.http_server.enabled) << "without http_remux too";
    EXPECT_EQ(config.find_vhost("")->hls.fragment, Millis(5000));
    EXPECT_EQ(config.find_vhost("")->hls.window, 6U);
    EXPECT_FALSE(loaded(srs("hls { hls_fragment 5; }")).find_vhost("")->hls.enabled);
    EXPECT_THAT(srs("hls { enabled on; hls_m3u8_file [stream].m3u8; }").losses, SizeIs(1));
}

TEST(ExplainLostTest, PassphrasesOfSrtStay) {
    expect_written(srs("srt { enabled on; }",
                       "srt_server { enabled on; listen 10080; passphrase long-enough-word; "
                       "pbkeylen 32; latency 200; }"),
                   {"srt_passphrase long-enough-word;", "srt_pbkeylen 32;", "srt_latency 200ms;"});
}

TEST(ExplainLostTest, TheApiOfSrsGetsAPortOfItsOwn) {
    const Explained done =
        srs("http_remux { enabled on; }",
            "http_api { enabled on; listen 8080; } http_server { enabled on; listen 8080; }");
    EXPECT_THAT(done.losses, ElementsAre(HasSubstr("127.0.0.1:1985")));
    EXPECT_EQ(loaded(done).http_api.listen.at(0).address, "127.0.0.1:1985");
}

TEST(ExplainLostTest, WhatSrsCanAndWeirCannotHeadsTheText) {
    for (const char* block :
         {"hds { enabled on; }", "bandcheck { enabled on; }", "play { atc on; }",
          "forward { enabled on; backend http://h/x; }",
          "ingest { enabled on; input { type file; url a.flv; } }",
          "transcode live/a { enabled on; engine a { enabled on; output rtmp://h/x/y; } }",
          "cluster { mode remote; origin o; vhost other; }",
          "cluster { mode local; origin_cluster on; }",
          "hls { enabled on; hls_entry_prefix http://cdn; }",
          "exec { enabled on; publish a [timestamp]; }",
          "http_static { enabled on; mount [vhost]/x; dir y; }",
          "http_hooks { enabled on; on_hls_notify http://h/x; }"}) {
        EXPECT_THAT(srs(block).losses, SizeIs(1)) << block;
    }
    for (const char* rest :
         {"heartbeat { enabled on; url http://h; }", "http_server { enabled on; dir x; }",
          "stream_caster { enabled on; caster flv; listen 8936; }"}) {
        EXPECT_THAT(srs("", rest).losses, SizeIs(1)) << rest;
    }
    EXPECT_THAT(srs("hds { enabled off; } play { atc off; }", "heartbeat { enabled off; }").losses,
                IsEmpty());
}

// What the check of this server refuses is no comment that nobody reads.
TEST(ExplainLostTest, LinesThatAreRefusedAreLost) {
    const Explained done = srs("", "chunk_size 7;");
    EXPECT_THAT(done.losses, ElementsAre(HasSubstr("\"chunk_size 7;\" is not possible here")));
}

// A text that says what Weir cannot do names the directive that is missing: once there is one, this
// fails. And a text that says how to do something here names directives that there are.
TEST(ExplainLostTest, TextsAreTrueOfTheDirectives) {
    static const std::regex kPlace("([a-z_]+) \\{ ([a-z_]+)[ ;]");
    for (const auto table : {srs_directives(), nginx_directives(), mediamtx_directives()}) {
        for (const ForeignDirective& each : table) {
            EXPECT_EQ(each.fate == Fate::kLost, !each.lacks.empty()) << each.name;
            EXPECT_FALSE(is_directive_name(each.lacks)) << each.name << ": " << each.note;
            EXPECT_THAT(std::string(each.note), Not(HasSubstr("this version"))) << each.name;
            const std::string note(each.note);
            for (std::sregex_iterator at(note.begin(), note.end(), kPlace), end; at != end; at++) {
                const std::string key = (*at)[1].str() + "." + (*at)[2].str();
                EXPECT_TRUE(directive_of(key) != nullptr || directive_of("vhost." + key) != nullptr)
                    << each.name << ": " << key;
            }
        }
    }
}

// Of what others call by a name of ours, nothing is "none": Weir has it.
TEST(ExplainLostTest, NothingThatWeirHasIsCalledMissing) {
    for (const auto table : {srs_directives(), nginx_directives(), mediamtx_directives()}) {
        for (const ForeignDirective& each : table) {
            std::string_view name = each.name;
            name = name.ends_with(".*") ? name.substr(0, name.size() - 2) : name;
            name = name.substr(name.rfind('.') + 1);
            const bool gone = each.fate == Fate::kLost || each.fate == Fate::kNone;
            const bool other = name == "include" || each.name == "play";  // of files of others
            EXPECT_FALSE(gone && is_directive_name(name) && !other) << each.name;
        }
    }
}

TEST(ExplainTranslateTest, Variables) {
    const Variable known[] = {{"name", "$name"}, {"url", "rtmp://h/$app"}, {"bad", ""}};
    const auto dollar = [&](std::string_view word) {
        const Substituted done = substitute(word, known, VariableForm::kDollar);
        return done.unknown.empty() ? done.text : "!" + done.unknown;
    };
    EXPECT_EQ(dollar("$name"), "$name");
    EXPECT_EQ(dollar("${name}_x"), "${name}_x");
    EXPECT_EQ(dollar("${name}.x"), "$name.x");
    EXPECT_EQ(dollar("$names"), "!names");
    EXPECT_EQ(dollar("${url}x"), "rtmp://h/${app}x");
    EXPECT_EQ(dollar("$bad"), "!bad");
    EXPECT_EQ(dollar("a$"), "!$");
    EXPECT_EQ(dollar("${name"), "!$");
    EXPECT_EQ(substitute("[0:v][name][x]", known, VariableForm::kBracket).text, "[0:v]$name[x]");
}

TEST(ExplainTranslateTest, LengthsAndAddresses) {
    EXPECT_EQ(window_text(2, 60), "30");
    EXPECT_EQ(window_text(10, 5), "3");
    EXPECT_EQ(window_text(0, 60), "3");
    EXPECT_EQ(seconds_of("1d"), 86'400.0);
    EXPECT_EQ(seconds_of("500", 0.001), 0.5);
    EXPECT_FALSE(seconds_of("x").has_value());
    EXPECT_FALSE(seconds_of("-1").has_value());
    EXPECT_EQ(bytes_of("128K"), 131'072U);
    EXPECT_FALSE(bytes_of("9999999999999999999G").has_value());
    EXPECT_TRUE(is_own_address("rtmp://u:p@localhost:1935/x"));
    EXPECT_FALSE(is_own_address("rtmp://a.example/localhost"));
    EXPECT_FALSE(is_host("a/b"));
    EXPECT_FALSE(is_host("a;b"));
}

}  // namespace
}  // namespace weir::config
