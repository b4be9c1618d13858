// LogWriter: writes the log on a thread of its own, to stderr or a file. The sink of base/log.h
// while it lives; one per process.
//
// A line costs its sender a copy into a bounded queue (LineRing), whatever the disk or the reader
// of stderr does. What does not fit is dropped and counted: from seven eighths on only warnings and
// errors are taken, and after a drop the others wait until half of the queue is free; then one line
// says how many were lost. A write that fails (full disk, EIO) is tried again every second with the
// same bytes, so that nothing of what was taken is lost or torn; the condition is told once on
// stderr, once in the log when it is over, and in stats().
//
// Lifetime: start(), then any thread may log; stop() or the destructor flushes for a bounded time
// and leaves a thread behind that is stuck in a write.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/error.h"

namespace weir::io {

struct LogTarget {
    std::string path;   // empty: stderr
    bool json = false;  // a line is one JSON object (base/log_json.h)

    bool operator==(const LogTarget&) const = default;
};

struct LogStats {
    std::array<uint64_t, 4> lines{};  // taken, by log::Level
    uint64_t dropped = 0;             // lines that did not fit the queue
    uint64_t written_bytes = 0;
    uint64_t write_errors = 0;  // conditions, not tries
    uint64_t queued_bytes = 0;
    uint64_t queue_limit = 0;
    std::string failing;  // why nothing can be written at present; empty: it can
};

class LogWriter {
  public:
    static constexpr size_t kQueueBytes = 1 << 20;
    static constexpr Millis kRetry{1'000};
    static constexpr Millis kFlushAtEnd{150};  // of the second that SIGTERM may take

    // Opens the file (created with mode 0640 less the umask, appended to; a FIFO is opened even
    // without a reader) and becomes the sink. The error names the file and what to do.
    static Result<std::unique_ptr<LogWriter>> start(LogTarget target);
    ~LogWriter();
    LogWriter(const LogWriter&) = delete;
    LogWriter& operator=(const LogWriter&) = delete;

    // Whether start() or retarget() could open it. Blocks on disk: for a worker, or before serving.
    static Error check(const std::string& path);

    // Later lines go elsewhere or look otherwise. The file is opened by the thread; when that
    // fails, the old target stays and a line says so.
    void retarget(LogTarget target);

    // After logrotate has renamed the file: closes it and opens the path again. No line is lost;
    // each is whole in one of the two files.
    void reopen();

    // Blocks the caller until all lines so far are written, or `most` has passed, or nothing can be
    // written. True when they are.
    bool flush(Millis most);

    // Gives the log back to stderr, then ends the thread. Idempotent.
    void stop();

    LogStats stats() const;

    // The figures of the writer that exists; zeros when there is none.
    static LogStats living_stats();

    // ---- for a signal handler (async-signal-safe) ----

    // Where the log goes; -1 when no writer lives.
    struct CrashTarget {
        int fd = -1;
        bool json = false;
    };

    static CrashTarget crash_target();

    // flush() of the living writer, if there is one and the caller is not its thread.
    static void drain_for_crash(Millis most);

    // At most 4096 bytes to a descriptor that may be a full pipe: waits at most `most` for room.
    static void write_bounded(int fd, const char* data, size_t size, Millis most);

  private:
    struct State;
    explicit LogWriter(std::shared_ptr<State> state);
    std::shared_ptr<State> state_;  // shared with the thread, which may outlive this
};

}  // namespace weir::io
