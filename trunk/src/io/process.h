// Process: a program beside the server, as its child. Its output comes line by line, its end wakes
// whoever waits; neither needs a thread or a signal handler (pidfd_open(2)).
//
// No shell is between: the words are the program's arguments as they are. It has an empty standard
// input, none of the server's descriptors, its own process group, no blocked signals, and the
// environment that it is given.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/object_count.h"
#include "io/reactor.h"
#include "io/signal.h"
#include "io/worker_pool.h"

namespace weir::io {

class Deadline;

struct ProcessOptions {
    std::vector<std::string> words;        // the program, by path or found in PATH, then arguments
    std::vector<std::string> environment;  // "NAME=VALUE"
    // Gets each line of standard output and error, without its end, at most kMaxLine bytes of it.
    // Must not yield, nor destroy the process.
    std::function<void(std::string_view)> on_line = {};
};

class Process final : private Counted<Process> {
  public:
    static constexpr ObjectName kObjectName{"process", "io"};
    static constexpr size_t kMaxLine = 1024;

    // Yields. Until a worker has loaded the program, which may wait for the disk. kNotFound: there
    // is no such program; kLimit: the workers have too much to do; kSystem.
    static Result<std::unique_ptr<Process>> start(ProcessOptions options, WorkerPool& workers);

    // Kills the process group if it still runs, and waits for the end, which is immediate.
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    pid_t pid() const { return pid_; }

    bool running() const { return !ended_; }

    // Yields. Until it has ended. kTimeout, kInterrupted.
    Error wait(Deadline deadline);

    // Yields. The same for a coroutine that was asked to stop. kTimeout.
    Error wait_even_interrupted(Deadline deadline);

    // To the whole group; nothing when it has ended: what it had started, and is of its group, was
    // killed then.
    void send_signal(int number);

    // Of one that has ended: "exited with 1", "was ended by signal 9".
    std::string describe_end() const;

    // It ended by itself, with 0.
    bool succeeded() const;

  private:
    // The descriptor of one of its sides in the reactor.
    class Watch final : public EventHandler {
      public:
        Watch(int fd, std::function<void()> act) : fd_(fd), act_(std::move(act)) {}

        ~Watch();
        Watch(const Watch&) = delete;
        Watch& operator=(const Watch&) = delete;

        Error begin();

        int fd() const { return fd_; }

      private:
        void on_ready(uint8_t) override { act_(); }

        int fd_;
        std::function<void()> act_;
        Registration registration_;
    };

    Process(pid_t pid, ProcessOptions options) : pid_(pid), options_(std::move(options)) {}

    void read_output();
    void take_output(ByteSpan bytes);
    void take_end();

    pid_t pid_;
    ProcessOptions options_;
    std::unique_ptr<Watch> end_;
    std::unique_ptr<Watch> output_;
    std::string line_;
    bool ended_ = false;
    int status_ = 0;
    Signal changed_;
};

}  // namespace weir::io
