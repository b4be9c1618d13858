// ServerSession: whose media it is, how much a player may leave unfinished, when a play ends.
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/proto/rtmp/peer.h"

namespace weir::rtmp {
namespace {

using test::hex;
using test::Peer;
using testing::ElementsAre;
using testing::IsEmpty;

const Bytes kFrame = hex("27 01 000000 01");

// The stream to which one frame on message stream `id` is taken; 0: to none.
uint32_t taken_by(Peer& peer, uint32_t id) {
    std::vector<Event> events = peer.send(kVideo, id, kFrame, 40);
    return events.empty() ? 0 : events[0].stream_id;
}

TEST(ServerSessionMediaTest, MediaOnStream0BelongsToTheOnlyPublish) {
    Peer peer;
    peer.connect();
    EXPECT_EQ(taken_by(peer, 0), 0u) << "nothing is published yet";
    EXPECT_EQ(peer.session.stray_messages(), 1u);
    const uint32_t id = peer.publish("cam");
    EXPECT_EQ(taken_by(peer, 0), id);
    EXPECT_EQ(taken_by(peer, id), id);
    EXPECT_EQ(taken_by(peer, 77), id) << "a stream that was never made";
    Bytes metadata;
    amf::Writer(metadata).string("@setDataFrame").string("onMetaData").begin_ecma_array(0);
    amf::Writer(metadata).end_object();
    const std::vector<Event> data = peer.send(kDataAmf0, 0, metadata);
    ASSERT_EQ(data.size(), 1u);
    EXPECT_EQ(data[0].stream_id, id);
    EXPECT_EQ(peer.session.stray_messages(), 1u);
}

TEST(ServerSessionMediaTest, AnAggregateOnStream0BelongsToTheOnlyPublish) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.publish("cam");
    // One part: video, 6 bytes, time 40, stream 0; the size behind it.
    const Bytes aggregate = hex("09 000006 000028 00 000000 27 01 000000 01 00000011");
    const std::vector<Event> events = peer.send(kAggregate, 0, aggregate, 40);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].stream_id, id);
}

TEST(ServerSessionMediaTest, MediaOfAStreamMadeForNothingBelongsToTheOnlyPublish) {
    Peer peer;
    peer.connect();
    const uint32_t unused = peer.create_stream();
    const uint32_t id = peer.publish("cam");
    EXPECT_EQ(taken_by(peer, unused), id);
}

TEST(ServerSessionMediaTest, MediaIsDroppedAndCountedWhereItsPublishIsNotClear) {
    Peer peer;
    peer.connect();
    const uint32_t first = peer.publish("a");
    const uint32_t second = peer.publish("b");
    EXPECT_EQ(taken_by(peer, 0), 0u);
    EXPECT_EQ(taken_by(peer, 9), 0u);
    EXPECT_EQ(taken_by(peer, first), first);
    EXPECT_EQ(peer.session.stray_messages(), 2u);
    // What comes late for an ended publish is not the other's.
    peer.command(first, "closeStream", 0);
    EXPECT_EQ(taken_by(peer, first), 0u);
    EXPECT_EQ(taken_by(peer, 0), second);
    peer.command(0, "deleteStream", 0, {Peer::number(first)});
    EXPECT_EQ(taken_by(peer, first), 0u);
    EXPECT_EQ(taken_by(peer, second), second);
    EXPECT_EQ(peer.session.stray_messages(), 4u);
    EXPECT_FALSE(peer.session.failed());
}

// ---- what a player may leave unfinished ----

// The begin of a message of `length` bytes on chunk stream `chunk`, `size` bytes of it.
Bytes begun(uint8_t chunk, uint32_t length, size_t size) {
    Bytes out = {chunk, 0, 0, 0};
    out.push_back(static_cast<uint8_t>(length >> 16));
    out.push_back(static_cast<uint8_t>(length >> 8));
    out.push_back(static_cast<uint8_t>(length));
    out.insert(out.end(), {kDataAmf0, 0, 0, 0, 0});
    out.insert(out.end(), size, 'x');
    return out;
}

TEST(ServerSessionMediaTest, APlayerLeavesFourKibibytesUnfinishedAtMost) {
    Peer peer;
    peer.connect();
    peer.feed(test::set_chunk_size(60000));
    peer.play("cam");
    peer.feed(begun(10, 4096, 4000));
    EXPECT_FALSE(peer.session.failed());
    peer.feed(begun(11, 200, 97));
    ASSERT_TRUE(peer.session.failed()) << "of all together";
    EXPECT_EQ(peer.session.take_error().code(), ErrorCode::kLimit);

    Peer other;
    other.connect();
    other.play("cam");
    other.feed(begun(10, 4097, 1));
    ASSERT_TRUE(other.session.failed()) << "a message that is to become longer";
}

