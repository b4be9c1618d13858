#include "proto/cluster/relay_field.h"

#include <algorithm>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/hmac.h"
#include "base/strings.h"
#include "proto/cluster/records.h"

namespace weir::cluster {
namespace {

constexpr std::string_view kMac = ";mac=";
constexpr std::string_view kOldVersion = "v=1;";

std::optional<uint8_t> digit(char c) {
    if (c >= '0' && c <= '9') {
        return static_cast<uint8_t>(c - '0');
    }
    if (c >= 'a' && c <= 'f') {
        return static_cast<uint8_t>(c - 'a' + 10);
    }
    return std::nullopt;
}

// Exactly as many lower-case digits as `out` needs.
bool read_hex(std::string_view text, std::span<uint8_t> out) {
    if (text.size() != out.size() * 2) {
        return false;
    }
    for (size_t i = 0; i < out.size(); i++) {
        const std::optional<uint8_t> high = digit(text[2 * i]);
        const std::optional<uint8_t> low = digit(text[2 * i + 1]);
        if (!high || !low) {
            return false;
        }
        out[i] = static_cast<uint8_t>(*high << 4 | *low);
    }
    return true;
}

Error malformed() {
    return make_error(ErrorCode::kMalformed, "{} is not of the form that nodes write", kRelayField);
}

// "name=value" of that name, in its place; nothing: it is not there.
std::optional<std::string_view> value_of(std::string_view part, std::string_view name) {
    const Halves halves = split_once(part, '=');
    return halves.found && halves.before == name ? std::optional(halves.after) : std::nullopt;
}

std::optional<uint64_t> number_of(std::string_view part, std::string_view name) {
    const std::optional<std::string_view> text = value_of(part, name);
    return text && text->size() <= 20 ? parse_uint(*text) : std::nullopt;
}

std::optional<std::vector<std::string>> path_of(std::string_view part) {
    const std::optional<std::string_view> text = value_of(part, "path");
    if (!text) {
        return std::nullopt;
    }
    std::vector<std::string> path;
    for (const std::string_view name : split(*text, ',', kMaxRelayPath + 1)) {
        if (!is_node_name(name) || path.size() == kMaxRelayPath) {
            return std::nullopt;
        }
        path.emplace_back(name);
    }
    return path;
}

Sha256Digest mac_of(std::string_view front,
                    std::string_view secret,
                    std::string_view method,
                    std::string_view host,
                    std::string_view target) {
    // None of them has a line feed, and `front` begins with the version, so no others give the
    // same.
    const std::string text =
        front.starts_with(kOldVersion)
            ? fmt::format("{}\n{}\n{}", method, target, front)
            : fmt::format("{}\n{}\n{}\n{}", method, to_lower(without_port(host)), target, front);
    return hmac_sha256(as_bytes(secret), as_bytes(text));
}

}  // namespace

// A proxy may leave the port out.
std::string_view without_port(std::string_view host) {
    if (host.starts_with('[')) {
        return host.substr(0, host.find(']') + 1);
    }
    return split_once(host, ':').before;
}

std::string write_relay_request(const RelayRequest& request,
                                std::string_view secret,
                                std::string_view method,
                                std::string_view host,
                                std::string_view target) {
    const std::string front =
        fmt::format("v=2;path={};epoch={};time={};nonce={}", join(request.path, ","), request.epoch,
                    request.time_ms, hex(request.nonce));
    return fmt::format("{}{}{}", front, kMac, hex(mac_of(front, secret, method, host, target)));
}

Result<RelayRequest> read_relay_request(std::string_view value,
                                        std::string_view secret,
                                        std::string_view method,
                                        std::string_view host,
                                        std::string_view target,
                                        int64_t now_ms) {
    const size_t end = value.size() <= kMaxRelayFieldSize ? value.rfind(kMac) : value.npos;
    Sha256Digest mac{};
    if (end == value.npos || !read_hex(value.substr(end + kMac.size()), mac)) {
        return malformed();
    }
    const std::string_view front = value.substr(0, end);
    if (!equal_in_constant_time(mac, mac_of(front, secret, method, host, target))) {
        return make_error(
            ErrorCode::kDenied,
            "{} does not hold for this request: the nodes have different secrets, or a "
            "proxy changed Host or the path (it has to pass both on)",
            kRelayField);
    }
    constexpr size_t kParts = 5;
    const std::vector<std::string_view> parts = split(front, ';', kParts + 1);
    if (parts.size() != kParts || (parts[0] != "v=1" && parts[0] != "v=2")) {
        return malformed();
    }
    std::optional<std::vector<std::string>> path = path_of(parts[1]);
    const std::optional<uint64_t> epoch = number_of(parts[2], "epoch");
    const std::optional<uint64_t> time_ms = number_of(parts[3], "time");
    RelayRequest request;
    if (!path || !epoch || !time_ms || *time_ms > INT64_MAX ||
        !read_hex(value_of(parts[4], "nonce").value_or(""), request.nonce)) {
        return malformed();
    }
    request.for_any_host = front.starts_with(kOldVersion);
    request.path = std::move(*path);
    request.epoch = *epoch;
    request.time_ms = static_cast<int64_t>(*time_ms);
    const int64_t apart =
        request.time_ms > now_ms ? request.time_ms - now_ms : now_ms - request.time_ms;
    if (apart > kRelayLife.count()) {
        return make_error(ErrorCode::kDenied,
                          "{} was signed {} ms from now: look at the clocks of both nodes",
                          kRelayField, apart);
    }
    return request;
}

std::string write_relay_answer(const RelayAnswer& answer) {
    return fmt::format("v=1;path={};epoch={}", join(answer.path, ","), answer.epoch);
}

Result<RelayAnswer> read_relay_answer(std::string_view value) {
    constexpr size_t kParts = 3;
    const std::vector<std::string_view> parts = value.size() <= kMaxRelayFieldSize
                                                    ? split(value, ';', kParts + 1)
                                                    : std::vector<std::string_view>();
    if (parts.size() != kParts || parts[0] != "v=1") {
        return malformed();
    }
    std::optional<std::vector<std::string>> path = path_of(parts[1]);
    const std::optional<uint64_t> epoch = number_of(parts[2], "epoch");
    if (!path || !epoch || *epoch > kMaxEpoch) {
        return malformed();
    }
    return RelayAnswer{std::move(*path), *epoch};
}

}  // namespace weir::cluster
