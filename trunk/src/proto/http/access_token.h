// The token with which a request asks to be let in: `Authorization: Bearer TOKEN` (RFC 6750 §2.1)
// or ?key=TOKEN (also ?token=TOKEN), which mean the same. Pure functions.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "proto/http/request.h"

namespace weir::http {

inline constexpr size_t kMaxAccessToken = 4096;

// Empty: the request shows none (or another scheme than Bearer). The header field counts where both
// are there. nullopt: what stands there is no token (too long, or blanks in it), a 400. The view is
// of the request.
std::optional<std::string_view> access_token(const Request& request);

// `query` with the token as its key, where the token did not come in it: hook servers look for it
// there.
std::string query_with_token(std::string_view query, std::string_view token);
// Other items of a query than those that let in are carried as long as they are so few bytes: they
// stand in every line of a playlist.
inline constexpr size_t kMaxCarried = 1'024;

// What of `query` (with `session`, where that is not empty) goes into every address of a playlist,
// as it was written: all but the items `without`, directives of HLS (_HLS_msn) and what is there to
// get past caches (_, _t, _ts).
std::string carried_query(std::string_view query,
                          std::string_view session = {},
                          std::initializer_list<std::string_view> without = {});

// That of the header field alone; empty and nullopt as above.
std::optional<std::string_view> bearer_token(const Request& request);

}  // namespace weir::http
