#include "bench/load/player.h"

namespace weir::load {

void Player::fail(const std::string& why) {
    std::string reason = why;  // it may belong to what is destroyed here
    close();
    listener_.player_broke(*this, reason);
}

void Player::note_media() {
    if (!has_media_ && check_.has_media()) {
        has_media_ = true;
        listener_.player_got_media();
    }
}

}  // namespace weir::load
