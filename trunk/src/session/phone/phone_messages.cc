#include "session/phone/phone_messages.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace weir::session {
namespace {

using Kind = PhoneWish::Kind;

constexpr int kMaxDepth = 2;
constexpr int kLeastRefusal = 300;
constexpr int kGreatestRefusal = 699;

constexpr std::array<std::string_view, 8> kNames = {"open", "invite", "accept", "reject",
                                                    "bye",  "hold",   "digits", "list"};

struct TextMember {
    std::string_view name;
    std::string PhoneWish::*member;
};

constexpr TextMember kTexts[] = {
    {"user", &PhoneWish::user},     {"password", &PhoneWish::password},
    {"domain", &PhoneWish::domain}, {"display", &PhoneWish::display},
    {"to", &PhoneWish::to},         {"digits", &PhoneWish::digits},
};

bool is_plain(std::string_view text) {
    return text.size() <= kMaxPhoneText && std::ranges::none_of(text, [](char each) {
               return static_cast<unsigned char>(each) < ' ' || each == '\x7f';
           });
}

bool read_text(const net::Json& value, std::string& out) {
    if (!value.is_string() || !is_plain(value.get_ref<const std::string&>())) {
        return false;
    }
    out = value.get<std::string>();
    return true;
}

bool read_codecs(const net::Json& value, std::vector<std::string>& out) {
    if (!value.is_array() || value.size() > kMaxPhoneCodecs) {
        return false;
    }
    out.clear();
    return std::ranges::all_of(
        value, [&](const net::Json& each) { return read_text(each, out.emplace_back()); });
}

bool read_status(const net::Json& value, int& out) {
    if (!value.is_number_integer()) {
        return false;
    }
    const auto status = value.get<int64_t>();
    if (status < kLeastRefusal || status > kGreatestRefusal) {
        return false;
    }
    out = static_cast<int>(status);
    return true;
}

// False: the value does not fit. Members that nobody knows are passed over: pages and servers are
// not always of one version.
bool read_member(const std::string& name, const net::Json& value, PhoneWish& out) {
    if (name == "on") {
        out.on = value.is_boolean() && value.get<bool>();
        return value.is_boolean();
    }
    if (name == "codecs") {
        return read_codecs(value, out.codecs);
    }
    if (name == "status") {
        return read_status(value, out.status);
    }
    const auto* const text = std::ranges::find(kTexts, name, &TextMember::name);
    return text == std::end(kTexts) || read_text(value, out.*text->member);
}

}  // namespace

std::string_view to_string(PhoneWish::Kind kind) {
    return kNames.at(static_cast<size_t>(kind));
}

Result<PhoneWish> read_phone_wish(std::string_view text) {
    const net::Json json = text.size() <= kMaxPhoneMessage ? net::parsed(text, kMaxDepth) : nullptr;
    if (!json.is_object()) {
        return make_error(ErrorCode::kMalformed, "a message is a JSON object of {} bytes at most",
                          kMaxPhoneMessage);
    }
    PhoneWish wish;
    const auto what = json.find("do");
    const auto* const kind =
        what != json.end() && what->is_string()
            ? std::ranges::find(kNames, std::string_view(what->get_ref<const std::string&>()))
            : kNames.end();
    if (kind == kNames.end()) {
        return make_error(
            ErrorCode::kMalformed,
            "\"do\" is one of open, invite, accept, reject, bye, hold, digits and list");
    }
    wish.kind = static_cast<Kind>(kind - kNames.begin());
    for (const auto& [name, value] : json.items()) {
        if (!read_member(name, value, wish)) {
            return make_error(ErrorCode::kMalformed,
                              "texts are of {} bytes at most and without control characters, "
                              "\"on\" is true or false, \"codecs\" a list of {} texts at most, "
                              "\"status\" a number from {} to {}",
                              kMaxPhoneText, kMaxPhoneCodecs, kLeastRefusal, kGreatestRefusal);
        }
    }
    return wish;
}

}  // namespace weir::session
