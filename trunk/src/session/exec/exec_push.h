// Runs a program beside each stream: `exec_push ffmpeg -i rtmp://127.0.0.1/$app/$name ...`. It is a
// forward of another kind: begun by the publisher, ended with it, begun again with a growing pause
// when it ends by itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "io/process.h"
#include "io/worker_pool.h"
#include "net/source/source_run.h"

namespace weir::session {

class ExecPush final : public net::SourceProtocol {
  public:
    static constexpr size_t kMaxPrograms = 256;  // of all streams
    // A program that stays for so long is taken as one that works.
    static constexpr Seconds kSettled{5};
    // After SIGTERM, of a stream, and when the server stops; then SIGKILL.
    static constexpr Millis kFarewell{5'000};
    static constexpr Millis kHurriedFarewell{300};
    static constexpr size_t kLinesPerSecond = 10;  // of its output, in the log

    // Programs are started by `workers`, as that may block on disk. It must outlive this.
    void use(io::WorkerPool& workers) { workers_ = &workers; }

    // kFull: there are too many programs; kNotFound, kSystem: it cannot be started; kClosed: it has
    // ended, with its last line.
    Error run(net::SourceRun& run) override;

    void hurry() override { hurried_ = true; }

    // Programs that run.
    size_t running() const { return running_; }

  private:
    void end(io::Process& process) const;

    io::WorkerPool* workers_ = nullptr;
    size_t running_ = 0;
    bool hurried_ = false;
};

// What a program sees of the server's environment: "NAME=VALUE" of PATH, HOME and the like, nothing
// that could hold a secret.
std::vector<std::string> environment_of_programs();

// A line of a program's output as the log may show it. Programs repeat what they were started with,
// and that holds stream keys and passwords: each of its `words` from the second on, 8 bytes or more
// and no option, is "(argument N)", and what is secret in them (secrets_of_argument()) is "***"
// wherever it stands. `stream`: the name of the stream, which is none.
std::string without_arguments(std::string_view line,
                              const std::vector<std::string>& words,
                              std::string_view stream);

}  // namespace weir::session
