// The methods of SIP: RFC 3261, 3262 (PRACK), 3311 (UPDATE), 3428 (MESSAGE), 3515 (REFER), 3903
// (PUBLISH), 6086 (INFO), 6665 (SUBSCRIBE, NOTIFY).
#pragma once

#include <cstdint>
#include <string_view>

namespace weir::sip {

enum class Method : uint8_t {
    kUnknown,
    kInvite,
    kAck,
    kBye,
    kCancel,
    kOptions,
    kRegister,
    kPrack,
    kUpdate,
    kInfo,
    kRefer,
    kNotify,
    kSubscribe,
    kMessage,
    kPublish,
};

// "INVITE"; "UNKNOWN" for kUnknown.
std::string_view to_string(Method method);

// kUnknown for any other name. Names have upper case only (RFC 3261 §7.1).
Method parse_method(std::string_view name);

}  // namespace weir::sip