TEST(ServerSessionMediaTest, WhatWasBegunBeforeThePlayCountsToo) {
    for (const size_t size : {4096U, 4097U, 60000U}) {
        Peer peer;
        peer.connect();
        peer.feed(test::set_chunk_size(65536));
        const uint32_t id = peer.create_stream();
        // In two chunks, with the play between them.
        peer.feed(test::set_chunk_size(static_cast<uint32_t>(size)));
        peer.feed(begun(10, 64000, size));
        peer.feed(test::set_chunk_size(65536));
        ASSERT_EQ(peer.command(id, "play", 0, {Peer::text("cam")}).size(), 1u);
        peer.session.accept_play(id);
        EXPECT_EQ(peer.session.failed(), size > ServerSession::kMaxWhilePlaying) << size;
        if (!peer.session.failed()) {
            peer.feed(hex("ca 78"));
            EXPECT_TRUE(peer.session.failed()) << "one byte more of it";
        }
    }
}

TEST(ServerSessionMediaTest, APlayerThatStoppedMaySayLongCommandsAgain) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.play("cam");
    peer.command(0, "deleteStream", 0, {Peer::number(id)});
    const uint32_t next = peer.create_stream();
    const std::string text(6000, 'x');
    peer.command(0, "someCommand", 0, {Peer::text(text)});
    EXPECT_FALSE(peer.session.failed());
    EXPECT_EQ(peer.command(next, "publish", 5, {Peer::text("cam")}).size(), 1u);
}

// ---- durations ----

int64_t duration_of(const std::vector<amf::Value>& args) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.create_stream();
    std::vector<amf::Value> all = {Peer::text("cam")};
    all.insert(all.end(), args.begin(), args.end());
    std::vector<Event> events = peer.command(id, "play", 4, all);
    EXPECT_EQ(events.size(), 1u);
    return events.empty() ? 0 : events[0].play().duration_ms;
}

TEST(ServerSessionMediaTest, ReadsTheDurationOfAPlay) {
    const auto play = [](double start, double duration) {
        return duration_of({Peer::number(start), Peer::number(duration)});
    };
    EXPECT_EQ(duration_of({}), -1);
    EXPECT_EQ(duration_of({Peer::number(-2000)}), -1) << "ffmpeg";
    EXPECT_EQ(duration_of({Peer::number(-1000), amf::Value::null()}), -1);
    for (const double endless : {-1.0, 0.0, -2000.0, -1000.0, 1e300, -1e300}) {
        EXPECT_EQ(play(-2, endless), -1) << endless;
        EXPECT_EQ(play(-1000, endless), -1) << endless;
        EXPECT_EQ(play(0, endless), -1) << endless;
    }
    EXPECT_EQ(play(0, 5000), 5000) << "rtmpdump --stop 5";
    EXPECT_EQ(play(-1000, 5000), 5000) << "rtmpdump --live --stop 5";
    EXPECT_EQ(play(-2, 5), 5000) << "as the specification has it";
    EXPECT_EQ(play(-1, 0.5), 500);
    EXPECT_EQ(play(-2000, std::numeric_limits<double>::quiet_NaN()), -1);
}

TEST(ServerSessionMediaTest, TellsTheEndOfTheDuration) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.play("cam");
    peer.session.complete_play(id);
    const std::vector<Message> answers = peer.answers();
    ASSERT_EQ(answers.size(), 5u);
    EXPECT_EQ(answers[0].body, hex("0001 00000001")) << "StreamEOF";
    const Command stop = *parse_command(answers[1].type, answers[1].body);
    EXPECT_EQ(stop.arg(0).text_of("code"), "NetStream.Play.Stop");
    EXPECT_EQ(stop.arg(0).text_of("level"), "status");
    EXPECT_EQ(answers[2].type, kDataAmf0);
    const auto complete = amf::parse_all(answers[2].body);
    ASSERT_TRUE(complete.ok());
    EXPECT_EQ(complete->at(0).as_string(), "onPlayStatus");
    EXPECT_EQ(complete->at(1).text_of("code"), "NetStream.Play.Complete");
    const Command gone = *parse_command(answers[3].type, answers[3].body);
    EXPECT_EQ(gone.arg(0).text_of("code"), "NetStream.Play.UnpublishNotify");
}

TEST(ServerSessionMediaTest, TellsAPlayerThatItWaits) {
    Peer peer;
    peer.connect();
    const uint32_t id = peer.create_stream();
    peer.command(id, "play", 4, {Peer::text("cam")});
    peer.session.notify_waiting(id);
    const std::vector<Command> commands = peer.commands();
    ASSERT_EQ(commands.size(), 1u);
    EXPECT_EQ(commands[0].arg(0).text_of("level"), "status") << "an error would end the client";
    EXPECT_EQ(commands[0].arg(0).text_of("code"), "NetStream.Play.Waiting");
    peer.session.accept_play(id);
    EXPECT_THAT(peer.codes(),
                ElementsAre("onStatus NetStream.Play.Reset", "onStatus NetStream.Play.Start"));
    peer.session.notify_waiting(id);
    EXPECT_THAT(peer.codes(), IsEmpty());
}

}  // namespace
}  // namespace weir::rtmp
