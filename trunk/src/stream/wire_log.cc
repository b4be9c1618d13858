#include "stream/wire_log.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/check.h"

namespace weir::stream {
namespace {

// NOLINTNEXTLINE: the stats registry, filled before main()
// Bytes of a wire log, with what it can hold.
ObjectClass g_blocks({"log_block", "wire_logs"});

// A cursor at the end of a full block stands at the begin of the next.
void step_over_ends(Cursor& cursor) {
    while (cursor.offset == cursor.block->size && cursor.block->next) {
        Ref<LogBlock> next = cursor.block->next;
        cursor.block = std::move(next);
        cursor.offset = 0;
    }
}

}  // namespace

Ref<LogBlock> LogBlock::create(uint64_t start, uint32_t capacity, bool file) {
    WEIR_CHECK(!file || capacity <= MemoryFile::kSlotBytes);
    const auto slot = file ? MemoryFile::instance().take() : std::nullopt;
    void* memory = std::malloc(sizeof(LogBlock) + (slot ? 0 : capacity));
    WEIR_CHECK(memory != nullptr);
    auto* block = new (memory) LogBlock;
    block->bytes_ = slot ? slot->data : reinterpret_cast<uint8_t*>(block + 1);
    block->slot_ = slot;
    block->start = start;
    block->capacity = capacity;
    g_blocks.made(sizeof(LogBlock) + capacity);
    return Ref<LogBlock>(block);
}

void LogBlock::end() {
    Ref<LogBlock> behind_it = std::move(next);
    g_blocks.ended(sizeof(LogBlock) + capacity + entries.capacity() * sizeof(LogEntry));
    if (slot_) {
        MemoryFile::instance().give_back(*slot_, sent_);
    }
    this->~LogBlock();
    std::free(this);
    // A block is cut from its chain before its last handle goes: no recursion, however long the
    // chain.
    while (behind_it && behind_it->ref_count() == 1) {
        Ref<LogBlock> next_one = std::move(behind_it->next);
        behind_it = std::move(next_one);
    }
}

void LogBlock::add_entry(int64_t time_ms) {
    const size_t before = entries.capacity();
    entries.push_back({size, time_ms});
    if (entries.capacity() != before) {
        g_blocks.add_bytes((entries.capacity() - before) * sizeof(LogEntry));
    }
}

uint64_t LogBlock::live_blocks() {
    return g_blocks.live();
}

uint64_t LogBlock::live_bytes() {
    return g_blocks.bytes() - g_blocks.live() * sizeof(LogBlock);
}

WireLog::WireLog() {
    start_.block = LogBlock::create(0, kMinBlockBytes);
    tail_ = start_.block.get();
}

void WireLog::grow() {
    uint64_t wanted = kMinBlockBytes;
    const uint64_t span = std::max(bytes_per_start_, head() - start_position_);
    while (wanted < kMaxBlockBytes && wanted < span / 8) {
        wanted *= 2;
    }
    wanted = file_ ? kMaxBlockBytes : wanted;  // what is sent in one piece must lie in one block
    tail_->next = LogBlock::create(head(), static_cast<uint32_t>(wanted), file_);
    tail_ = tail_->next.get();
}

void WireLog::begin_entry(int64_t time_ms, bool start, bool rides) {
    if (tail_->size == tail_->capacity) {
        grow();
    }
    if (start) {
        bytes_per_start_ = head() - start_position_;
        start_position_ = head();
        start_ = Cursor{Ref<LogBlock>(tail_), tail_->size};
        has_start_ = true;
        start_number_++;
    } else if (!has_start_) {
        start_ = Cursor{Ref<LogBlock>(tail_), tail_->size};
    }
    newest_begin_ = head();
    newest_time_ms_ = time_ms;
    newest_rides_ = rides;
    carrier_time_ms_ = rides ? carrier_time_ms_ : time_ms;
    tail_->add_entry(time_ms);
    head_time_ms_ = std::max(head_time_ms_, time_ms);
}

void WireLog::write(ByteSpan bytes) {
    while (!bytes.empty()) {
        if (tail_->size == tail_->capacity) {
            grow();
        }
        const size_t part = std::min<size_t>(bytes.size(), tail_->capacity - tail_->size);
        std::memcpy(tail_->data() + tail_->size, bytes.data(), part);
        tail_->size += static_cast<uint32_t>(part);
        bytes = bytes.subspan(part);
    }
}

void WireLog::end_entry() {
    if (listener_) {
        listener_->on_log_change();
    }
}

Ref<LogBlock> WireLog::newest(size_t size, ByteSpan& bytes) const {
    if (size > tail_->size) {
        return nullptr;
    }
    bytes = ByteSpan(tail_->data() + tail_->size - size, size);
    return Ref<LogBlock>(tail_);
}

void WireLog::forget_start() {
    has_start_ = false;
    start_ = Cursor{Ref<LogBlock>(tail_), tail_->size};
    if (listener_) {
        listener_->on_log_change();
    }
}

size_t WireLog::gather(const Cursor& cursor,
                       std::span<iovec> parts,
                       size_t limit,
                       size_t& count) const {
    const LogBlock* block = cursor.block.get();
    uint32_t offset = cursor.offset;
    size_t total = 0;
    count = 0;
    while (block && total < limit) {
        const size_t part = std::min<size_t>(block->size - offset, limit - total);
        if (part > 0) {
            if (count == parts.size()) {
                break;
            }
            parts[count++] = {const_cast<uint8_t*>(block->data()) + offset, part};
            total += part;
        }
        block = block->next.get();
        offset = 0;
    }
    return total;
}

void WireLog::advance(Cursor& cursor, size_t bytes) {
    while (bytes > 0) {
        const size_t part = std::min<size_t>(bytes, cursor.block->size - cursor.offset);
        cursor.offset += static_cast<uint32_t>(part);
        bytes -= part;
        if (bytes > 0) {
            step_over_ends(cursor);
        }
    }
    step_over_ends(cursor);
}

uint64_t WireLog::next_boundary(const Cursor& cursor) const {
    uint32_t offset = cursor.offset;
    for (const LogBlock* block = cursor.block.get(); block; block = block->next.get()) {
        auto at = std::lower_bound(
            block->entries.begin(), block->entries.end(), offset,
            [](const LogEntry& entry, uint32_t wanted) { return entry.offset < wanted; });
        if (at != block->entries.end()) {
            return block->start + at->offset;
        }
        offset = 0;
    }
    return head();
}

int64_t WireLog::ms_behind(const Cursor& cursor) const {
    uint32_t offset = cursor.offset;
    for (const LogBlock* block = cursor.block.get(); block; block = block->next.get()) {
        auto at = std::lower_bound(
            block->entries.begin(), block->entries.end(), offset,
            [](const LogEntry& entry, uint32_t wanted) { return entry.offset < wanted; });
        if (at != block->entries.end()) {
            return std::max<int64_t>(0, head_time_ms_ - at->time_ms);
        }
        offset = 0;
    }
    return 0;
}

std::optional<uint64_t> WireLog::first_at(const Cursor& cursor, int64_t time_ms) const {
    if (head_time_ms_ < time_ms) {
        return std::nullopt;
    }
    uint32_t offset = cursor.offset;
    for (const LogBlock* block = cursor.block.get(); block; block = block->next.get()) {
        for (const LogEntry& entry : block->entries) {
            if (entry.offset >= offset && entry.time_ms >= time_ms) {
                return block->start + entry.offset;
            }
        }
        offset = 0;
    }
    return std::nullopt;
}

uint64_t WireLog::entries_until(const Cursor& cursor, uint64_t end) const {
    uint64_t count = 0;
    uint64_t from = cursor.position();
    const auto before = [](const LogBlock& block, uint64_t position) {
        const auto at = std::lower_bound(
            block.entries.begin(), block.entries.end(), position - std::min(position, block.start),
            [](const LogEntry& entry, uint64_t wanted) { return entry.offset < wanted; });
        return static_cast<uint64_t>(at - block.entries.begin());
    };
    for (const LogBlock* block = cursor.block.get(); block && block->start < end;
         block = block->next.get()) {
        count += before(*block, end) - before(*block, from);
        from = 0;
    }
    return count;
}

void WireLog::copy_until(const Cursor& cursor, uint64_t end, Bytes& out) const {
    uint64_t left = end - cursor.position();
    uint32_t offset = cursor.offset;
    for (const LogBlock* block = cursor.block.get(); block && left > 0; block = block->next.get()) {
        const size_t part = static_cast<size_t>(std::min<uint64_t>(left, block->size - offset));
        out.insert(out.end(), block->data() + offset, block->data() + offset + part);
        left -= part;
        offset = 0;
    }
}

}  // namespace weir::stream
