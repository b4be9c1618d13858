// Parameters of SIP: ";lr;transport=tcp" of a URI (RFC 3261 §19.1.1) and ";tag=x;q=0.5" of a header
// value (§25.1 generic-param), in their order, with names in any letter case. Pure.
//
// The two differ in how a value shows what is no plain text: a URI has %XX, a header has quotes.
// Values are kept decoded.
//
// Peers: http
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::sip {

inline constexpr size_t kMaxParameters = 32;  // of one URI or header value

struct Parameter {
    std::string name;
    std::string value;
    bool has_value = false;  // ";lr" has none, ";lr=" has an empty one

    bool operator==(const Parameter&) const = default;
};

class Parameters {
  public:
    // `text` is empty or begins with ';'. nullopt: malformed, or too many.
    static std::optional<Parameters> parse_of_uri(std::string_view text);
    static std::optional<Parameters> parse_of_header(std::string_view text);

    std::string write_for_uri() const;
    std::string write_for_header() const;

    // Value of the first of that name: empty for one without a value. The view lives as long as
    // this object is unchanged.
    std::optional<std::string_view> get(std::string_view name) const;

    bool has(std::string_view name) const { return get(name).has_value(); }

    // The value as a number of decimal digits; nullopt: none, or no such number up to `max`.
    std::optional<uint64_t> number(std::string_view name, uint64_t max) const;

    // Replaces the first of that name, or adds it.
    void set(std::string_view name, std::string value);
    void set_flag(std::string_view name);  // without a value
    void remove(std::string_view name);

    bool empty() const { return all_.empty(); }

    size_t size() const { return all_.size(); }

    auto begin() const { return all_.begin(); }

    auto end() const { return all_.end(); }

    bool operator==(const Parameters&) const = default;

  private:
    Parameter& slot(std::string_view name);

    std::vector<Parameter> all_;
};

// %XX for every byte that is neither a letter, a digit, one of "-_.!~*'()" (RFC 3261 §25.1
// unreserved) nor one of `also`.
std::string escape(std::string_view text, std::string_view also);

// nullopt: a '%' without two hex digits (RFC 3261 §25.1: URIs must escape it).
std::optional<std::string> unescape(std::string_view text);

}  // namespace weir::sip
