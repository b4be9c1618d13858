// name-addr and addr-spec with parameters (RFC 3261 §20.10, §25.1): what From, To, Contact, Route,
// Record-Route, Refer-To and P-Asserted-Identity hold. Pure.
//
//     "Bob, at home" <sip:bob@example.com;lr>;tag=x       sip:bob@example.com;tag=x
//
// Without <> the parameters are those of the header, not of the URI.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/http/fields.h"
#include "proto/sip/parameters.h"
#include "proto/sip/uri.h"

namespace weir::sip {

inline constexpr size_t kMaxListItems = 64;  // of all fields of one name together

struct NameAddr {
    std::string display;  // without quotes; may be empty
    std::string uri;      // as it was sent; of any scheme
    Parameters parameters;

    static std::optional<NameAddr> parse(std::string_view text);

    // All of the fields of that name, in their order. nullopt: one is malformed, or there are too
    // many. "*" (Contact of a REGISTER) is malformed here.
    static std::optional<std::vector<NameAddr>> parse_all(const http::Fields& fields,
                                                          std::string_view name);

    // Always with <>.
    std::string write() const;

    // nullopt: another scheme, or a malformed one.
    std::optional<SipUri> address() const { return SipUri::parse(uri); }

    // Empty: none.
    std::string_view tag() const { return parameters.get("tag").value_or(std::string_view()); }

    bool operator==(const NameAddr&) const = default;
};

// "a, "b, c" <d,e>" cut at the commas that are outside of quotes and <>; trimmed, empty items left
// out. nullopt: something is not closed, or there are too many.
std::optional<std::vector<std::string_view>> split_list(std::string_view text);

}  // namespace weir::sip
