#include "proto/rtmp/server_session.h"

#include <gmock/gmock.h>

#include "test/proto/rtmp/peer.h"

namespace weir::rtmp {
namespace {

using test::header;
using test::hex;
using test::join;
using test::message_bytes;
using test::pattern;
using test::Peer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// connect
// ---------------------------------------------------------------------------------------------------------------

TEST(ServerSessionTest, ConnectIsAnsweredWithWindowBandwidthChunkSizeAndResult) {
    Peer peer;
    ASSERT_EQ(peer.command(0, "connect", 1, {}, Peer::connect_object("live")).size(), 1u);
    EXPECT_FALSE(peer.session.has_output());
    peer.session.accept_connect();
    const Bytes out = peer.session.take_output();
    const Bytes start =
        hex("02 000000 000004 05 00000000 002625a0"
            "02 000000 000005 06 00000000 002625a0 02"
            "02 000000 000004 01 00000000 0000ea60");
    ASSERT_GT(out.size(), start.size());
    EXPECT_TRUE(std::equal(start.begin(), start.end(), out.begin()));
    const std::vector<Message> messages = test::read_all(out);
    const Command result = *parse_command(messages.back().type, messages.back().body);
    EXPECT_EQ(result.name, "_result");
    EXPECT_EQ(result.arg(0).text_of("code"), "NetConnection.Connect.Success");
    EXPECT_EQ(result.arg(0).find("capsEx"), nullptr);
}

TEST(ServerSessionTest, ConnectTellsWhatTheClientSaid) {
    Peer peer;
    amf::Value object = Peer::connect_object("live", "rtmp://example.com:1935/live");
    object.set("pageUrl", Peer::text("http://page"));
    object.set("swfUrl", Peer::text("http://swf"));
    object.set("objectEncoding", Peer::number(3));
    std::vector<Event> events = peer.command(0, "connect", 1, {}, object);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, EventKind::kConnect);
    const ConnectRequest& request = events[0].connect();
    EXPECT_EQ(request.app, "live");
    EXPECT_EQ(request.vhost, "example.com");
    EXPECT_EQ(request.tc_url, "rtmp://example.com:1935/live");
    EXPECT_EQ(request.flash_version, "test");
    EXPECT_EQ(request.page_url, "http://page");
    EXPECT_EQ(request.swf_url, "http://swf");
    EXPECT_EQ(request.object_encoding, 3);
    EXPECT_FALSE(request.enhanced.present);
}

TEST(ServerSessionTest, ConnectTellsWhoLooksLikeAnEncoder) {
    const auto publishes = [](std::string_view name, std::string_view value) {
        Peer peer;
        amf::Value object = amf::Value::object();
        object.set("app", Peer::text("live"));
        object.set(std::string(name), Peer::text(value));
        return peer.command(0, "connect", 1, {}, object).at(0).connect().publishes;
    };
    EXPECT_TRUE(publishes("type", "nonprivate"));
    EXPECT_TRUE(publishes("flashVer", "FMLE/3.0 (compatible; FMSc/1.0)"));
    EXPECT_FALSE(publishes("flashVer", "LNX 9,0,124,2"));
    EXPECT_FALSE(publishes("type", "private"));
}

TEST(ServerSessionTest, ConnectTellsTheStringsBehindItsObject) {
    Peer peer;
    std::vector<Event> events =
        peer.command(0, "connect", 1, {Peer::text("alice"), Peer::number(7), Peer::text("secret")},
                     Peer::connect_object("sip/alice@example.com"));
    ASSERT_EQ(events.size(), 1u);
    EXPECT_THAT(events[0].connect().arguments, ElementsAre("alice", "", "secret"));
    Peer talker;
    events = talker.command(0, "connect", 1, std::vector<amf::Value>(20, Peer::text("a")),
                            Peer::connect_object("live"));
    EXPECT_EQ(events.at(0).connect().arguments.size(), ServerSession::kMaxConnectArguments);
}

TEST(ServerSessionTest, CommandsOfAnApplicationAreItsOwn) {
    Peer peer;
    peer.connect("live");
    EXPECT_THAT(peer.command(0, "invite", 5, {Peer::text("bob")}), IsEmpty());
    EXPECT_THAT(peer.codes(), ElementsAre("_error NetConnection.Call.Failed"));
    peer.session.take_calls();
    std::vector<Event> events = peer.command(0, "invite", 5, {Peer::text("bob")});
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, EventKind::kCall);
    EXPECT_EQ(events[0].call().name, "invite");
    EXPECT_THAT(events[0].call().arguments, ElementsAre(Peer::text("bob")));
    peer.session.answer_call(5);
    peer.session.answer_call(6, "busy");
    peer.session.answer_call(0, "nobody waits");
    const amf::Value held = amf::Value::boolean(true);
    peer.session.call("holded", {&held, 1});
    const std::vector<Command> commands = peer.commands();
    ASSERT_EQ(commands.size(), 3u);
    EXPECT_EQ(commands[0].name, "_result");
    EXPECT_EQ(commands[0].transaction, 5);
    EXPECT_EQ(commands[1].name, "_error");
    EXPECT_EQ(commands[1].arg(0).text_of("description"), "busy");
    EXPECT_EQ(commands[2].name, "holded");
    EXPECT_THAT(commands[2].args, ElementsAre(held));
}

