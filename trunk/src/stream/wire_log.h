// WireLog: the bytes of one stream in one wire format, written once, read by any number of cursors.
//
// A chain of reference-counted blocks. The log holds the chain from its start (where a new cursor
// begins: the latest key frame) on; a cursor holds the block it is in; a block that nobody holds is
// gone. Entries (whole messages of the format) may span blocks. Nothing here yields, locks or knows
// a socket.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <sys/uio.h>

#include "base/bytes.h"
#include "base/memory_file.h"
#include "base/object_count.h"
#include "base/ref.h"
#include "media/packet.h"

namespace weir::stream {

inline constexpr uint32_t kMinBlockBytes = 4 * 1024;
inline constexpr uint32_t kMaxBlockBytes = 64 * 1024;

// One entry's place in its block and its time on the stream's timeline.
struct LogEntry {
    uint32_t offset = 0;
    int64_t time_ms = 0;
};

class LogBlock final : public media::BodyStore {
  public:
    // `file`: its bytes lie in MemoryFile, if that can be had.
    static Ref<LogBlock> create(uint64_t start, uint32_t capacity, bool file = false);

    // One that begins at the block's end as it is now.
    void add_entry(int64_t time_ms);

    uint8_t* data() { return bytes_; }

    const uint8_t* data() const { return bytes_; }

    // Where its bytes lie in the file of MemoryFile; nothing: in the heap. Who sends from there
    // says so.
    std::optional<uint64_t> file_offset() const {
        return slot_ ? std::optional(slot_->offset) : std::nullopt;
    }

    void note_sent() { sent_ = true; }

    uint64_t start = 0;  // offset of the first byte in the log
    uint32_t size = 0;   // bytes written
    uint32_t capacity = 0;
    Ref<LogBlock> next;
    std::vector<LogEntry> entries;  // those that begin in this block, by offset

    // Live blocks of the process and the bytes that they can hold, places of entries included, for
    // /metrics and tests.
    static uint64_t live_blocks();
    static uint64_t live_bytes();

  private:
    LogBlock() = default;
    ~LogBlock() = default;

    // Frees the block and, without recursion, those behind it that nobody else holds.
    void end() override;

    uint8_t* bytes_ = nullptr;
    std::optional<MemoryFile::Slot> slot_;
    bool sent_ = false;
};

// A reader's place. Copyable; holds its block.
struct Cursor {
    Ref<LogBlock> block;
    uint32_t offset = 0;

    uint64_t position() const { return block->start + offset; }
};

// Told after each entry, and when the log lost its start. Must not yield.
class LogListener {
  public:
    virtual void on_log_change() = 0;

  protected:
    ~LogListener() = default;
};

class WireLog : private Counted<WireLog> {
  public:
    static constexpr ObjectName kObjectName{"wire_log", "wire_logs"};

    WireLog();

    void set_listener(LogListener* listener) { listener_ = listener; }

    // ---- writing: begin_entry, write (any number), end_entry ----

    // `start`: a new cursor may begin with this entry; it becomes the log's start and older blocks
    // are let go. `rides`: it may wait for the next entry that does not, which is soon (audio for
    // the next video frame).
    void begin_entry(int64_t time_ms, bool start, bool rides = false);
    void write(ByteSpan bytes);
    void end_entry();

    // The block that has the newest `size` bytes, at `bytes`; null: they are in more than one.
    Ref<LogBlock> newest(size_t size, ByteSpan& bytes) const;

    // Blocks from now on lie in MemoryFile, where that can be had and keep_out_of_file() does not
    // hold.
    void use_file() { file_ = file_allowed_; }

    // What is written goes out at once, while it is in the processor's cache: copies of that cost
    // less than the handling of pages.
    void keep_out_of_file() { file_allowed_ = false; }

    // No place to begin until the next start entry (the GOP grew past its cap, the codec
    // configuration changed).
    void forget_start();

    // ---- reading ----

    bool has_start() const { return has_start_; }

    // Changes with each new start.
    uint64_t start_number() const { return start_number_; }

    const Cursor& start() const { return start_; }

    uint64_t head() const { return tail_->start + tail_->size; }

    int64_t head_time_ms() const { return head_time_ms_; }

    // Of the newest entry: where it begins, whether it rides.
    uint64_t newest_begin() const { return newest_begin_; }

    bool newest_rides() const { return newest_rides_; }

    // Stream time from the newest entry that does not ride to the newest one, in ms.
    int64_t ms_of_riding() const { return newest_time_ms_ - carrier_time_ms_; }

    // Points `parts` at the bytes from the cursor to the head, at most `limit` of them; gives the
    // number of bytes and sets `count`. The pointers stay valid while the cursor does.
    size_t gather(const Cursor& cursor, std::span<iovec> parts, size_t limit, size_t& count) const;

    // Moves the cursor on by bytes that gather() gave.
    static void advance(Cursor& cursor, size_t bytes);

    uint64_t bytes_behind(const Cursor& cursor) const { return head() - cursor.position(); }

    // First entry boundary at or after the cursor.
    uint64_t next_boundary(const Cursor& cursor) const;

    // Stream time between the cursor and the head, in ms.
    int64_t ms_behind(const Cursor& cursor) const;

    // Log offset of the first entry from the cursor on whose time is `time_ms` or later; none: it
    // is not there yet.
    std::optional<uint64_t> first_at(const Cursor& cursor, int64_t time_ms) const;

    // Entries that begin from the cursor on and before the log offset `end`.
    uint64_t entries_until(const Cursor& cursor, uint64_t end) const;

    // Appends the bytes from the cursor to the log offset `end` to `out`.
    void copy_until(const Cursor& cursor, uint64_t end, Bytes& out) const;

  private:
    void grow();

    Cursor start_;
    LogBlock* tail_ = nullptr;  // owned by the chain that start_ holds
    LogListener* listener_ = nullptr;
    bool has_start_ = false;
    uint64_t start_number_ = 0;
    uint64_t start_position_ = 0;
    uint64_t bytes_per_start_ = 0;  // bytes between the last two starts: sizes the blocks
    int64_t head_time_ms_ = 0;
    uint64_t newest_begin_ = 0;
    int64_t newest_time_ms_ = 0;
    int64_t carrier_time_ms_ = 0;  // of the newest entry that does not ride
    bool newest_rides_ = false;
    bool file_ = false;
    bool file_allowed_ = true;
};

}  // namespace weir::stream
