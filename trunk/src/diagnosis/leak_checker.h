// Runs leak checks one after the other, in a coroutine made at start-up, and keeps the last
// answers.
//
// A check sees nothing of the request that asked for it: the caller that waits is one descriptor
// here while the check runs (its HTTP connection is gone), the queue and the answers have their
// place from the start, and a check begins only when no handler of the leak API is under way (and,
// if that comes soon, when no connection to the API is open at all: somebody may ask for answers).
//
// Lifetime: start(), stop(), destroy. Media thread only.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>

#include "diagnosis/leak_judge.h"
#include "diagnosis/leak_store.h"
#include "diagnosis/leak_tool.h"
#include "io/coroutine.h"
#include "io/signal.h"
#include "net/http/detached_connection.h"
#include "net/http/exchange.h"
#include "proto/http/fields.h"

namespace weir::io {
class TcpStream;
}

namespace weir::diagnosis {

inline constexpr size_t kMaxQueuedChecks = 16;

class LeakChecker {
  public:
    struct Options {
        // Publishers and players that are connected.
        std::function<size_t()> clients = [] { return size_t{0}; };
        // Connections to the API that are open: a check waits a moment for there to be none.
        std::function<size_t()> connections = [] { return size_t{0}; };
        // The body of the HTTP answer: `status` 200 with the JSON of the data, else with a
        // sentence.
        std::function<std::string(uint64_t id, int status, std::string_view text)> render;
    };

    enum class State : uint8_t { kUnknown, kQueued, kDone };

    // A handler of the leak API is under way while this lives.
    class Visit {
      public:
        explicit Visit(LeakChecker& checker) : checker_(checker) { checker_.visits_++; }

        ~Visit() {
            checker_.visits_--;
            checker_.changed_.notify_all();
        }

        Visit(const Visit&) = delete;
        Visit& operator=(const Visit&) = delete;

      private:
        LeakChecker& checker_;
    };

    // kSystem when there is no stack or memory.
    static Result<std::unique_ptr<LeakChecker>> start(std::unique_ptr<LeakTool> tool,
                                                      Options options);
    ~LeakChecker();  // stop() must have been called
    LeakChecker(const LeakChecker&) = delete;
    LeakChecker& operator=(const LeakChecker&) = delete;

    // Yields. Interrupts and joins the coroutine; who waits for an answer is closed.
    void stop();

    const LeakTool& tool() const { return *tool_; }

    // Puts a check at the end of the queue and gives its id; kLimit when kMaxQueuedChecks wait.
    // `check` must be one of the tool's.
    Result<uint64_t> submit(LeakCheck check);

    // The connection that waits for the check `id`, which must be queued. Right after submit().
    // kSystem when the process has no descriptor left: then the connection is still the caller's,
    // and the check goes on without it.
    Error attach(uint64_t id, net::DetachedConnection& connection);

    State state(uint64_t id) const;

    // nullopt unless done and still kept.
    std::optional<LeakStore::AnswerView> find(uint64_t id) const { return store_->find(id); }

    // Somebody has read that answer: see LeakStore.
    void mark_read(uint64_t id) { store_->mark_read(id); }

  private:
    struct Job {
        uint64_t id = 0;
        LeakCheck check = LeakCheck::kFull;
        int fd = -1;  // of the caller that waits
        net::ConnectionPermit permit;
    };

    LeakChecker(std::unique_ptr<LeakTool> tool, std::unique_ptr<LeakStore> store, Options options)
        : tool_(std::move(tool)), store_(std::move(store)), options_(std::move(options)) {}

    void loop();
    Error wait_for_work();
    Error wait_for_quiet();
    void check(const Job& job);
    void answer(Job job);
    Job* find_job(uint64_t id);

    std::unique_ptr<LeakTool> tool_;
    std::unique_ptr<LeakStore> store_;
    Options options_;
    LeakJudge judge_;
    io::Signal changed_;
    io::Coroutine coroutine_;
    std::array<Job, kMaxQueuedChecks> queue_;  // from head_ on, a ring
    size_t head_ = 0;
    size_t queued_ = 0;
    size_t visits_ = 0;
    uint64_t last_id_ = 0;
};

// Yields. Writes a whole answer (head, then `body`, which is JSON) to a connection that was
// detached, ends our direction, and waits a moment for the peer's end, so that it reads all of it.
// At most 5 s for the answer and 1 s for the end. False when the peer did not take all of it, or
// when the caller was interrupted; nothing is logged.
bool answer_and_close(io::TcpStream& stream,
                      int status,
                      std::string_view body,
                      const http::Fields& extra = {});

}  // namespace weir::diagnosis
