#include "proto/amf/amf0.h"

#include <limits>

#include <gtest/gtest.h>

#include "test/proto/rtmp/support.h"

namespace weir::amf {
namespace {

using rtmp::test::hex;

Bytes bytes_of(const Value& value) {
    Bytes out;
    write(value, out);
    EXPECT_EQ(out.size(), encoded_size(value));
    return out;
}

Result<Value> parse_bytes(ByteSpan bytes) {
    ByteReader reader(bytes);
    return parse(reader);
}

Value sample_object() {
    Value inner = Value::object();
    inner.set("deep", Value::string("x"));
    Value object = Value::object();
    object.set("app", Value::string("live"));
    object.set("n", Value::number(1.5));
    object.set("yes", Value::boolean(true));
    object.set("inner", std::move(inner));
    object.set("list",
               Value::strict_array({Value::number(1), Value::null(), Value::string("av01")}));
    object.set("none", Value::undefined());
    object.set("when", Value::date(1000));
    object.set("doc", Value::xml("<a/>"));
    object.set("odd", Value::unsupported());
    return object;
}

struct Exact {
    const char* name;
    Value value;
    const char* bytes;
};

std::vector<Exact> exact_cases() {
    Value object = Value::object();
    object.set("a", Value::number(0));
    Value array = Value::ecma_array();
    array.set("a", Value::null());
    return {
        {"number", Value::number(1), "00 3ff0000000000000"},
        {"negative", Value::number(-2), "00 c000000000000000"},
        {"true", Value::boolean(true), "01 01"},
        {"false", Value::boolean(false), "01 00"},
        {"string", Value::string("live"), "02 0004 6c697665"},
        {"empty string", Value::string(""), "02 0000"},
        {"object", object, "03 0001 61 00 0000000000000000 0000 09"},
        {"empty object", Value::object(), "03 0000 09"},
        {"null", Value::null(), "05"},
        {"undefined", Value::undefined(), "06"},
        {"ecma array", array, "08 00000001 0001 61 05 0000 09"},
        {"strict array", Value::strict_array({Value::boolean(true), Value::null()}),
         "0a 00000002 0101 05"},
        {"date", Value::date(1), "0b 3ff0000000000000 0000"},
        {"xml", Value::xml("<a/>"), "0f 00000004 3c612f3e"},
        {"unsupported", Value::unsupported(), "0d"},
    };
}

TEST(Amf0Test, ValuesHaveTheExactBytesOfTheSpecification) {
    for (const Exact& c : exact_cases()) {
        EXPECT_EQ(bytes_of(c.value), hex(c.bytes)) << c.name;
    }
}

TEST(Amf0Test, ExactBytesAreReadBack) {
    for (const Exact& c : exact_cases()) {
        const Result<Value> value = parse_bytes(hex(c.bytes));
        ASSERT_TRUE(value.ok()) << c.name;
        EXPECT_EQ(*value, c.value) << c.name;
    }
}

TEST(Amf0Test, NestedValuesRoundTrip) {
    const Value object = sample_object();
    const Result<Value> back = parse_bytes(bytes_of(object));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, object);
    EXPECT_EQ(back->text_of("app"), "live");
    EXPECT_EQ(back->number_of("n"), 1.5);
    EXPECT_EQ(back->find("inner")->text_of("deep"), "x");
    EXPECT_EQ(back->find("list")->members().size(), 3u);
    EXPECT_EQ(back->find("missing"), nullptr);
}

TEST(Amf0Test, EveryTruncationIsMalformed) {
    const Bytes bytes = bytes_of(sample_object());
    for (size_t size = 0; size < bytes.size(); size++) {
        const Result<Value> value = parse_bytes(ByteSpan(bytes).first(size));
        ASSERT_FALSE(value.ok()) << size;
        EXPECT_EQ(value.error().code(), ErrorCode::kMalformed);
    }
}

TEST(Amf0Test, StringOverSixtyFourKilobytesIsLong) {
    const std::string text(0x10000, 'x');
    const Bytes bytes = bytes_of(Value::string(text));
    EXPECT_EQ(bytes[0], 0x0C);
    const Result<Value> back = parse_bytes(bytes);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->as_string(), text);
}