// Encoders that answer a challenge put "?authmod=.." behind an app that has a query already.
TEST(ServerSessionTest, ConnectReadsASecondQuestionMarkAsAnAmpersand) {
    Peer peer;
    std::vector<Event> events = peer.command(
        0, "connect", 1, {}, Peer::connect_object("live?vhost=a.b?authmod=adobe&user=u"));
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].connect().app, "live");
    EXPECT_EQ(events[0].connect().vhost, "a.b");
    EXPECT_EQ(events[0].connect().query, "vhost=a.b&authmod=adobe&user=u");
}

TEST(ServerSessionTest, ConnectReadsEnhancedCapabilities) {
    Peer peer;
    amf::Value object = Peer::connect_object("live");
    object.set("fourCcList", amf::Value::strict_array(
                                 {Peer::text("av01"), Peer::text("hvc1"), Peer::text("toolong")}));
    amf::Value video = amf::Value::object();
    video.set("vp09", Peer::number(7));
    video.set("av01", Peer::number(7));
    object.set("videoFourCcInfoMap", video);
    object.set("capsEx", Peer::number(14));
    std::vector<Event> events = peer.command(0, "connect", 1, {}, object);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_TRUE(events[0].connect().enhanced.present);
    EXPECT_EQ(events[0].connect().enhanced.caps_ex, 14u);
    EXPECT_TRUE(peer.session.takes_multitrack());
    EXPECT_EQ(events[0].connect().enhanced.codecs, "av01,hvc1,vp09");
    peer.session.accept_connect();
    EXPECT_EQ(peer.commands().at(0).arg(0).number_of("capsEx"), 6);
}

TEST(ServerSessionTest, VhostAndQueryComeFromAppOrUrl) {
    EXPECT_EQ(Peer().connect("live?vhost=a.com&key=1", "rtmp://host/live").vhost, "a.com");
    EXPECT_EQ(Peer().connect("live?vhost=a.com&key=1").query, "vhost=a.com&key=1");
    EXPECT_EQ(Peer().connect("live?vhost=a.com").app, "live");
    EXPECT_EQ(Peer().connect("live", "rtmp://host/live?vhost=b.com").vhost, "b.com");
    EXPECT_EQ(Peer().connect("live/room1/", "rtmp://host").app, "live/room1");
    EXPECT_EQ(Peer().connect("live", "").vhost, "");
}

TEST(ServerSessionTest, RejectedConnectGetsAnError) {
    Peer peer;
    peer.command(0, "connect", 1, {}, Peer::connect_object("live"));
    peer.session.reject_connect(status::kConnectRejected, "No such vhost.");
    const std::vector<Command> commands = peer.commands();
    ASSERT_EQ(commands.size(), 1u);
    EXPECT_EQ(commands[0].name, "_error");
    EXPECT_EQ(commands[0].transaction, 1);
    EXPECT_EQ(commands[0].arg(0).text_of("level"), "error");
    EXPECT_EQ(commands[0].arg(0).text_of("description"), "No such vhost.");
    peer.command(0, "createStream", 2);
    EXPECT_FALSE(peer.session.has_output());
}

TEST(ServerSessionTest, RefusesALongAppWithAnAnswer) {
    Peer peer;
    EXPECT_THAT(
        peer.command(0, "connect", 1, {}, Peer::connect_object(std::string(kMaxAppSize + 1, 'a'))),
        IsEmpty());
    EXPECT_TRUE(peer.session.failed());
    EXPECT_EQ(peer.session.take_error().code(), ErrorCode::kLimit);
    EXPECT_THAT(peer.codes(), ElementsAre("_error NetConnection.Connect.InvalidApp"));
}

TEST(ServerSessionTest, RefusesASecondConnect) {
    Peer peer;
    peer.connect();
    peer.command(0, "connect", 1, {}, Peer::connect_object("live"));
    EXPECT_EQ(peer.session.take_error().code(), ErrorCode::kMalformed);
}

TEST(ServerSessionTest, RefusesCommandsBeforeConnect) {
    Peer peer;
    peer.command(0, "createStream", 2);
    const Error error = peer.session.take_error();
    EXPECT_EQ(error.code(), ErrorCode::kMalformed);
    EXPECT_THAT(std::string(error.message()), HasSubstr("'createStream' before connect"));
}

// publish
// ---------------------------------------------------------------------------------------------------------------

