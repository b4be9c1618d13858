// LineRing: a bounded queue of text lines between one producer and one consumer, without a lock.
//
// Bytes are copied in and out of one block of memory; nothing is allocated after the constructor. A
// line that does not fit is refused: what then is dropped and counted is the producer's policy
// (io/log_writer.h). Producer and consumer may be on different threads; each side is for one thread
// at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace weir {

class LineRing {
  public:
    // Longer lines are cut by push().
    static constexpr size_t kMaxLine = 32 * 1024;

    // `capacity` in bytes: a power of two, at least twice kMaxLine.
    explicit LineRing(size_t capacity)
        : capacity_(capacity), bytes_(std::make_unique_for_overwrite<char[]>(capacity)) {}

    size_t capacity() const { return capacity_; }

    // Bytes in use, headers included. Any thread; exact for the producer and the consumer of a
    // quiet ring.
    size_t used() const {
        const uint64_t tail = tail_.load();
        return static_cast<size_t>(head_.load() - tail);
    }

    bool empty() const { return head_.load() == tail_.load(); }

    // Producer. `tag` comes out with the line. False when fewer than `reserve` bytes would stay
    // free.
    bool push(uint8_t tag, std::string_view line, size_t reserve = 0) {
        line = line.substr(0, kMaxLine);
        const uint64_t head = head_.load(std::memory_order_relaxed);
        const uint64_t tail = tail_.load();
        const size_t free = capacity_ - static_cast<size_t>(head - tail);
        if (kHeader + line.size() + reserve > free) {
            return false;
        }
        if (head == tail) {
            base_ = head;  // the consumer looks at it only after the new head
        }
        const uint32_t header = static_cast<uint32_t>(line.size()) << 8 | tag;
        put(head, reinterpret_cast<const char*>(&header), kHeader);
        put(head + kHeader, line.data(), line.size());
        head_.store(head + kHeader + line.size());
        return true;
    }

    // Consumer. Replaces `line` with the oldest one; false when there is none.
    bool pop(uint8_t& tag, std::string& line) {
        const uint64_t tail = tail_.load(std::memory_order_relaxed);
        if (head_.load() == tail) {
            return false;
        }
        uint32_t header = 0;
        get(tail, reinterpret_cast<char*>(&header), kHeader);
        tag = static_cast<uint8_t>(header);
        line.resize(header >> 8);
        get(tail + kHeader, line.data(), line.size());
        tail_.store(tail + kHeader + line.size());
        return true;
    }

  private:
    static constexpr size_t kHeader = sizeof(uint32_t);

    void put(uint64_t position, const char* data, size_t size) {
        const size_t at = static_cast<size_t>(position - base_) & (capacity_ - 1);
        const size_t first = size < capacity_ - at ? size : capacity_ - at;
        std::memcpy(bytes_.get() + at, data, first);
        std::memcpy(bytes_.get(), data + first, size - first);
    }

    void get(uint64_t position, char* data, size_t size) const {
        const size_t at = static_cast<size_t>(position - base_) & (capacity_ - 1);
        const size_t first = size < capacity_ - at ? size : capacity_ - at;
        std::memcpy(data, bytes_.get() + at, first);
        std::memcpy(data + first, bytes_.get(), size - first);
    }

    const size_t capacity_;
    std::unique_ptr<char[]> bytes_;
    // The position that lies at the first byte: an empty ring begins there again, so that a queue
    // that is never long keeps to a few pages of its memory.
    uint64_t base_ = 0;
    std::atomic<uint64_t> head_{0};  // written by the producer
    std::atomic<uint64_t> tail_{0};  // written by the consumer
};

}  // namespace weir
