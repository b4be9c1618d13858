#include "diagnosis/leak_checker.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"
#include "io/deadline.h"
#include "io/socket_address.h"
#include "io/tcp.h"
#include "net/http/detached_connection.h"
#include "proto/http/response.h"

namespace weir::diagnosis {
namespace {

constexpr Millis kVisitsDeadline{3'000};     // for handlers under way, before a check
constexpr Millis kConnectionsDeadline{250};  // for other connections to the API, too
constexpr Millis kConnectionsPoll{5};        // nobody tells when they end
constexpr Millis kWriteDeadline{5'000};      // for a whole answer: the next checks wait meanwhile
constexpr Millis kLingerDeadline{1'000};
constexpr size_t kLingerBytes = 64 * 1024;

int status_of(const Error& error) {
    switch (error.code()) {
        case ErrorCode::kUnsupported: return 501;
        case ErrorCode::kBusy: return 409;
        default: return 500;
    }
}

}  // namespace

bool answer_and_close(io::TcpStream& stream,
                      int status,
                      std::string_view body,
                      const http::Fields& extra) {
    http::Fields fields = extra;
    fields.add("Content-Type", "application/json");
    fields.add("Content-Length", std::to_string(body.size()));
    fields.add("Cache-Control", "no-store");
    fields.add("Connection", "close");
    std::string bytes = http::http_response_head(status, fields);
    bytes += body;
    if (Error failed = stream.write_all(as_bytes(bytes), io::Deadline::after(kWriteDeadline))) {
        return false;  // gone, or it does not read; the answer is kept under its id
    }
    if (!stream.end_writing()) {
        return false;
    }
    std::array<uint8_t, 512> dropped{};
    const io::Deadline deadline = io::Deadline::after(kLingerDeadline);
    for (size_t count = 0; count < kLingerBytes;) {
        const Result<size_t> got = stream.read_some(dropped, deadline);
        if (!got.ok()) {
            break;
        }
        count += *got;
    }
    return true;
}

Result<std::unique_ptr<LeakChecker>> LeakChecker::start(std::unique_ptr<LeakTool> tool,
                                                        Options options) {
    WEIR_TRY_ASSIGN(std::unique_ptr<LeakStore> store, LeakStore::create());
    std::unique_ptr<LeakChecker> checker(
        new LeakChecker(std::move(tool), std::move(store), std::move(options)));
    LeakChecker* self = checker.get();
    WEIR_TRY_ASSIGN(checker->coroutine_, io::Coroutine::spawn("leak checks", io::StackSize::kLarge,
                                                              [self] { self->loop(); }));
    return checker;
}

LeakChecker::~LeakChecker() {
    for (Job& job : queue_) {
        if (job.fd >= 0) {
            close(job.fd);
        }
    }
}

void LeakChecker::stop() {
    coroutine_.interrupt();
    coroutine_.join();
}

Result<uint64_t> LeakChecker::submit(LeakCheck check) {
    if (queued_ == queue_.size()) {
        return make_error(ErrorCode::kLimit, "{} checks are waiting already; ask again later",
                          queue_.size());
    }
    Job& job = queue_[(head_ + queued_) % queue_.size()];
    job.id = ++last_id_;
    job.check = check;
    queued_++;
    changed_.notify_all();
    return job.id;
}

Error LeakChecker::attach(uint64_t id, net::DetachedConnection& connection) {
    Job* job = find_job(id);
    WEIR_CHECK(job != nullptr && job->fd < 0);
    // Of the connection only its descriptor stays: nothing of it is on the heap during the check.
    const int fd = fcntl(connection.stream->fd(), F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
        return Error::from_errno(errno, "wait for a leak check: duplicate a descriptor");
    }
    job->fd = fd;
    job->permit = std::move(connection.permit);
    connection.stream.reset();
    connection.unread = {};
    return {};
}

LeakChecker::State LeakChecker::state(uint64_t id) const {
    if (store_->find(id)) {
        return State::kDone;
    }
    for (size_t i = 0; i < queued_; i++) {
        if (queue_[(head_ + i) % queue_.size()].id == id) {
            return State::kQueued;
        }
    }
    return State::kUnknown;
}

LeakChecker::Job* LeakChecker::find_job(uint64_t id) {
    const auto found = std::ranges::find(queue_, id, &Job::id);
    return found == queue_.end() ? nullptr : &*found;
}

Error LeakChecker::wait_for_work() {
    while (queued_ == 0) {
        WEIR_TRY(changed_.wait_until(io::Deadline::forever()));  // stop() interrupts
    }
    return {};
}

// Until whoever asked is gone. Who does not read his answer is not waited for long: what he costs
// is seen in the check.
Error LeakChecker::wait_for_quiet() {
    const MonoTime begin = MonoClock::now();
    for (;;) {
        io::yield();  // ended coroutines are put away
        const MonoTime now = MonoClock::now();
        const bool visited = visits_ > 0 && now < begin + kVisitsDeadline;
        const bool connected = options_.connections() > 0 && now < begin + kConnectionsDeadline;
        if (!visited && !connected) {
            return io::interrupted() ? make_error(ErrorCode::kInterrupted, "leak checks end")
                                     : Error();
        }
        Error ended = changed_.wait_until(
            io::Deadline::at(visited ? begin + kVisitsDeadline : now + kConnectionsPoll));
        if (ended.code() == ErrorCode::kInterrupted) {
            return ended;
        }
    }
}

void LeakChecker::loop() {
    for (;;) {
        Error ended = wait_for_work();
        if (!ended) {
            ended = wait_for_quiet();
        }
        if (ended) {
            return;
        }
        check(queue_[head_]);
        Job job = std::exchange(queue_[head_], Job());
        head_ = (head_ + 1) % queue_.size();
        queued_--;
        if (job.fd >= 0) {
            answer(std::move(job));
        }
    }
}

void LeakChecker::check(const Job& job) {
    const size_t clients = options_.clients();
    const MonoTime begin = MonoClock::now();
    Result<RawLeaks> raw = tool_->run(job.check);
    const double seconds = static_cast<double>((MonoClock::now() - begin).count()) / 1e6;
    if (!raw.ok()) {
        log::warn("leak check failed check={} tool={}: {}", to_string(job.check), tool_->name(),
                  raw.error().message());
        const std::string_view message = raw.error().message();
        store_->put(job.id, status_of(raw.error()), message.substr(0, kMaxLeakAnswer));
        return;
    }
    LeakReport report =
        judge_.judge(std::move(*raw), job.check, clients,
                     [this](std::vector<LeakRecord>& records) { tool_->name_stacks(records); });
    report.tool = tool_->name();
    report.seconds = seconds;
    log::write(report.verdict == LeakVerdict::kClean ? log::Level::kInfo : log::Level::kWarn,
               "leak check check={} tool={} verdict={} seconds={:.3f}: {}",
               fmt::make_format_args(to_string(report.check), report.tool,
                                     to_string(report.verdict), report.seconds, report.reason));
    store_->put(job.id, 200, leak_report_json(report, kMaxLeakAnswer));
}

void LeakChecker::answer(Job job) {
    Result<std::unique_ptr<io::TcpStream>> stream =
        io::TcpStream::adopt(job.fd, io::SocketAddress());
    const std::optional<LeakStore::AnswerView> kept = store_->find(job.id);
    if (stream.ok() && kept &&
        answer_and_close(**stream, kept->status,
                         options_.render(job.id, kept->status, kept->text))) {
        store_->mark_read(job.id);
    }
}

}  // namespace weir::diagnosis