// What ffmpeg and librtmp (OBS) say, in their order.
TEST(ServerSessionTest, PublishDialogueOfFfmpeg) {
    Peer peer;
    peer.feed(test::set_chunk_size(60000));
    peer.connect("live", "rtmp://host/live", "FMLE/3.0 (compatible; Lavf59.27.100)");
    EXPECT_THAT(peer.command(0, "releaseStream", 2, {Peer::text("cam?key=1")}), IsEmpty());
    EXPECT_THAT(peer.codes(), ElementsAre("_result"));
    EXPECT_THAT(peer.command(0, "FCPublish", 3, {Peer::text("cam?key=1")}), IsEmpty());
    EXPECT_THAT(peer.codes(), ElementsAre("_result", "onFCPublish NetStream.Publish.Start"));
    const uint32_t id = peer.create_stream();
    EXPECT_EQ(id, 1u);
    EXPECT_THAT(peer.command(0, "_checkbw", 5), IsEmpty());
    EXPECT_THAT(peer.codes(), ElementsAre("_result"));

    std::vector<Event> events =
        peer.command(id, "publish", 5, {Peer::text("cam?key=1"), Peer::text("live")});
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, EventKind::kPublish);
    EXPECT_EQ(events[0].stream_id, id);
    EXPECT_EQ(events[0].publish().name.app, "live");
    EXPECT_EQ(events[0].publish().name.stream, "cam");
    EXPECT_EQ(events[0].publish().name.vhost, "host");
    EXPECT_EQ(events[0].publish().name.query, "key=1");
    EXPECT_EQ(events[0].publish().type, PublishType::kLive);
    peer.session.accept_publish(id);
    const std::vector<Message> answers = peer.answers();
    ASSERT_EQ(answers.size(), 2u);
    EXPECT_EQ(answers[0].body, hex("0000 00000001"));  // StreamBegin
    const Command started = *parse_command(answers[1].type, answers[1].body);
    EXPECT_EQ(answers[1].stream_id, id);
    EXPECT_EQ(started.arg(0).text_of("code"), "NetStream.Publish.Start");
    EXPECT_EQ(started.arg(0).text_of("description"), "live/cam is now published.");

    Bytes metadata;
    amf::Writer(metadata)
        .string("@setDataFrame")
        .string("onMetaData")
        .begin_ecma_array(0)
        .end_object();
    events = peer.send(kDataAmf0, id, metadata, 0);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].media().kind, media::TrackKind::kData);
    EXPECT_EQ(events[0].media().body, Bytes(metadata.begin() + 16, metadata.end()));
    events = peer.send(kVideo, id, hex("17 00 000000 01"), 40);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, EventKind::kMedia);
    EXPECT_EQ(events[0].media().kind, media::TrackKind::kVideo);
    EXPECT_EQ(events[0].media().timestamp, 40u);
    EXPECT_EQ(events[0].media().body, hex("17 00 000000 01"));
    events = peer.send(kAudio, id, hex("af 00 1210"), 41);
    EXPECT_EQ(events.at(0).media().kind, media::TrackKind::kAudio);

    events = peer.command(0, "FCUnpublish", 6, {Peer::text("cam?key=1")});
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, EventKind::kUnpublish);
    EXPECT_EQ(events[0].stream_id, id);
    EXPECT_THAT(peer.codes(), ElementsAre("_result", "onFCUnpublish NetStream.Unpublish.Success",
                                          "onStatus NetStream.Unpublish.Success"));
    EXPECT_THAT(peer.command(0, "deleteStream", 7, {Peer::number(id)}), IsEmpty());
    EXPECT_FALSE(peer.session.failed());
}

// gortmplib: the path with its key in the app, an empty name, the second part of publish is no
// type. It takes the first command behind its createStream for the answer, and cannot read
// undefined.
TEST(ServerSessionTest, PublishDialogueOfGortmplib) {
    Peer peer;
    const ConnectRequest request =
        peer.connect("live/cam?key=1", "rtmp://host/live/cam", "LNX 9,0,124,2");
    EXPECT_EQ(request.app, "live/cam");
    EXPECT_THAT(peer.command(0, "releaseStream", 2, {Peer::text("")}), IsEmpty());
    EXPECT_THAT(peer.command(0, "FCPublish", 3, {Peer::text("")}), IsEmpty());
    const std::vector<Command> answers = peer.commands();
    ASSERT_EQ(answers.size(), 2u);
    for (const Command& answer : answers) {
        EXPECT_EQ(answer.name, "_result");
        ASSERT_EQ(answer.args.size(), 1u);
        EXPECT_EQ(answer.args[0].type(), amf::Type::kNull);
    }
    const uint32_t id = peer.create_stream();
    std::vector<Event> events =
        peer.command(id, "publish", 5, {Peer::text(""), Peer::text("live/cam?key=1")});
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].publish().name.app, "live");
    EXPECT_EQ(events[0].publish().name.stream, "cam");
    EXPECT_EQ(events[0].publish().name.query, "key=1");
    peer.session.accept_publish(id);
    EXPECT_THAT(peer.codes(), ElementsAre("onStatus NetStream.Publish.Start"));
}

TEST(ServerSessionTest, PlaysTheLastPartOfTheAppWhereTheNameIsEmpty) {
    Peer peer;
    peer.connect("live/room/cam?vhost=a.example&key=1", "rtmp://host/live/room");
    const uint32_t id = peer.create_stream();
    std::vector<Event> events = peer.command(id, "play", 3, {Peer::text("?token=2")});
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].play().name.path(), "live/room/cam");
    EXPECT_EQ(events[0].play().name.app, "live/room");
    EXPECT_EQ(events[0].play().name.vhost, "a.example");
    EXPECT_EQ(events[0].play().name.query, "token=2&vhost=a.example&key=1");

    Peer bare;
    bare.connect("live");
    const uint32_t other = bare.create_stream();
    EXPECT_THAT(bare.command(other, "play", 3, {Peer::text("")}), IsEmpty());
    EXPECT_THAT(bare.codes(), ElementsAre("onStatus NetStream.Play.Failed"));
}

