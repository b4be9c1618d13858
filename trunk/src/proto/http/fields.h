// Header fields of an HTTP message, in the order they came, with case-insensitive names.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::http {

struct Field {
    std::string name;
    std::string value;
};

class Fields {
  public:
    Fields() = default;

    Fields(std::initializer_list<Field> fields) : fields_(fields) {}

    void add(std::string name, std::string value) {
        fields_.push_back({std::move(name), std::move(value)});
    }

    // Replaces every field of that name by one.
    void set(std::string_view name, std::string value);

    // Value of the first field of that name. The view lives as long as this object is unchanged.
    std::optional<std::string_view> get(std::string_view name) const;

    bool has(std::string_view name) const { return get(name).has_value(); }

    size_t count(std::string_view name) const;

    // True when a comma-separated list field (Connection, Upgrade, ...) holds the token, in any
    // letter case.
    bool has_token(std::string_view name, std::string_view token) const;

    size_t size() const { return fields_.size(); }

    bool empty() const { return fields_.empty(); }

    auto begin() const { return fields_.begin(); }

    auto end() const { return fields_.end(); }

  private:
    std::vector<Field> fields_;
};

// None.
const Fields& no_fields();

// ASCII only, as field names and tokens are.
bool equal_ignoring_case(std::string_view a, std::string_view b);

// What names of fields, methods and schemes consist of (RFC 9110 §5.6.2).
bool is_token_character(char c);

// Without spaces and tabs at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace weir::http
