#include "proto/amf/amf0.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace weir::amf {
namespace {

// AMF0 §2.1.
enum Marker : uint8_t {
    kNumberMarker = 0x00,
    kBooleanMarker = 0x01,
    kStringMarker = 0x02,
    kObjectMarker = 0x03,
    kMovieClipMarker = 0x04,
    kNullMarker = 0x05,
    kUndefinedMarker = 0x06,
    kReferenceMarker = 0x07,
    kEcmaArrayMarker = 0x08,
    kObjectEndMarker = 0x09,
    kStrictArrayMarker = 0x0A,
    kDateMarker = 0x0B,
    kLongStringMarker = 0x0C,
    kUnsupportedMarker = 0x0D,
    kRecordSetMarker = 0x0E,
    kXmlMarker = 0x0F,
    kTypedObjectMarker = 0x10,
    kAvmPlusMarker = 0x11,
};

// AMF3 §3.1, scalars.
enum Amf3Marker : uint8_t {
    kAmf3Undefined = 0x00,
    kAmf3Null = 0x01,
    kAmf3False = 0x02,
    kAmf3True = 0x03,
    kAmf3Integer = 0x04,
    kAmf3Double = 0x05,
    kAmf3String = 0x06,
};

constexpr size_t kMaxShortString = 0xFFFF;

std::string_view short_part(std::string_view text) {
    return text.substr(0, std::min(text.size(), kMaxShortString));
}

}  // namespace

class Parser {
  public:
    explicit Parser(ByteReader& reader) : reader_(reader) {}

    Result<Value> run() {
        Value value = parse_value(0);
        if (limit_) {
            return make_error(ErrorCode::kLimit, "AMF0 value over a limit: {}", limit_);
        }
        if (!reader_.ok()) {
            return make_error(ErrorCode::kMalformed, "{}",
                              marker_ ? "unknown AMF0 marker" : "truncated AMF0 value");
        }
        return value;
    }

  private:
    Value parse_value(size_t depth) {
        const uint8_t marker = reader_.u8();
        if (!reader_.ok()) {
            return Value();
        }
        switch (marker) {
            case kNumberMarker: return Value::number(reader_.f64());
            case kBooleanMarker: return Value::boolean(reader_.u8() != 0);
            case kStringMarker: return Value::string(text(reader_.u16()));
            case kLongStringMarker: return Value::string(text(reader_.u32()));
            case kXmlMarker: return Value::xml(text(reader_.u32()));
            case kNullMarker: return Value();
            case kUndefinedMarker: return Value::undefined();
            case kUnsupportedMarker: return Value::unsupported();
            case kReferenceMarker:
                reader_.u16();  // nobody sends these in RTMP; what it pointed to is not kept
                return Value::undefined();
            case kDateMarker: {
                const double time = reader_.f64();
                reader_.u16();  // time zone, reserved
                return Value::date(time);
            }
            case kAvmPlusMarker: return parse_amf3();
            case kObjectMarker:
            case kTypedObjectMarker:
            case kEcmaArrayMarker:
            case kStrictArrayMarker: return parse_container(marker, depth);
            default: marker_ = true; return fail();
        }
    }

    Value parse_container(uint8_t marker, size_t depth) {
        if (depth == kMaxDepth) {
            return over("depth");
        }
        if (marker == kStrictArrayMarker) {
            return Value(Type::kStrictArray, parse_elements(depth));
        }
        if (marker == kTypedObjectMarker) {
            text(reader_.u16());  // class name
        }
        if (marker == kEcmaArrayMarker) {
            reader_.u32();  // count: a hint only, the end marker counts
            return Value(Type::kEcmaArray, parse_members(depth));
        }
        return Value(Type::kObject, parse_members(depth));
    }

    std::vector<Member> parse_members(size_t depth) {
        std::vector<Member> members;
        while (reader_.ok()) {
            const std::string_view name = text(reader_.u16());
            if (name.empty() && reader_.peek() == kObjectEndMarker) {
                reader_.u8();
                break;
            }
            if (!count_element()) {
                break;
            }
            std::string owned(name);
            members.push_back({std::move(owned), parse_value(depth + 1)});
        }
        return members;
    }

    std::vector<Member> parse_elements(size_t depth) {
        std::vector<Member> elements;
        for (uint32_t left = reader_.u32(); left > 0 && reader_.ok() && count_element(); left--) {
            elements.push_back({std::string(), parse_value(depth + 1)});
        }
        return elements;
    }

