#include "proto/rtmp/command.h"

#include "proto/rtmp/message.h"

#include "test/proto/rtmp/support.h"

namespace weir::rtmp {
namespace {

using test::hex;

TEST(CommandTest, ReadsNameTransactionObjectAndArguments) {
    Bytes body;
    amf::Writer(body).string("publish").number(5).null().string("stream").string("live");
    const Result<Command> command = parse_command(kCommandAmf0, body);
    ASSERT_TRUE(command.ok());
    EXPECT_EQ(command->name, "publish");
    EXPECT_EQ(command->transaction, 5);
    EXPECT_EQ(command->object.type(), amf::Type::kNull);
    ASSERT_EQ(command->args.size(), 2u);
    EXPECT_EQ(command->arg(0).as_string(), "stream");
    EXPECT_EQ(command->arg(9).type(), amf::Type::kNull);
}

TEST(CommandTest, Amf3TypeHasALeadingZero) {
    Bytes body = {0};
    amf::Writer(body).string("createStream").number(2).null();
    EXPECT_EQ(parse_command(kCommandAmf3, body)->name, "createStream");
    body.erase(body.begin());  // some clients leave it out
    EXPECT_EQ(parse_command(kCommandAmf3, body)->name, "createStream");
}

TEST(CommandTest, LaterPartsMayBeMissing) {
    Bytes body;
    amf::Writer(body).string("hello");
    EXPECT_EQ(parse_command(kCommandAmf0, body)->transaction, 0);
    amf::Writer(body).number(3);
    EXPECT_EQ(parse_command(kCommandAmf0, body)->transaction, 3);
}

TEST(CommandTest, RefusesWhatHasNoName) {
    EXPECT_EQ(parse_command(kCommandAmf0, {}).error().code(), ErrorCode::kMalformed);
    EXPECT_EQ(parse_command(kCommandAmf0, hex("00 3ff0000000000000")).error().code(),
              ErrorCode::kMalformed);
    EXPECT_EQ(parse_command(kCommandAmf0, hex("02 0000")).error().code(), ErrorCode::kMalformed);
}

TEST(CommandTest, RefusesALongName) {
    Bytes body;
    amf::Writer(body).string(std::string(kMaxCommandNameSize + 1, 'a'));
    EXPECT_EQ(parse_command(kCommandAmf0, body).error().code(), ErrorCode::kLimit);
}

TEST(CommandTest, TruncationsAreMalformedOrShorter) {
    Bytes body;
    amf::Writer(body).string("play").number(4).null().string("s").number(-2);
    for (size_t size = 0; size < body.size(); size++) {
        const Result<Command> command = parse_command(kCommandAmf0, ByteSpan(body).first(size));
        if (command.ok()) {
            EXPECT_LT(command->args.size(), 2u) << size;
        } else {
            EXPECT_EQ(command.error().code(), ErrorCode::kMalformed);
        }
    }
}

// What a builder wrote, read again.
Command read(const Bytes& body) {
    Result<Command> command = parse_command(kCommandAmf0, body);
    EXPECT_TRUE(command.ok());
    return std::move(*command);
}

TEST(CommandTest, ConnectResultSaysWhatClientsLookAt) {
    Bytes body;
    write_connect_result({1, 3, false}, body);
    const Command command = read(body);
    EXPECT_EQ(command.name, "_result");
    EXPECT_EQ(command.transaction, 1);
    EXPECT_EQ(command.object.text_of("fmsVer").substr(0, 4), "FMS/");
    EXPECT_EQ(command.object.number_of("capabilities"), 31);
    EXPECT_EQ(command.object.number_of("mode"), 1);
    EXPECT_EQ(command.arg(0).text_of("level"), "status");
    EXPECT_EQ(command.arg(0).text_of("code"), "NetConnection.Connect.Success");
    EXPECT_EQ(command.arg(0).number_of("objectEncoding"), 3);
    EXPECT_EQ(command.arg(0).find("capsEx"), nullptr);
}

TEST(CommandTest, ConnectResultAnnouncesForwardingToEnhancedClients) {
    Bytes body;
    write_connect_result({1, 0, true}, body);
    const Command command = read(body);
    for (const amf::Value* object : {&command.object, &command.arg(0)}) {
        EXPECT_EQ(object->number_of("capsEx"), 6);
        EXPECT_EQ(object->find("videoFourCcInfoMap")->number_of("*"), 4);
        EXPECT_EQ(object->find("audioFourCcInfoMap")->number_of("*"), 4);
        ASSERT_EQ(object->find("fourCcList")->members().size(), 1u);
        EXPECT_EQ(object->find("fourCcList")->members()[0].value.as_string(), "*");
    }
}

TEST(CommandTest, StatusHasExactBytes) {
    Bytes body;
    write_on_status({"error", "C", "D"}, body);
    EXPECT_EQ(body, hex("02 0008 6f6e537461747573 00 0000000000000000 05 03"
                        "0005 6c6576656c 02 0005 6572726f72"
                        "0004 636f6465 02 0001 43"
                        "000b 6465736372697074696f6e 02 0001 44"
                        "0000 09"));
}

TEST(CommandTest, ResultsAndErrors) {
    Bytes body;
    write_create_stream_result(4, 1, body);
    EXPECT_EQ(read(body).arg(0).as_number(), 1);
    body.clear();
    write_empty_result(2, body);
    EXPECT_EQ(read(body).arg(0).type(), amf::Type::kNull);
    body.clear();
    write_call_failed(9, "no", body);
    EXPECT_EQ(read(body).name, "_error");
    EXPECT_EQ(read(body).arg(0).text_of("code"), "NetConnection.Call.Failed");
    body.clear();
    write_named_status("onFCPublish", {"status", status::kPublishStart, "s", "details"}, body);
    EXPECT_EQ(read(body).name, "onFCPublish");
    EXPECT_EQ(read(body).arg(0).text_of("details"), "details");
    body.clear();
    write_sample_access(body);
    EXPECT_EQ(amf::parse_all(body)->size(), 3u);
}

}  // namespace
}  // namespace weir::rtmp