// Flash with objectEncoding 3: every command in AMF3 messages, the stream closed by closeStream.
TEST(ServerSessionTest, PublishDialogueOfFlash) {
    Peer peer;
    amf::Value object = Peer::connect_object("live");
    object.set("objectEncoding", Peer::number(3));
    ASSERT_EQ(peer.command(0, "connect", 1, {}, object).size(), 1u);
    peer.session.accept_connect();
    EXPECT_EQ(peer.commands().at(0).arg(0).number_of("objectEncoding"), 3);
    Bytes create = {0};
    amf::Writer(create).string("createStream").number(2).null();
    peer.send(kCommandAmf3, 0, create);
    EXPECT_EQ(peer.commands().at(0).arg(0).as_number(), 1);
    Bytes publish = {0};
    amf::Writer(publish).string("publish").number(0).null().string("cam").string("record");
    std::vector<Event> events = peer.send(kCommandAmf3, 1, publish);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].publish().type, PublishType::kRecord);
    peer.session.accept_publish(1);
    peer.answers();
    Bytes data = {0};
    amf::Writer(data).string("@setDataFrame").string("onMetaData").begin_object().end_object();
    events = peer.send(kDataAmf3, 1, data);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].media().body, Bytes(data.begin() + 17, data.end()));
    Bytes close = {0};
    amf::Writer(close).string("closeStream").number(0).null();
    events = peer.send(kCommandAmf3, 1, close);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, EventKind::kUnpublish);
    EXPECT_THAT(peer.codes(), ElementsAre("onStatus NetStream.Unpublish.Success"));
}

TEST(ServerSessionTest, StreamCanPublishAgainAfterItWasClosed) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.publish("a");
    EXPECT_EQ(peer.command(id, "closeStream", 0).size(), 1u);
    EXPECT_EQ(peer.command(id, "publish", 0, {Peer::text("b")}).size(), 1u);
}

TEST(ServerSessionTest, PublishFalseEndsThePublish) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.publish("a");
    const std::vector<Event> events = peer.command(id, "publish", 0, {amf::Value::boolean(false)});
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, EventKind::kUnpublish);
}

TEST(ServerSessionTest, SeveralPublishesOnOneConnection) {
    Peer peer;
    peer.connect();
    const uint32_t a = peer.publish("a");
    const uint32_t b = peer.publish("b");
    ASSERT_NE(a, b);
    EXPECT_EQ(peer.send(kVideo, a, hex("27 01 000000")).at(0).stream_id, a);
    EXPECT_EQ(peer.send(kVideo, b, hex("27 01 000000")).at(0).stream_id, b);
    std::vector<Event> events = peer.command(0, "FCUnpublish", 6, {Peer::text("b")});
    EXPECT_EQ(events.at(0).stream_id, b);
    events = peer.command(0, "deleteStream", 7, {Peer::number(a)});
    EXPECT_EQ(events.at(0).stream_id, a);
    EXPECT_EQ(events.at(0).kind, EventKind::kUnpublish);
}

TEST(ServerSessionTest, FcUnpublishOfAnUnknownNameAmongSeveralIsNothing) {
    Peer peer;
    peer.connect();
    peer.publish("a");
    peer.publish("b");
    EXPECT_THAT(peer.command(0, "FCUnpublish", 6, {Peer::text("c")}), IsEmpty());
}

TEST(ServerSessionTest, RejectedPublishGetsTheStatusAndItsMediaAreDropped) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.create_stream();
    peer.command(id, "publish", 5, {Peer::text("cam")});
    peer.session.reject(id, status::kPublishBadName, "live/cam is published by 10.0.0.1.");
    const std::vector<Command> commands = peer.commands();
    ASSERT_EQ(commands.size(), 1u);
    EXPECT_EQ(commands[0].arg(0).text_of("level"), "error");
    EXPECT_EQ(commands[0].arg(0).text_of("code"), "NetStream.Publish.BadName");
    EXPECT_EQ(commands[0].arg(0).text_of("details"), "live/cam");
    EXPECT_THAT(peer.send(kVideo, id, hex("17 01 000000")), IsEmpty());
    peer.session.accept_publish(id);  // too late
    EXPECT_FALSE(peer.session.has_output());
}

TEST(ServerSessionTest, MediaBeforeTheAnswerAreDropped) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.create_stream();
    peer.command(id, "publish", 5, {Peer::text("cam")});
    EXPECT_THAT(peer.send(kVideo, id, hex("17 01 000000")), IsEmpty());
    EXPECT_THAT(peer.send(kVideo, 99, hex("17 01 000000")), IsEmpty());
}

TEST(ServerSessionTest, PublishNeedsAStreamOfItsOwn) {
    Peer peer;
    peer.connect();
    EXPECT_THAT(peer.command(7, "publish", 5, {Peer::text("cam")}), IsEmpty());
    EXPECT_THAT(peer.codes(), ElementsAre("onStatus NetStream.Publish.BadName"));
    const uint32_t id = peer.publish("cam");
    EXPECT_THAT(peer.command(id, "publish", 5, {Peer::text("other")}), IsEmpty());
    EXPECT_THAT(peer.codes(), ElementsAre("onStatus NetStream.Publish.BadName"));
}