TEST(Amf0Test, RefusesALongStringOverTheLimit) {
    const Bytes bytes = bytes_of(Value::string(std::string(kMaxStringSize + 1, 'x')));
    EXPECT_EQ(parse_bytes(bytes).error().code(), ErrorCode::kLimit);
}

TEST(Amf0Test, AHugeClaimedLengthIsNoAllocation) {
    EXPECT_FALSE(parse_bytes(hex("0c ffffffff 61")).ok());
    EXPECT_FALSE(parse_bytes(hex("0a ffffffff 05")).ok());
}

TEST(Amf0Test, NanEqualsItself) {
    const Value nan = Value::number(std::numeric_limits<double>::quiet_NaN());
    EXPECT_EQ(*parse_bytes(bytes_of(nan)), nan);
}

Bytes nested_objects(size_t depth) {
    Bytes out;
    for (size_t i = 0; i < depth; i++) {
        ByteWriter(out).u8(3).u16(1).text("a");
    }
    out.push_back(5);
    for (size_t i = 0; i < depth; i++) {
        ByteWriter(out).u16(0).u8(9);
    }
    return out;
}

TEST(Amf0Test, AcceptsTheDeepestNestingAllowed) {
    EXPECT_TRUE(parse_bytes(nested_objects(kMaxDepth)).ok());
}

TEST(Amf0Test, RefusesDeeperNesting) {
    EXPECT_EQ(parse_bytes(nested_objects(kMaxDepth + 1)).error().code(), ErrorCode::kLimit);
    EXPECT_EQ(parse_bytes(nested_objects(3000)).error().code(), ErrorCode::kLimit);
    const Bytes arrays(5 * 3000, 0x0A);
    EXPECT_FALSE(parse_bytes(arrays).ok());
}

TEST(Amf0Test, RefusesTooManyElementsOverAllLevels) {
    Value inner = Value::object();
    Value outer = Value::object();
    for (size_t i = 0; i < kMaxElements / 2; i++) {
        inner.set("k", Value::null());
        outer.set("k", Value::null());
    }
    EXPECT_TRUE(parse_bytes(bytes_of(outer)).ok());
    outer.set("inner", inner);
    EXPECT_EQ(parse_bytes(bytes_of(outer)).error().code(), ErrorCode::kLimit);
}

TEST(Amf0Test, CountOfAnEcmaArrayIsOnlyAHint) {
    const Result<Value> value = parse_bytes(hex("08 00000000 0001 61 0101 0001 62 0100 0000 09"));
    ASSERT_TRUE(value.ok());
    EXPECT_EQ(value->members().size(), 2u);
}

TEST(Amf0Test, EmptyMemberNameIsAMember) {
    const Result<Value> value = parse_bytes(hex("03 0000 0101 0000 09"));
    ASSERT_TRUE(value.ok());
    ASSERT_EQ(value->members().size(), 1u);
    EXPECT_TRUE(value->members()[0].value.as_boolean());
}

TEST(Amf0Test, TypedObjectIsReadAsObject) {
    const Result<Value> value = parse_bytes(hex("10 0003 466f6f 0001 61 05 0000 09"));
    ASSERT_TRUE(value.ok());
    EXPECT_EQ(value->type(), Type::kObject);
    EXPECT_NE(value->find("a"), nullptr);
}

TEST(Amf0Test, ReferenceIsUndefined) {
    EXPECT_EQ(parse_bytes(hex("07 0001"))->type(), Type::kUndefined);
}

TEST(Amf0Test, RefusesUnknownMarkers) {
    for (const uint8_t marker :
         {uint8_t{0x04}, uint8_t{0x09}, uint8_t{0x0E}, uint8_t{0x12}, uint8_t{0xFF}}) {
        EXPECT_EQ(parse_bytes(Bytes{marker, 0, 0, 0}).error().code(), ErrorCode::kMalformed)
            << int{marker};
    }
}

