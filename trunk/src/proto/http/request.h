// An HTTP request as handlers see it: parsed, decoded, normalised and within the limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/http/fields.h"
#include "proto/http/method.h"

namespace weir::http {

// Query parameters, percent-decoded, in order. "+" stays a plus: stream keys are often base64.
class Query {
  public:
    void add(std::string name, std::string value) {
        items_.emplace_back(std::move(name), std::move(value));
    }

    // Value of the first parameter of that name (case-sensitive).
    std::optional<std::string_view> get(std::string_view name) const;

    // The same, or `otherwise`.
    std::string_view get_or(std::string_view name, std::string_view otherwise) const;

    size_t size() const { return items_.size(); }

    auto begin() const { return items_.begin(); }

    auto end() const { return items_.end(); }

  private:
    std::vector<std::pair<std::string, std::string>> items_;
};

struct Request {
    Method method = Method::kGet;
    std::string target;  // as sent: "/live/a%20b.flv?key=x"; untrusted, escape before logging
    std::string path;  // decoded and normalised: begins with "/", no "." or ".." or empty segment,
                       // no control characters
                       // ("*" for OPTIONS *); a trailing "/" is kept
    std::string query_text;  // what followed "?", as sent
    Query query;
    int version_minor = 1;   // HTTP/1.<minor>, 0 or 1
    bool keep_alive = true;  // what the client asked for (RFC 9112 §9.3)
    Fields headers;
    std::string body;  // chunks joined

    bool is_head() const { return method == Method::kHead; }

    // The Host field, or the authority of an absolute target; may carry a port. Empty only in
    // HTTP/1.0.
    std::string host;
};

// The request as another server would read it: its fields as they came, the body in one piece.
std::string request_text(const Request& request);

}  // namespace weir::http