    Value parse_amf3() {
        switch (reader_.u8()) {
            case kAmf3Undefined: return Value::undefined();
            case kAmf3Null: return Value();
            case kAmf3False: return Value::boolean(false);
            case kAmf3True: return Value::boolean(true);
            case kAmf3Integer: {
                const int32_t value = static_cast<int32_t>(u29() << 3) >> 3;
                return Value::number(value);
            }
            case kAmf3Double: return Value::number(reader_.f64());
            case kAmf3String: {
                const uint32_t size = u29();
                // Even: a reference into a table of strings, of which there is none for a lone
                // value.
                return size & 1 ? Value::string(text(size >> 1)) : Value::unsupported();
            }
            default:
                // Without its whole grammar the end of the value cannot be found: nothing behind it
                // is readable.
                reader_.rest();
                return Value::unsupported();
        }
    }

    // AMF3 §1.3.1: seven bits in each of three bytes, eight in the fourth.
    uint32_t u29() {
        uint32_t value = 0;
        for (int i = 0; i < 3; i++) {
            const uint8_t byte = reader_.u8();
            value = value << 7 | (byte & 0x7F);
            if (byte < 0x80) {
                return value;
            }
        }
        return value << 8 | reader_.u8();
    }

    std::string_view text(size_t size) {
        if (size > kMaxStringSize) {
            over("string size");
            return {};
        }
        return as_text(reader_.take(size));
    }

    bool count_element() {
        if (++elements_ > kMaxElements) {
            over("number of elements");
            return false;
        }
        return true;
    }

    Value over(const char* what) {
        limit_ = limit_ ? limit_ : what;
        return fail();
    }

    Value fail() {
        reader_.fail();
        return Value();
    }

    ByteReader& reader_;
    size_t elements_ = 0;
    const char* limit_ = nullptr;
    bool marker_ = false;
};

Value::Value() noexcept = default;
Value::Value(Value&&) noexcept = default;
Value& Value::operator=(Value&&) noexcept = default;
Value::Value(const Value&) = default;
Value& Value::operator=(const Value&) = default;
Value::~Value() = default;

Value::Value(Type type, double number) : data_(number), type_(type) {}

Value::Value(Type type, std::string_view text) : data_(std::string(text)), type_(type) {}

Value::Value(Type type, std::vector<Member> members) : data_(std::move(members)), type_(type) {}

Value Value::number(double value) {
    return {Type::kNumber, value};
}

Value Value::boolean(bool value) {
    return {Type::kBoolean, value ? 1.0 : 0.0};
}

Value Value::string(std::string_view value) {
    return {Type::kString, value};
}

Value Value::date(double milliseconds) {
    return {Type::kDate, milliseconds};
}

Value Value::xml(std::string_view value) {
    return {Type::kXml, value};
}

Value Value::null() {
    return {};
}

Value Value::undefined() {
    return {Type::kUndefined, 0.0};
}

Value Value::unsupported() {
    return {Type::kUnsupported, 0.0};
}

Value Value::object() {
    return object({});
}

Value Value::object(std::vector<Member> members) {
    return {Type::kObject, std::move(members)};
}

Value Value::ecma_array() {
    return ecma_array({});
}

Value Value::ecma_array(std::vector<Member> members) {
    return {Type::kEcmaArray, std::move(members)};
}

Value Value::strict_array() {
    return strict_array({});
}

Value Value::strict_array(std::vector<Value> elements) {
    std::vector<Member> members;
    members.reserve(elements.size());
    for (Value& element : elements) {
        members.push_back({std::string(), std::move(element)});
    }
    return {Type::kStrictArray, std::move(members)};
}

double Value::as_number(double otherwise) const {
    const bool numeric = type_ == Type::kNumber || type_ == Type::kBoolean || type_ == Type::kDate;
    return numeric ? std::get<double>(data_) : otherwise;
}

bool Value::as_boolean(bool otherwise) const {
    const bool fits = type_ == Type::kNumber || type_ == Type::kBoolean;
    return fits ? std::get<double>(data_) != 0 : otherwise;
}

std::string_view Value::as_string() const {
    const std::string* text = std::get_if<std::string>(&data_);
    return text ? std::string_view(*text) : std::string_view();
}

const Value* Value::find(std::string_view name) const {
    if (!has_members()) {
        return nullptr;
    }
    for (const Member& member : members()) {
        if (member.name == name) {
            return &member.value;
        }
    }
    return nullptr;
}

std::string_view Value::text_of(std::string_view name) const {
    const Value* value = find(name);
    return value ? value->as_string() : std::string_view();
}

double Value::number_of(std::string_view name, double otherwise) const {
    const Value* value = find(name);
    return value ? value->as_number(otherwise) : otherwise;
}

const std::vector<Member>& Value::members() const {
    static const std::vector<Member> kNone;
    const auto* members = std::get_if<std::vector<Member>>(&data_);
    return members ? *members : kNone;
}

void Value::set(std::string_view name, Value value) {
    if (auto* members = std::get_if<std::vector<Member>>(&data_); members && has_members()) {
        members->push_back({std::string(name), std::move(value)});
    }
}