TEST(ServerSessionTest, EmptyAndBadNamesAreRefusedWithAnExplanation) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.create_stream();
    for (const std::string& name :
         {std::string(), std::string("/"), std::string("?key=1"), std::string("../x"),
          std::string(6000, 'a'), "a?" + std::string(kMaxUrlSize + 1, 'k')}) {
        EXPECT_THAT(peer.command(id, "publish", 5, {Peer::text(name)}), IsEmpty());
        const std::vector<Command> commands = peer.commands();
        ASSERT_EQ(commands.size(), 1u);
        EXPECT_EQ(commands[0].arg(0).text_of("code"), "NetStream.Publish.BadName");
        EXPECT_FALSE(commands[0].arg(0).text_of("description").empty());
        EXPECT_THAT(peer.command(id, "play", 5, {Peer::text(name)}), IsEmpty());
        EXPECT_THAT(peer.codes(), ElementsAre("onStatus NetStream.Play.Failed"));
    }
    EXPECT_FALSE(peer.session.failed());
}

TEST(ServerSessionTest, NamesAreNormalAndQueriesJoined) {
    Peer peer;
    peer.connect("live/room1?token=t", "rtmp://host/live/room1");
    const uint32_t id = peer.create_stream();
    std::vector<Event> events =
        peer.command(id, "publish", 5, {Peer::text("/cam/left/?vhost=v&key=1")});
    ASSERT_EQ(events.size(), 1u);
    const StreamName& name = events[0].publish().name;
    EXPECT_EQ(name.app, "live/room1/cam");
    EXPECT_EQ(name.stream, "left");
    EXPECT_EQ(name.vhost, "v");
    EXPECT_EQ(name.query, "vhost=v&key=1&token=t");
}

TEST(ServerSessionTest, ALargeMessageIsAcceptedOnlyOncePublishing) {
    const Bytes large = pattern(200000);
    Peer early;
    early.connect();
    early.send(kVideo, 1, large);
    EXPECT_EQ(early.session.take_error().code(), ErrorCode::kLimit);
    Peer publisher;
    publisher.connect();
    const uint32_t id = publisher.publish("cam");
    const std::vector<Event> events = publisher.send(kVideo, id, large);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_FALSE(publisher.session.failed());
}

TEST(ServerSessionTest, AggregatesAreSplit) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.publish("cam");
    Bytes data = hex("02 000d 40736574446174614672616d65 02 000a 6f6e4d65746144617461 05");
    const Bytes aggregate =
        join({hex("08 000002 0003e8 00 000000 af01 0000000d"),
              hex("09 000002 0003f2 00 000000 2701 0000000d"), hex("12 00001e 0003f3 00 000000"),
              data, hex("00000029"),
              hex("14 000001 0003f3 00 000000 ff 0000000c"),  // a command has no business there
              hex("08 000001 0003fc 00 000000 af 0000000c")});
    std::vector<Event> events = peer.send(kAggregate, id, aggregate, 500);
    ASSERT_EQ(events.size(), 4u);
    EXPECT_EQ(events[0].media().timestamp, 500u);
    EXPECT_EQ(events[0].media().body, hex("af01"));
    EXPECT_EQ(events[1].media().kind, media::TrackKind::kVideo);
    EXPECT_EQ(events[1].media().timestamp, 510u);
    EXPECT_EQ(events[2].media().kind, media::TrackKind::kData);
    EXPECT_EQ(events[2].media().body, Bytes(data.begin() + 16, data.end()));
    EXPECT_EQ(events[3].media().timestamp, 520u);
    EXPECT_FALSE(peer.session.failed());
}

TEST(ServerSessionTest, DataThatDoesNotParseIsNotPassedOn) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.publish("cam");
    EXPECT_THAT(peer.send(kDataAmf0, id, hex("02 00ff 61")), IsEmpty());
    EXPECT_THAT(peer.send(kDataAmf0, id, {}), IsEmpty());
    Bytes clear;
    amf::Writer(clear).string("@clearDataFrame").string("onMetaData");
    EXPECT_THAT(peer.send(kDataAmf0, id, clear), IsEmpty());
    EXPECT_FALSE(peer.session.failed());
}

// play
// ------------------------------------------------------------------------------------------------------------------

// ffmpeg's player: createStream, getStreamLength, play, set buffer length; ends with deleteStream.
TEST(ServerSessionTest, PlayDialogueOfFfmpeg) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.create_stream();
    EXPECT_THAT(peer.command(0, "getStreamLength", 3, {Peer::text("cam")}), IsEmpty());
    EXPECT_EQ(peer.commands().at(0).arg(0).as_number(-1), 0);
    std::vector<Event> events =
        peer.command(id, "play", 4, {Peer::text("cam"), Peer::number(-2000)});
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, EventKind::kPlay);
    EXPECT_EQ(events[0].play().name.path(), "live/cam");
    EXPECT_EQ(events[0].play().start_ms, -2000);
    EXPECT_EQ(events[0].play().duration_ms, -1);
    EXPECT_TRUE(events[0].play().reset);
    EXPECT_THAT(peer.feed(hex("02 000000 00000a 04 00000000 0003 00000001 00000bb8")), IsEmpty());
    EXPECT_THAT(peer.answers(), IsEmpty());

    peer.session.accept_play(id);
    const std::vector<Message> answers = peer.answers();
    ASSERT_EQ(answers.size(), 4u);
    EXPECT_EQ(answers[0].type, kUserControl);
    EXPECT_EQ(answers[0].body, hex("0000 00000001"));
    const Command reset = *parse_command(answers[1].type, answers[1].body);
    EXPECT_EQ(reset.arg(0).text_of("code"), "NetStream.Play.Reset");
    EXPECT_EQ(reset.arg(0).text_of("details"), "live/cam");
    const Command start = *parse_command(answers[2].type, answers[2].body);
    EXPECT_EQ(start.arg(0).text_of("code"), "NetStream.Play.Start");
    EXPECT_EQ(start.arg(0).text_of("level"), "status");
    EXPECT_EQ(answers[3].type, kDataAmf0);
    EXPECT_EQ(amf::parse_all(answers[3].body)->at(0).as_string(), "|RtmpSampleAccess");
    for (size_t i = 1; i < 4; i++) {
        EXPECT_EQ(answers[i].stream_id, id);
        EXPECT_EQ(answers[i].chunk_stream_id, kStatusChunkStream);
    }

    events = peer.command(0, "deleteStream", 0, {Peer::number(id)});
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, EventKind::kStop);
}

