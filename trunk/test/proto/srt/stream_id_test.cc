#include "proto/srt/stream_id.h"

#include <gtest/gtest.h>

namespace weir::srt {
namespace {

StreamId parsed(std::string_view text) {
    Result<StreamId> id = StreamId::parse(text);
    EXPECT_TRUE(id.ok()) << text;
    return id.ok() ? *id : StreamId();
}

ErrorCode refused(std::string_view text) {
    const Result<StreamId> id = StreamId::parse(text);
    return id.ok() ? ErrorCode::kOk : id.error().code();
}

TEST(StreamIdTest, ReadsTheFormOfAccessControl) {
    const StreamId id =
        parsed("#!::u=ann,r=live/cam,m=publish,h=a.example,s=7,key=k1,t=stream,x=y");
    EXPECT_EQ(id.resource, "live/cam");
    EXPECT_EQ(id.user, "ann");
    EXPECT_EQ(id.vhost, "a.example");
    EXPECT_EQ(id.session, "7");
    EXPECT_EQ(id.token, "k1");
    EXPECT_EQ(id.mode, StreamMode::kPublish);
}

TEST(StreamIdTest, KeysThatAreNotItsOwnBelongToTheQuery) {
    const StreamId id = parsed("#!::r=live/cam,secret=abc,user_id=7,m=publish,u=ann,s=1,t=stream");
    EXPECT_EQ(id.resource, "live/cam");
    EXPECT_EQ(id.query, "secret=abc&user_id=7");
    EXPECT_EQ(parsed("#!::secret=abc,r=live/cam?key=k").query, "key=k&secret=abc");
    EXPECT_EQ(parsed("#!:{r=live/cam,secret=abc}").query, "secret=abc");
    EXPECT_EQ(parsed("#!::h=live/cam?key=k,secret=abc").query, "key=k&secret=abc");
}

TEST(StreamIdTest, AValueCannotAddAKeyToTheQuery) {
    EXPECT_EQ(parsed("#!::r=live/cam,x=1&key=%41#").query, "x=1%26key=%2541%23");
}

TEST(StreamIdTest, ReadsTheFormOfBlackmagic) {
    const StreamId id = parsed("#!::bmd_uuid=0e1df79f-77e6,bmd_name=Web Presenter,u=cam");
    EXPECT_EQ(id.resource, "live/cam");
    EXPECT_EQ(id.mode, StreamMode::kPublish);
    EXPECT_EQ(id.user, "");
    EXPECT_EQ(id.query, "bmd_uuid=0e1df79f-77e6&bmd_name=Web Presenter");
    EXPECT_EQ(parsed("#!::bmd_uuid=1,r=cam,m=publish").resource, "live/cam");
    EXPECT_EQ(parsed("#!::bmd_uuid=1,u=room/cam?key=k").resource, "room/cam");
    EXPECT_EQ(parsed("#!::bmd_uuid=1,u=room/cam?key=k").query, "key=k&bmd_uuid=1");
    EXPECT_EQ(parsed("#!::bmd_uuid=1").resource, "");
}

TEST(StreamIdTest, TakesTheResourceFromTheUserWhereItStandsThere) {
    EXPECT_EQ(parsed("#!::u=live/cam,m=publish").resource, "live/cam");
    EXPECT_EQ(parsed("#!::u=live/cam,m=publish").user, "");
    EXPECT_EQ(parsed("#!::u=ann,m=publish").resource, "");
}

TEST(StreamIdTest, WithoutAModeTheFormOfAccessControlRequests) {
    EXPECT_EQ(parsed("#!::r=live/cam").mode, StreamMode::kRequest);
    EXPECT_EQ(parsed("#!::r=live/cam,m=request").mode, StreamMode::kRequest);
}

TEST(StreamIdTest, ReadsBracesAndLeavesNestedOnesAlone) {
    const StreamId id = parsed("#!:{x={m=publish,r=no},r=/live/cam/,m=publish}");
    EXPECT_EQ(id.resource, "live/cam");
    EXPECT_EQ(id.mode, StreamMode::kPublish);
    EXPECT_EQ(refused("#!:{r=live/cam"), ErrorCode::kMalformed);
}

TEST(StreamIdTest, ReadsPlainForms) {
    EXPECT_EQ(parsed("live/cam").mode, StreamMode::kNone);
    EXPECT_EQ(parsed("live/cam").resource, "live/cam");
    EXPECT_EQ(parsed("/live/cam").resource, "live/cam");
    EXPECT_EQ(parsed("publish:live/cam").mode, StreamMode::kPublish);
    EXPECT_EQ(parsed("publish:live/cam").resource, "live/cam");
    for (const char* mode : {"read", "play", "request", "Read"}) {
        const StreamId id = parsed(std::string(mode) + ":live/cam");
        EXPECT_EQ(id.mode, StreamMode::kRequest) << mode;
        EXPECT_EQ(id.resource, "live/cam") << mode;
    }
    EXPECT_EQ(parsed("publish").mode, StreamMode::kNone) << "the name of a stream";
    EXPECT_EQ(parsed("").resource, "");
}

TEST(StreamIdTest, ReadsUserAndPasswordOfThePlainForm) {
    const StreamId id = parsed("publish:live/cam:ann:pass:word");
    EXPECT_EQ(id.resource, "live/cam");
    EXPECT_EQ(id.user, "ann");
    EXPECT_EQ(id.token, "pass:word");
}

TEST(StreamIdTest, ReadsWhatWasLeftEncodedOfAUrl) {
    const StreamId id = parsed("%23!::r=live%2Fcam,m=publish");
    EXPECT_EQ(id.resource, "live/cam");
    EXPECT_EQ(id.mode, StreamMode::kPublish);
    EXPECT_EQ(refused("%23!::r=a%00b"), ErrorCode::kMalformed);
}

TEST(StreamIdTest, KeepsTheQuery) {
    EXPECT_EQ(parsed("publish:live/cam?key=k&x=1").query, "key=k&x=1");
    EXPECT_EQ(parsed("#!::r=live/cam?vhost=v,m=publish").query, "vhost=v");
    EXPECT_EQ(parsed("#!::r=live/cam?vhost=v,m=publish").resource, "live/cam");
}

TEST(StreamIdTest, TakesTheResourceFromTheHostWhereItStandsThere) {
    EXPECT_EQ(parsed("#!::h=live/cam,m=publish").resource, "live/cam");
    EXPECT_EQ(parsed("#!::h=a.example/live/cam,m=publish").resource, "live/cam");
    EXPECT_EQ(parsed("#!::h=a.example/live/cam,m=publish").vhost, "a.example");
}

TEST(StreamIdTest, RefusesWhatItDoesNotKnow) {
    EXPECT_EQ(refused("#!x"), ErrorCode::kMalformed);
    EXPECT_EQ(refused("#!::r=a/b,m=fly"), ErrorCode::kMalformed);
    EXPECT_EQ(refused("#!::r=a/b,m=bidirectional"), ErrorCode::kUnsupported);
    EXPECT_EQ(refused("#!::r=a/b,t=file"), ErrorCode::kUnsupported);
    EXPECT_EQ(refused("live/\ncam"), ErrorCode::kMalformed);
}

TEST(StreamIdTest, RefusesMoreThanItsLimits) {
    EXPECT_EQ(refused(std::string(kMaxStreamId, 'a')), ErrorCode::kOk);
    EXPECT_EQ(refused(std::string(kMaxStreamId + 1, 'a')), ErrorCode::kLimit);
    std::string many = "#!::";
    for (size_t i = 0; i <= kMaxStreamIdKeys; i++) {
        many += "x=1,";
    }
    EXPECT_EQ(refused(many), ErrorCode::kLimit);
}

TEST(StreamIdTest, ErrorsHoldNoSecret) {
    const Result<StreamId> id = StreamId::parse("#!::key=hidden,m=fly");
    ASSERT_FALSE(id.ok());
    EXPECT_EQ(id.error().message().find("hidden"), std::string::npos);
}

TEST(StreamIdTest, WhatIsWrittenIsReadAsTheSame) {
    StreamId id;
    id.resource = "live/cam";
    id.query = "a=b";
    id.vhost = "a.example";
    id.user = "ann";
    id.token = "k";
    id.session = "s";
    id.mode = StreamMode::kPublish;
    EXPECT_EQ(id.write(), "#!::h=a.example,r=live/cam?a=b,u=ann,s=s,key=k,m=publish");
    EXPECT_EQ(parsed(id.write()), id);
}

TEST(StreamIdTest, EveryBeginningOfOneIsReadOrRefused) {
    const std::string text = "#!:{u=ann,x={a=b},r=live/cam?x=1,m=publish,key=k}";
    for (size_t size = 0; size <= text.size(); size++) {
        (void)StreamId::parse(std::string_view(text).substr(0, size)).ok();
    }
}

}  // namespace
}  // namespace weir::srt
