#include "proto/sip/core_headers.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace weir::sip {
namespace {

constexpr std::array<std::string_view, 7> kSingle = {
    "From", "To", "Call-ID", "CSeq", "Max-Forwards", "Content-Type", "Expires"};

std::optional<CoreHeaders> read(const MessageBase& message, std::string_view& reason) {
    const http::Fields& fields = message.headers;
    const bool twice =
        std::ranges::any_of(kSingle, [&](std::string_view name) { return fields.count(name) > 1; });
    std::optional<std::vector<Via>> vias = Via::parse_all(fields);
    std::optional<NameAddr> from = NameAddr::parse(message.header("From"));
    std::optional<NameAddr> to = NameAddr::parse(message.header("To"));
    std::optional<CSeq> cseq = CSeq::parse(message.header("CSeq"));
    const std::string_view call_id = message.header("Call-ID");
    const std::optional<uint8_t> hops =
        parse_max_forwards(fields.get("Max-Forwards").value_or("70"));
    const bool id = !call_id.empty() && call_id.size() <= kMaxCallIdBytes &&
                    std::ranges::none_of(call_id, [](char c) {
                        return static_cast<unsigned char>(c) <= ' ' || c == '\x7F';
                    });
    reason = twice                    ? "a header field is there twice"
             : !vias || vias->empty() ? "Via is missing or malformed"
             : !from                  ? "From is missing or malformed"
             : !to                    ? "To is missing or malformed"
             : !cseq                  ? "CSeq is missing or malformed"
             : !id                    ? "Call-ID is missing or malformed"
             : !hops                  ? "Max-Forwards is malformed"
             : from->tag().size() > kMaxTagBytes || to->tag().size() > kMaxTagBytes
                 ? "a tag is too long"
                 : "";
    if (!reason.empty()) {
        return std::nullopt;
    }
    CoreHeaders out;
    out.via = std::move(vias->front());
    out.vias = vias->size();
    out.from = std::move(*from);
    out.to = std::move(*to);
    out.call_id = call_id;
    out.cseq = std::move(*cseq);
    out.max_forwards = *hops;
    return out;
}

}  // namespace

std::optional<CoreHeaders> read_core_headers(const Request& request, std::string_view& reason) {
    std::optional<CoreHeaders> out = read(request, reason);
    if (out && out->cseq.method_name != request.method_name) {
        reason = "CSeq names another method";  // RFC 3261 §8.1.1.5
        return std::nullopt;
    }
    return out;
}

std::optional<CoreHeaders> read_core_headers(const Response& response, std::string_view& reason) {
    return read(response, reason);
}

Response make_response(const Request& request,
                       int status,
                       std::string_view reason,
                       std::string_view to_tag) {
    constexpr std::array<std::string_view, 4> kCopied = {"Via", "From", "Call-ID", "CSeq"};
    Response out;
    out.status = status;
    out.reason = reason;
    bool has_to = false;
    for (const http::Field& field : request.headers) {
        if (std::ranges::any_of(kCopied, [&](std::string_view name) {
                return http::equal_ignoring_case(field.name, name);
            })) {
            out.headers.add(field.name, field.value);
        } else if (http::equal_ignoring_case(field.name, "To") && !has_to) {
            has_to = true;
            std::optional<NameAddr> to = NameAddr::parse(field.value);
            if (to && to->tag().empty() && !to_tag.empty()) {
                to->parameters.set("tag", std::string(to_tag));
                out.headers.add("To", to->write());
            } else {
                out.headers.add("To", field.value);
            }
        }
    }
    return out;
}

}  // namespace weir::sip
