// Runs a fuzz target on stored inputs, for builds without libFuzzer: `TARGET FILE|FOLDER ...`.
//
// Folders are read with everything below them, in the order of their names. Fails when a path is
// missing or a folder holds no input: a corpus that is not found must not look like a corpus that
// passes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data,
                                      size_t size);  // NOLINT(readability-identifier-naming)

namespace {

namespace fs = std::filesystem;

// False when the path is missing or a folder without files.
bool collect(const fs::path& path, std::vector<fs::path>& files) {
    std::error_code error;
    if (fs::is_regular_file(path, error)) {
        files.push_back(path);
        return true;
    }
    size_t before = files.size();
    for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end;
         entry.increment(error)) {
        if (entry->is_regular_file(error)) {
            files.push_back(entry->path());
        }
    }
    std::sort(files.begin() + static_cast<ptrdiff_t>(before), files.end());
    return !error && files.size() > before;
}

bool run(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::vector<char> input{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (!in.is_open() || in.bad()) {
        std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
        return false;
    }
    // A block of exactly its size, so that the sanitizer sees a read of one byte too many.
    auto exact = std::make_unique<uint8_t[]>(input.size());
    std::copy(input.begin(), input.end(), exact.get());
    LLVMFuzzerTestOneInput(exact.get(), input.size());
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<fs::path> files;
    bool good = argc > 1;
    if (!good) {
        std::fprintf(stderr, "usage: %s FILE|FOLDER ...\n", argv[0]);
    }
    for (int i = 1; i < argc; i++) {
        if (!collect(argv[i], files)) {
            std::fprintf(stderr, "%s: no inputs found\n", argv[i]);
            good = false;
        }
    }
    for (const fs::path& file : files) {
        good = run(file) && good;
    }
    std::printf("%zu inputs replayed\n", files.size());
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
