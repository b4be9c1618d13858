#include "proto/sip/answers.h"

#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "proto/sip/uri.h"

namespace weir::sip {
namespace {

constexpr uint16_t kSipPort = 5060;

// The first `kept` fields of that name stay.
http::Fields fields_without(const http::Fields& fields, std::string_view name, size_t kept) {
    http::Fields out;
    size_t seen = 0;
    for (const http::Field& field : fields) {
        if (!http::equal_ignoring_case(field.name, name) || ++seen <= kept) {
            out.add(field.name, field.value);
        }
    }
    return out;
}

}  // namespace

void note_source(Via& via, const Flow& flow) {
    const std::string_view rport = via.parameters.get("rport").value_or("-");
    const std::optional<NetAddress> said = NetAddress::parse_ip(without_brackets(via.host), 0);
    if (rport.empty()) {
        via.parameters.set("rport", fmt::format("{}", flow.remote.port()));
    }
    if (rport.empty() || !said || !said->same_ip(flow.remote)) {
        via.parameters.set("received", flow.remote.ip_text());
    }
}

Flow answer_flow(const Via& via, Flow flow) {
    if (!flow.reliable() && !via.parameters.has("rport")) {
        flow.remote = flow.remote.with_port(via.port == 0 ? kSipPort : via.port);
    }
    return flow;
}

std::string write_within(Response response, uint64_t room) {
    std::string bytes = write(response);
    for (const std::string_view name : {"Server", "Accept", "Supported", "Allow"}) {
        if (bytes.size() > room && response.headers.has(name)) {
            response.headers = fields_without(response.headers, name, 0);
            bytes = write(response);
        }
    }
    constexpr std::string_view kChallenge = "WWW-Authenticate";  // the strongest is the first
    if (bytes.size() > room && response.headers.count(kChallenge) > 1) {
        response.headers = fields_without(response.headers, kChallenge, 1);
        bytes = write(response);
    }
    return bytes;
}

}  // namespace weir::sip
