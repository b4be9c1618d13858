#include "bench/load/core/byte_source.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weir::load {
namespace {

Error past_the_end(uint64_t offset, size_t size, uint64_t whole) {
    return make_error(ErrorCode::kMalformed, "{} bytes at byte {} expected, the file has {}", size,
                      offset, whole);
}

class OpenFile final : public ByteSource {
  public:
    OpenFile(int descriptor, uint64_t size) : descriptor_(descriptor), size_(size) {}

    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;

    ~OpenFile() override { ::close(descriptor_); }

    uint64_t size() const override { return size_; }

    Error read(uint64_t offset, std::span<uint8_t> out) const override {
        if (offset > size_ || out.size() > size_ - offset) {
            return past_the_end(offset, out.size(), size_);
        }
        while (!out.empty()) {
            ssize_t got = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
            if (got < 0 && errno == EINTR) {
                continue;
            }
            if (got < 0) {
                return Error::from_errno(errno, "reading");
            }
            if (got == 0) {  // somebody made it shorter
                return past_the_end(offset, out.size(), offset);
            }
            offset += static_cast<uint64_t>(got);
            out = out.subspan(static_cast<size_t>(got));
        }
        return {};
    }

  private:
    int descriptor_;
    uint64_t size_;
};

}  // namespace

Error MemorySource::read(uint64_t offset, std::span<uint8_t> out) const {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset) {
        return past_the_end(offset, out.size(), bytes_.size());
    }
    std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
    return {};
}

Result<std::unique_ptr<ByteSource>> open_source(const std::string& path, uint64_t max_in_memory) {
    int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        return Error::from_errno(errno, fmt::format("opening '{}'", path));
    }

    struct stat status {};

    if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        ::close(descriptor);
        return make_error(ErrorCode::kMalformed, "'{}' is no regular file", path);
    }
    auto size = static_cast<uint64_t>(status.st_size);
    auto file = std::make_unique<OpenFile>(descriptor, size);
    if (size > max_in_memory) {
        return std::unique_ptr<ByteSource>(std::move(file));
    }
    Bytes bytes(size);
    WEIR_TRY(file->read(0, bytes));
    return std::unique_ptr<ByteSource>(std::make_unique<MemorySource>(std::move(bytes)));
}

}  // namespace weir::load
