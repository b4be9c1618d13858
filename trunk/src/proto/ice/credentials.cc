#include "proto/ice/credentials.h"

#include <algorithm>

#include "base/strings.h"

namespace weir::ice {

namespace {

constexpr std::string_view kIceCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static_assert(kIceCharacters.size() == 64);  // six bits of randomness each, none favoured

constexpr size_t kMaxCharacters = 256;
constexpr size_t kMinUfragCharacters = 4;
constexpr size_t kMinPasswordCharacters = 22;

void fill(std::span<char> text, RandomSource& random) {
    std::array<uint8_t, kPasswordCharacters> bytes{};
    std::span<uint8_t> used = std::span(bytes).first(text.size());
    random.fill(used);
    std::transform(used.begin(), used.end(), text.begin(),
                   [](uint8_t byte) { return kIceCharacters[byte & 63U]; });
}

bool are_ice_characters(std::string_view text, size_t min) {
    return text.size() >= min && text.size() <= kMaxCharacters &&
           text.find_first_not_of(kIceCharacters) == std::string_view::npos;
}

}  // namespace

Credentials Credentials::make(RandomSource& random, std::optional<uint8_t> mark) {
    Credentials credentials;
    fill(credentials.ufrag, random);
    if (mark) {
        credentials.ufrag[0] = kIceCharacters[*mark & kMaxMark];
    }
    fill(credentials.password, random);
    return credentials;
}

std::optional<uint8_t> ufrag_mark(std::string_view ufrag) {
    const size_t at =
        ufrag.size() == kUfragCharacters ? kIceCharacters.find(ufrag[0]) : std::string_view::npos;
    return at == std::string_view::npos ? std::nullopt : std::optional(static_cast<uint8_t>(at));
}

UsernameView split_username(std::string_view username) {
    Halves halves = split_once(username, ':');
    return halves.found && !halves.before.empty() ? UsernameView{halves.before, halves.after}
                                                  : UsernameView();
}

bool is_valid_ufrag(std::string_view text) {
    return are_ice_characters(text, kMinUfragCharacters);
}

bool is_valid_password(std::string_view text) {
    return are_ice_characters(text, kMinPasswordCharacters);
}

}  // namespace weir::ice
