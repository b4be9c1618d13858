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

Credentials Credentials::make(RandomSource& random) {
    Credentials credentials;
    fill(credentials.ufrag, random);
    fill(credentials.password, random);
    return credentials;
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