TEST(Amf0Test, ReadsAmf3ScalarsBehindTheAvmPlusMarker) {
    EXPECT_EQ(parse_bytes(hex("11 00"))->type(), Type::kUndefined);
    EXPECT_EQ(parse_bytes(hex("11 01"))->type(), Type::kNull);
    EXPECT_EQ(*parse_bytes(hex("11 02")), Value::boolean(false));
    EXPECT_EQ(*parse_bytes(hex("11 03")), Value::boolean(true));
    EXPECT_EQ(*parse_bytes(hex("11 04 05")), Value::number(5));
    EXPECT_EQ(*parse_bytes(hex("11 04 8100")), Value::number(128));
    EXPECT_EQ(*parse_bytes(hex("11 04 ffffffff")), Value::number(-1));
    EXPECT_EQ(*parse_bytes(hex("11 05 3ff0000000000000")), Value::number(1));
    EXPECT_EQ(*parse_bytes(hex("11 06 09 6c697665")), Value::string("live"));
}

TEST(Amf0Test, RicherAmf3EndsTheInput) {
    const Result<std::vector<Value>> values = parse_all(hex("05 11 0a 0b 01 05 05"));
    ASSERT_TRUE(values.ok());
    ASSERT_EQ(values->size(), 2u);
    EXPECT_EQ((*values)[1].type(), Type::kUnsupported);
}

TEST(Amf0Test, TruncatedAmf3IsMalformed) {
    for (const char* text : {"11", "11 04", "11 04 ff", "11 05 3ff0", "11 06 09 6c69"}) {
        EXPECT_EQ(parse_bytes(hex(text)).error().code(), ErrorCode::kMalformed) << text;
    }
}

TEST(Amf0Test, ParseAllGivesEveryValue) {
    const Result<std::vector<Value>> values = parse_all(hex("0101 05 02 0001 61"));
    ASSERT_TRUE(values.ok());
    ASSERT_EQ(values->size(), 3u);
    EXPECT_EQ((*values)[2].as_string(), "a");
    EXPECT_TRUE(parse_all({})->empty());
}

TEST(Amf0Test, ParseAllRefusesTooManyValues) {
    EXPECT_TRUE(parse_all(Bytes(kMaxValues, 5)).ok());
    EXPECT_EQ(parse_all(Bytes(kMaxValues + 1, 5)).error().code(), ErrorCode::kLimit);
}

TEST(Amf0Test, AccessorsGiveDefaultsForOtherTypes) {
    const Value text = Value::string("1");
    EXPECT_EQ(text.as_number(7), 7);
    EXPECT_TRUE(text.as_boolean(true));
    EXPECT_EQ(Value::number(1).as_string(), "");
    EXPECT_TRUE(Value::number(2).as_boolean());
    EXPECT_EQ(Value::boolean(true).as_number(), 1);
    EXPECT_EQ(text.find("a"), nullptr);
    EXPECT_TRUE(text.members().empty());
}

TEST(Amf0Test, WriterMakesTheSameBytesAsValues) {
    Value object = Value::object();
    object.set("code", Value::string("x"));
    Value array = Value::ecma_array();
    array.set("n", Value::number(2));
    Bytes expected;
    for (const Value& value :
         {Value::string("onStatus"), Value::number(0), Value::null(), object, array,
          Value::undefined(), Value::boolean(true), Value::strict_array({Value::number(1)})}) {
        write(value, expected);
    }
    Bytes out;
    Writer writer(out);
    writer.string("onStatus").number(0).null().begin_object().key("code").string("x").end_object();
    writer.begin_ecma_array(1).key("n").number(2).end_object().undefined().boolean(true);
    writer.begin_strict_array(1).value(Value::number(1));
    EXPECT_EQ(out, expected);
}

TEST(Amf0Test, ValueIsCompact) {
    EXPECT_LE(sizeof(Value), 48u);
}

}  // namespace
}  // namespace weir::amf
