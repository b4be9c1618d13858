// What every answer of the HTTP API shares: the envelope and who answers. For the classes that add
// routes to the API's router (http_api.h, diagnosis/).
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "net/http/exchange.h"

namespace weir::net {

// Keys stay in the order in which they were set: an answer is read by people too.
using Json = nlohmann::ordered_json;

struct ServerIdentity {
    std::string server;   // random, new at each start
    std::string service;  // the same: this process
    MonoTime started;
};

// {"code":0,"server":..,"service":..,"pid":..}: the caller adds "data" or the resource's own name.
Json envelope(const ServerIdentity& identity);

// As one line without a newline; text that is not UTF-8 is replaced, never an error.
std::string dumped(const Json& json);

// What somebody else wrote. Null when the text is no JSON, or nests deeper than `most_depth`.
Json parsed(std::string_view text, int most_depth);

// Responds 200 with the JSON and a newline; text that is not UTF-8 is replaced, never an error. A
// peer that is gone is the server's business. Yields.
void answer(HttpExchange& exchange, const Json& body);

}  // namespace weir::net
