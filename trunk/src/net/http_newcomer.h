// Whoever asks for a stream by HTTP, as Admission wants to know it.
#pragma once

#include <string>
#include <string_view>

#include "net/admission.h"
#include "net/http/exchange.h"
#include "proto/http/request.h"

namespace weir::net {

// The stream's address as hook servers are told it.
inline std::string url_of(const http::Request& request) {
    return "http://" + request.host + request.path;
}

// `token`: as of http::access_token(); `transport`: a literal; `url`: url_of(). All of them, and
// the exchange, have to live until the question is answered.
inline NewcomerView newcomer_of(HttpExchange& exchange,
                                const stream::StreamKey& key,
                                std::string_view token,
                                const char* transport,
                                std::string_view url) {
    const http::Request& request = exchange.request();
    return {.access = {.key = key,
                       .peer = exchange.peer(),
                       .token = token,
                       .http = &request,
                       .secure = exchange.secure(),
                       .transport = transport,
                       .query = request.query_text},
            .tc_url = url,
            .connection = &exchange.connection()};
}

}  // namespace weir::net
