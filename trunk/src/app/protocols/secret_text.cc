#include "app/protocols/secret_text.h"

#include <cstdio>

#include "base/file.h"
#include "base/strings.h"

namespace weir::app {
namespace {

constexpr size_t kMaxFile = 4096;

}  // namespace

Result<std::string> read_secret(const config::SecretSource& source) {
    if (!source.is_file) {
        return source.text;
    }
    WEIR_TRY_ASSIGN(FilePointer file, open_regular_file(source.text));
    std::string text(kMaxFile, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file.get()));
    return std::string(trim(split_once(text, '\n').before));
}

}  // namespace weir::app
