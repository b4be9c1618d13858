#include "proto/redis/command.h"

#include <hiredis/hiredis.h>

#include "base/check.h"

namespace weir::redis {

void write_command(const Command& command, std::string& out) {
    std::vector<const char*> words;
    std::vector<size_t> sizes;
    for (const std::string& word : command) {
        words.push_back(word.data());
        sizes.push_back(word.size());
    }
    char* text = nullptr;
    const int size =
        redisFormatCommandArgv(&text, static_cast<int>(words.size()), words.data(), sizes.data());
    WEIR_CHECK(size > 0);
    out.append(text, static_cast<size_t>(size));
    redisFreeCommand(text);
}

}  // namespace weir::redis