// librtmp (rtmpdump, curl, VLC): FCSubscribe when asked to, play with start and duration in
// milliseconds, no reset.
TEST(ServerSessionTest, PlayDialogueOfLibrtmp) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.create_stream();
    EXPECT_THAT(peer.command(0, "FCSubscribe", 4, {Peer::text("cam")}), IsEmpty());
    EXPECT_THAT(peer.codes(), ElementsAre("_result", "onFCSubscribe NetStream.Play.Start"));
    std::vector<Event> events = peer.command(
        id, "play", 5,
        {Peer::text("cam"), Peer::number(-1000), Peer::number(5000), amf::Value::boolean(false)});
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].play().duration_ms, 5000);
    EXPECT_FALSE(events[0].play().reset);
    peer.session.accept_play(id);
    EXPECT_THAT(peer.codes(), ElementsAre("onStatus NetStream.Play.Start"));
}

TEST(ServerSessionTest, ASecondPlayIsRefusedWithAStatus) {
    Peer peer;
    peer.connect();
    peer.play("a");
    const uint32_t second = peer.create_stream();
    EXPECT_THAT(peer.command(second, "play", 0, {Peer::text("b")}), IsEmpty());
    const std::vector<Command> commands = peer.commands();
    ASSERT_EQ(commands.size(), 1u);
    EXPECT_EQ(commands[0].arg(0).text_of("code"), "NetStream.Play.Failed");
    EXPECT_THAT(std::string(commands[0].arg(0).text_of("description")),
                HasSubstr("Only one stream"));
}

TEST(ServerSessionTest, PlayIsPossibleAgainAfterTheFirstStopped) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.play("a");
    const std::vector<Event> events = peer.command(id, "closeStream", 0);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, EventKind::kStop);
    EXPECT_EQ(peer.command(id, "play", 0, {Peer::text("b")}).size(), 1u);
}

TEST(ServerSessionTest, PlayWithoutAStreamIsRefused) {
    Peer peer;
    peer.connect();
    EXPECT_THAT(peer.command(1, "play", 0, {Peer::text("b")}), IsEmpty());
    EXPECT_THAT(peer.codes(), ElementsAre("onStatus NetStream.Play.Failed"));
}

TEST(ServerSessionTest, RejectedPlayGetsTheStatus) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.create_stream();
    peer.command(id, "play", 0, {Peer::text("b")});
    peer.session.reject(id, status::kPlayStreamNotFound, "live/b is not published.");
    EXPECT_THAT(peer.codes(), ElementsAre("onStatus NetStream.Play.StreamNotFound"));
}

TEST(ServerSessionTest, PauseIsAnEventAndItsAnswerANotify) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.play("a");
    std::vector<Event> events =
        peer.command(id, "pause", 0, {amf::Value::boolean(true), Peer::number(1234)});
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, EventKind::kPause);
    EXPECT_TRUE(events[0].pause().on);
    EXPECT_EQ(events[0].pause().time_ms, 1234);
    peer.session.answer_pause(id, true);
    EXPECT_THAT(peer.codes(), ElementsAre("onStatus NetStream.Pause.Notify"));
    events = peer.command(id, "pauseRaw", 0, {amf::Value::boolean(false), Peer::number(0)});
    ASSERT_EQ(events.size(), 1u);
    EXPECT_FALSE(events[0].pause().on);
    peer.session.answer_pause(id, false);
    EXPECT_THAT(peer.codes(), ElementsAre("onStatus NetStream.Unpause.Notify"));
}

TEST(ServerSessionTest, SeekIsRefusedPolitely) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.play("a");
    std::vector<Event> events = peer.command(id, "seek", 0, {Peer::number(10)});
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, EventKind::kSeek);
    EXPECT_EQ(events[0].seek().time_ms, 10);
    peer.session.refuse_seek(id);
    const std::vector<Command> commands = peer.commands();
    ASSERT_EQ(commands.size(), 1u);
    EXPECT_EQ(commands[0].arg(0).text_of("code"), "NetStream.Seek.Failed");
    EXPECT_EQ(commands[0].arg(0).text_of("level"), "status");
}

TEST(ServerSessionTest, ARecordingIsSoughtAndEnds) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.play("a");
    peer.session.answer_seek(id, 4000);
    EXPECT_THAT(peer.codes(),
                ElementsAre("onStatus NetStream.Seek.Notify", "onStatus NetStream.Play.Start"));
    peer.session.end_recording(id);
    EXPECT_THAT(peer.codes(), ElementsAre("onStatus NetStream.Play.Stop"));
    // It may be sought again, and another one may be played in its place.
    ASSERT_EQ(peer.command(id, "seek", 0, {Peer::number(0)}).size(), 1u);
    peer.session.end_recording(id);
    const std::vector<Event> next = peer.command(id, "play", 0, {amf::Value::string("b")});
    ASSERT_EQ(next.size(), 1u);
    EXPECT_EQ(next[0].kind, EventKind::kPlay);
}

