// The methods of RTSP 1.0 (RFC 2326 §10) and the set of them in a Public or Allow field.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace weir::rtsp {

enum class Method : uint8_t {
    kUnknown,
    kOptions,
    kDescribe,
    kSetup,
    kPlay,
    kPause,
    kAnnounce,
    kRecord,
    kTeardown,
    kGetParameter,
    kSetParameter,
    kRedirect,
};

// "GET_PARAMETER"; "UNKNOWN" for kUnknown.
std::string_view to_string(Method method);

// kUnknown for any other name. Names are in upper case (RFC 2326 §6.1), and no client is known that
// writes them differently.
Method parse_method(std::string_view name);

// What the other side supports, or what we do.
class MethodSet {
  public:
    constexpr MethodSet() = default;

    constexpr MethodSet(std::initializer_list<Method> methods) {
        for (const Method method : methods) {
            add(method);
        }
    }

    // The value of a Public or Allow field: "OPTIONS, DESCRIBE". Unknown names are left out. Spaces
    // separate as well, and letter case does not matter, since cameras write all of these.
    static MethodSet parse(std::string_view value);

    constexpr void add(Method method) { bits_ |= 1U << static_cast<unsigned>(method); }

    constexpr bool has(Method method) const {
        return (bits_ >> static_cast<unsigned>(method) & 1U) != 0;
    }

    constexpr bool empty() const { return bits_ == 0; }

    // In the order of the enum, separated by ", ".
    std::string write() const;

    bool operator==(const MethodSet&) const = default;

  private:
    uint32_t bits_ = 0;
};

}  // namespace weir::rtsp
