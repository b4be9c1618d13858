// AMF0 (Action Message Format, Adobe 2007): values of RTMP commands and of FLV script data.
//
// Parsing copies out of the input; a Value owns what it shows. Everything is bounded: depth, number
// of elements and string sizes, so that neither parsing nor destroying a Value can exhaust a small
// coroutine stack. AMF3 is known only as far as RTMP needs it: a scalar behind the avmplus marker
// is read, anything richer becomes kUnsupported and ends the input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

namespace weir::amf {

inline constexpr size_t kMaxDepth = 16;  // objects in objects
inline constexpr size_t kMaxElements =
    4096;  // members and elements of one value, all levels together
inline constexpr size_t kMaxStringSize = 64 * 1024;  // bytes; also of long strings and XML
inline constexpr size_t kMaxValues = 64;             // values of one message

enum class Type : uint8_t {
    kNumber,
    kBoolean,
    kString,  // written as a long string when over 65,535 bytes
    kObject,  // also typed objects; their class name is dropped
    kEcmaArray,
    kStrictArray,
    kNull,
    kUndefined,
    kDate,  // number(): milliseconds since 1970
    kXml,
    kUnsupported,  // the unsupported marker, or an AMF3 value that is not a scalar
};

struct Member;

class Value {
  public:
    // Null.
    Value() noexcept;
    Value(Value&&) noexcept;
    Value& operator=(Value&&) noexcept;
    Value(const Value&);
    Value& operator=(const Value&);
    ~Value();

    static Value number(double value);
    static Value boolean(bool value);
    static Value string(std::string_view value);
    static Value date(double milliseconds);
    static Value xml(std::string_view value);
    static Value null();
    static Value undefined();
    static Value unsupported();
    // Without an argument: empty. (A default argument would need Member complete here.)
    static Value object();
    static Value object(std::vector<Member> members);
    static Value ecma_array();
    static Value ecma_array(std::vector<Member> members);
    static Value strict_array();
    static Value strict_array(std::vector<Value> elements);

    Type type() const { return type_; }

    bool is_string() const { return type_ == Type::kString; }

    bool is_number() const { return type_ == Type::kNumber; }

    // Object or ECMA array.
    bool has_members() const { return type_ == Type::kObject || type_ == Type::kEcmaArray; }

    // The number, date or boolean (0 or 1); `otherwise` for everything else.
    double as_number(double otherwise = 0) const;

    // The boolean, or whether the number is not zero; `otherwise` for everything else.
    bool as_boolean(bool otherwise = false) const;

    // The text of a string or XML, empty for everything else. Borrows this value.
    std::string_view as_string() const;

    // The first member of that name, null when there is none or this is no object. Borrows this
    // value.
    const Value* find(std::string_view name) const;

    // as_string() and as_number() of the member; empty and `otherwise` when it is missing.
    std::string_view text_of(std::string_view name) const;
    double number_of(std::string_view name, double otherwise = 0) const;

    // Members of an object or ECMA array, elements of a strict array (their names are empty); empty
    // for scalars.
    const std::vector<Member>& members() const;

    // Appends a member; only to an object or ECMA array.
    void set(std::string_view name, Value value);

    // Same type and content; numbers are compared by their bits, so that NaN equals itself.
    bool operator==(const Value& other) const;

  private:
    friend class Parser;

    Value(Type type, double number);
    Value(Type type, std::string_view text);
    Value(Type type, std::vector<Member> members);

    std::variant<double, std::string, std::vector<Member>> data_;
    Type type_ = Type::kNull;
};

struct Member {
    std::string name;
    Value value;

    bool operator==(const Member& other) const {
        return name == other.name && value == other.value;
    }
};

// One value from the reader's position. kMalformed: truncated or an unknown marker; kLimit: over
// one of the limits above.
Result<Value> parse(ByteReader& reader);

// All values to the end of the bytes, at most kMaxValues (kLimit past it).
Result<std::vector<Value>> parse_all(ByteSpan bytes);

// Bytes that write() appends.
size_t encoded_size(const Value& value);

// Appends the value. Strings are cut at 65,535 bytes where the format has no longer form (member
// names).
void write(const Value& value, Bytes& out);

// Builds messages without making values first:
//   Writer(out).string("onStatus").number(0).null().begin_object().key("code").string(code).end_object();
class Writer {
  public:
    explicit Writer(Bytes& out) : out_(out) {}

    Writer& number(double value);
    Writer& boolean(bool value);
    Writer& string(std::string_view value);
    Writer& null();
    Writer& undefined();
    Writer& value(const Value& value);

    Writer& begin_object();
    Writer& begin_ecma_array(uint32_t count);
    Writer& begin_strict_array(uint32_t count);  // needs no end: `count` values follow
    Writer& key(std::string_view name);          // inside an object or ECMA array, before its value
    Writer& end_object();                        // also of an ECMA array

  private:
    Bytes& out_;
};

}  // namespace weir::amf