TEST(ServerSessionTest, PauseAndSeekWithoutPlayingAreNothing) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.create_stream();
    EXPECT_THAT(peer.command(id, "pause", 0, {amf::Value::boolean(true)}), IsEmpty());
    EXPECT_THAT(peer.command(id, "seek", 0, {Peer::number(1)}), IsEmpty());
    EXPECT_FALSE(peer.session.has_output());
}

TEST(ServerSessionTest, EndOfTheStreamIsTold) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.play("a");
    peer.session.notify_unpublish(id);
    const std::vector<Message> answers = peer.answers();
    ASSERT_EQ(answers.size(), 2u);
    EXPECT_EQ(parse_command(answers[0].type, answers[0].body)->arg(0).text_of("code"),
              "NetStream.Play.UnpublishNotify");
    EXPECT_EQ(answers[1].body, hex("0001 00000001"));
}

// the rest
// --------------------------------------------------------------------------------------------------------------

TEST(ServerSessionTest, UnknownCallsFailAndUnknownNoticesAreIgnored) {
    Peer peer;
    peer.connect();
    peer.command(0, "teleport", 9);
    const std::vector<Command> commands = peer.commands();
    ASSERT_EQ(commands.size(), 1u);
    EXPECT_EQ(commands[0].name, "_error");
    EXPECT_EQ(commands[0].transaction, 9);
    EXPECT_EQ(commands[0].arg(0).text_of("code"), "NetConnection.Call.Failed");
    peer.command(0, "teleport", 0);
    peer.command(0, "_result", 3);
    peer.command(0, "onStatus", 0);
    EXPECT_FALSE(peer.session.has_output());
    EXPECT_FALSE(peer.session.failed());
}

TEST(ServerSessionTest, SharedObjectsAndUnknownTypesAreIgnored) {
    Peer peer;
    peer.connect();
    for (const uint8_t type :
         {uint8_t{0}, uint8_t{7}, uint8_t{16}, uint8_t{19}, uint8_t{21}, uint8_t{255}}) {
        EXPECT_THAT(peer.send(type, 0, hex("ffff")), IsEmpty());
    }
    EXPECT_FALSE(peer.session.failed());
}

TEST(ServerSessionTest, CloseIsAnEvent) {
    Peer peer;
    peer.connect();
    const std::vector<Event> events = peer.command(0, "close", 0);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, EventKind::kClosed);
}

TEST(ServerSessionTest, StreamsAreLimited) {
    Peer peer;
    peer.connect();
    for (size_t i = 0; i < ServerSession::kMaxStreams; i++) {
        EXPECT_EQ(peer.create_stream(), i + 1);
    }
    peer.command(0, "createStream", 4);
    EXPECT_THAT(peer.codes(), ElementsAre("_error NetConnection.Call.Failed"));
    peer.command(0, "deleteStream", 0, {Peer::number(3)});
    EXPECT_EQ(peer.create_stream(), ServerSession::kMaxStreams + 1);
}

TEST(ServerSessionTest, OddStreamIdsInDeleteStreamAreNothing) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.publish("a");
    for (const double odd :
         {-1.0, 0.0, 1e300, double(id) + 1, std::numeric_limits<double>::quiet_NaN()}) {
        EXPECT_THAT(peer.command(0, "deleteStream", 0, {Peer::number(odd)}), IsEmpty());
    }
    EXPECT_THAT(peer.command(0, "deleteStream", 0), IsEmpty());
}

TEST(ServerSessionTest, PingsAreAnsweredAndCounted) {
    Peer peer;
    peer.connect();
    peer.feed(hex("02 000000 000006 04 00000000 0006 00001234"));
    EXPECT_EQ(peer.session.take_output(), hex("02 000000 000006 04 00000000 0007 00001234"));
    peer.session.make_ping(500);
    EXPECT_EQ(peer.session.take_output(), hex("02 000000 000006 04 00000000 0006 000001f4"));
    peer.feed(hex("02 000000 000006 04 00000000 0007 000001f4"));
    EXPECT_EQ(peer.session.last_pong_ms(), 500u);
    EXPECT_EQ(peer.session.pongs(), 1u);
}

TEST(ServerSessionTest, AcknowledgesWhenThePeersWindowIsFull) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.publish("a");
    peer.feed(hex("02 000000 000004 05 00000000 00002710"));  // 10,000
    peer.answers();
    peer.send(kVideo, id, pattern(6000));
    EXPECT_FALSE(peer.session.has_output());
    peer.send(kVideo, id, pattern(6000));
    const std::vector<Message> answers = peer.answers();
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].type, kAcknowledgement);
    EXPECT_EQ(parse_u32(answers[0].body), peer.session.bytes_received());
}

TEST(ServerSessionTest, RemembersWhatThePeerAcknowledged) {
    Peer peer;
    peer.connect();
    peer.feed(hex("02 000000 000004 03 00000000 00002710"));
    EXPECT_EQ(peer.session.peer_acknowledged(), 10000u);
}

