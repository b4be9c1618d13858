// Bytes of a file at any place, for the readers of media files. Small files are held in memory,
// large ones are read where they are asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/error.h"

namespace weir::load {

class ByteSource {
  public:
    virtual ~ByteSource() = default;
    ByteSource() = default;
    ByteSource(const ByteSource&) = delete;
    ByteSource& operator=(const ByteSource&) = delete;

    virtual uint64_t size() const = 0;

    // Fills `out` from `offset` on. kMalformed when the source ends before; kSystem.
    virtual Error read(uint64_t offset, std::span<uint8_t> out) const = 0;
};

class MemorySource final : public ByteSource {
  public:
    explicit MemorySource(Bytes bytes) : bytes_(std::move(bytes)) {}

    uint64_t size() const override { return bytes_.size(); }

    Error read(uint64_t offset, std::span<uint8_t> out) const override;

  private:
    Bytes bytes_;
};

// Files up to this size are read into memory when they are opened.
constexpr uint64_t kMaxFileInMemory = 32U << 20;

// Blocks for the disk. kNotFound or kSystem with the path; kMalformed for what is no regular file.
Result<std::unique_ptr<ByteSource>> open_source(const std::string& path,
                                                uint64_t max_in_memory = kMaxFileInMemory);

}  // namespace weir::load