bool Value::operator==(const Value& other) const {
    if (type_ != other.type_ || data_.index() != other.data_.index()) {
        return false;
    }
    if (const double* number = std::get_if<double>(&data_)) {
        return std::bit_cast<uint64_t>(*number) ==
               std::bit_cast<uint64_t>(std::get<double>(other.data_));
    }
    return data_ == other.data_;
}

Result<Value> parse(ByteReader& reader) {
    return Parser(reader).run();
}

Result<std::vector<Value>> parse_all(ByteSpan bytes) {
    ByteReader reader(bytes);
    std::vector<Value> values;
    while (!reader.empty()) {
        if (values.size() == kMaxValues) {
            return make_error(ErrorCode::kLimit, "more than {} AMF0 values", kMaxValues);
        }
        WEIR_TRY_ASSIGN(Value value, parse(reader));
        values.push_back(std::move(value));
    }
    return values;
}

size_t encoded_size(const Value& value) {
    const auto key_size = [](const Member& member) { return 2 + short_part(member.name).size(); };
    switch (value.type()) {
        case Type::kNumber: return 9;
        case Type::kBoolean: return 2;
        case Type::kString:
            return (value.as_string().size() > kMaxShortString ? 5 : 3) + value.as_string().size();
        case Type::kXml: return 5 + value.as_string().size();
        case Type::kDate: return 11;
        case Type::kNull:
        case Type::kUndefined:
        case Type::kUnsupported: return 1;
        case Type::kObject:
        case Type::kEcmaArray: {
            size_t size = value.type() == Type::kObject ? 4 : 8;  // marker, count, end
            for (const Member& member : value.members()) {
                size += key_size(member) + encoded_size(member.value);
            }
            return size;
        }
        case Type::kStrictArray: break;
    }
    size_t size = 5;
    for (const Member& member : value.members()) {
        size += encoded_size(member.value);
    }
    return size;
}

void write(const Value& value, Bytes& out) {
    Writer writer(out);
    switch (value.type()) {
        case Type::kNumber: writer.number(value.as_number()); return;
        case Type::kBoolean: writer.boolean(value.as_boolean()); return;
        case Type::kString: writer.string(value.as_string()); return;
        case Type::kXml:
            ByteWriter(out)
                .u8(kXmlMarker)
                .u32(static_cast<uint32_t>(value.as_string().size()))
                .text(value.as_string());
            return;
        case Type::kDate: ByteWriter(out).u8(kDateMarker).f64(value.as_number()).u16(0); return;
        case Type::kNull: writer.null(); return;
        case Type::kUndefined: writer.undefined(); return;
        case Type::kUnsupported: ByteWriter(out).u8(kUnsupportedMarker); return;
        case Type::kObject: writer.begin_object(); break;
        case Type::kEcmaArray:
            writer.begin_ecma_array(static_cast<uint32_t>(value.members().size()));
            break;
        case Type::kStrictArray:
            writer.begin_strict_array(static_cast<uint32_t>(value.members().size()));
            for (const Member& element : value.members()) {
                write(element.value, out);
            }
            return;
    }
    for (const Member& member : value.members()) {
        writer.key(member.name).value(member.value);
    }
    writer.end_object();
}

Writer& Writer::number(double value) {
    ByteWriter(out_).u8(kNumberMarker).f64(value);
    return *this;
}

Writer& Writer::boolean(bool value) {
    ByteWriter(out_).u8(kBooleanMarker).u8(value ? 1 : 0);
    return *this;
}

Writer& Writer::string(std::string_view value) {
    if (value.size() > kMaxShortString) {
        ByteWriter(out_).u8(kLongStringMarker).u32(static_cast<uint32_t>(value.size())).text(value);
    } else {
        ByteWriter(out_).u8(kStringMarker).u16(static_cast<uint16_t>(value.size())).text(value);
    }
    return *this;
}

Writer& Writer::null() {
    ByteWriter(out_).u8(kNullMarker);
    return *this;
}

Writer& Writer::undefined() {
    ByteWriter(out_).u8(kUndefinedMarker);
    return *this;
}

Writer& Writer::value(const Value& value) {
    write(value, out_);
    return *this;
}

Writer& Writer::begin_object() {
    ByteWriter(out_).u8(kObjectMarker);
    return *this;
}

Writer& Writer::begin_ecma_array(uint32_t count) {
    ByteWriter(out_).u8(kEcmaArrayMarker).u32(count);
    return *this;
}

Writer& Writer::begin_strict_array(uint32_t count) {
    ByteWriter(out_).u8(kStrictArrayMarker).u32(count);
    return *this;
}

Writer& Writer::key(std::string_view name) {
    const std::string_view part = short_part(name);
    ByteWriter(out_).u16(static_cast<uint16_t>(part.size())).text(part);
    return *this;
}

Writer& Writer::end_object() {
    ByteWriter(out_).u16(0).u8(kObjectEndMarker);
    return *this;
}

}  // namespace weir::amf