TEST(ServerSessionTest, SetPeerBandwidthIsAnsweredWithTheWindowOnce) {
    Peer peer;
    peer.connect();
    const Bytes bandwidth = hex("02 000000 000005 06 00000000 00100000 02");
    peer.feed(bandwidth);
    EXPECT_EQ(peer.session.take_output(), hex("02 000000 000004 05 00000000 00100000"));
    peer.feed(bandwidth);
    EXPECT_FALSE(peer.session.has_output());
}

TEST(ServerSessionTest, OutputThatNobodyTakesIsAnError) {
    Peer peer;
    peer.connect();
    const Bytes ping = hex("02 000000 000006 04 00000000 0006 00001234");
    for (size_t i = 0; i < ServerSession::kMaxOutput && !peer.session.failed(); i++) {
        peer.feed(ping);
    }
    EXPECT_EQ(peer.session.take_error().code(), ErrorCode::kLimit);
    EXPECT_LE(peer.session.take_output().size(), ServerSession::kMaxOutput + 64);
}

TEST(ServerSessionTest, RefusesNestedCommandsAndHugeOnes) {
    Peer nested;
    Bytes body;
    amf::Writer(body).string("connect").number(1);
    for (int i = 0; i < 3000; i++) {
        ByteWriter(body).u8(3).u16(1).text("a");
    }
    nested.send(kCommandAmf0, 0, body);
    EXPECT_EQ(nested.session.take_error().code(), ErrorCode::kLimit);
    Peer huge;
    huge.send(kCommandAmf0, 0, Bytes(ServerSession::kMaxCommandSize + 1, 5));
    EXPECT_EQ(huge.session.take_error().code(), ErrorCode::kLimit);
}

TEST(ServerSessionTest, EveryTruncatedConnectIsAnErrorAndNothingElse) {
    Bytes body;
    amf::Writer(body).string("connect").number(1).value(Peer::connect_object("live"));
    for (size_t size = 0; size < body.size(); size++) {
        Peer peer;
        for (const Event& event : peer.send(kCommandAmf0, 0, ByteSpan(body).first(size))) {
            EXPECT_EQ(event.kind, EventKind::kConnect);  // name and transaction alone: an empty app
        }
    }
}

TEST(ServerSessionTest, AnySplitOfTheInputGivesTheSameEvents) {
    Bytes dialogue = test::set_chunk_size(4096);
    const auto add = [&](uint32_t stream_id, std::string_view name, double transaction,
                         const amf::Value& object, std::string_view arg) {
        Bytes body;
        amf::Writer(body).string(name).number(transaction).value(object);
        if (!arg.empty()) {
            amf::Writer(body).string(arg);
        }
        write_message(header(ChunkFormat::kFull, 3, 0, kCommandAmf0, stream_id), body, 4096,
                      dialogue);
    };
    add(0, "connect", 1, Peer::connect_object("live"), "");
    add(0, "createStream", 2, amf::Value(), "");
    add(1, "publish", 3, amf::Value(), "cam");
    for (uint32_t i = 0; i < 5; i++) {
        write_message(header(ChunkFormat::kFull, 4, i * 40, kVideo, 1), pattern(5000), 4096,
                      dialogue);
    }
    add(0, "FCUnpublish", 4, amf::Value(), "cam");
    for (const size_t step :
         {size_t{1}, size_t{2}, size_t{3}, size_t{7}, size_t{100}, size_t{1460}, SIZE_MAX}) {
        ServerSession session;
        std::vector<EventKind> kinds;
        for (ByteSpan left(dialogue); !left.empty();) {
            ByteSpan piece = left.first(std::min(step, left.size()));
            left = left.subspan(piece.size());
            while (!piece.empty()) {
                piece = piece.subspan(session.feed(piece));
                Event event;
                while (session.next_event(event)) {
                    kinds.push_back(event.kind);
                    session.accept_connect();
                    session.accept_publish(event.stream_id);
                }
                ASSERT_FALSE(session.failed());
            }
        }
        EXPECT_THAT(kinds, ElementsAre(EventKind::kConnect, EventKind::kPublish, EventKind::kMedia,
                                       EventKind::kMedia, EventKind::kMedia, EventKind::kMedia,
                                       EventKind::kMedia, EventKind::kUnpublish));
    }
}

TEST(ServerSessionTest, OutputCanBeAppended) {
    Peer peer;
    peer.connect();
    peer.session.make_ping(1);
    Bytes out = hex("aa");
    peer.session.append_output(out);
    EXPECT_EQ(out, hex("aa 02 000000 000006 04 00000000 0006 00000001"));
    EXPECT_FALSE(peer.session.has_output());
}

TEST(ServerSessionTest, AnswersFollowTheAnnouncedChunkSize) {
    SessionOptions options;
    options.chunk_size = 128;
    Peer peer(options);
    peer.connect(std::string(kMaxAppSize, 'a'));
    const uint32_t id = peer.publish(std::string(kMaxStreamNameSize, 'b'));
    EXPECT_EQ(id, 1u);
    EXPECT_EQ(peer.peer_chunk_size(), 128u);
}

TEST(ServerSessionTest, PlayingSessionIsSmall) {
    EXPECT_LE(sizeof(ServerSession), 320u);
}

}  // namespace
}  // namespace weir::rtmp
