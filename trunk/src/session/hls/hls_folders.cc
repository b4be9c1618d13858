#include "session/hls/hls_folders.h"

#include <cerrno>
#include <utility>

#include <sys/stat.h>

#include "base/log.h"
#include "io/deadline.h"
#include "io/folder_files.h"
#include "net/http/file_answer.h"
#include "proto/http/fields.h"

namespace weir::session {

HlsFolders::HlsFolders(HlsFolder::OnStored on_stored,
                       MakeDisk make_disk,
                       io::MakeWorkers make_workers)
    : on_stored_(std::move(on_stored)),
      make_disk_(std::move(make_disk)),
      make_workers_(std::move(make_workers)) {
    if (!make_disk_) {
        make_disk_ = [](const std::string& path) { return std::make_unique<HlsDiskFolder>(path); };
    }
}

HlsFolder* HlsFolders::use(const std::string& path) {
    const auto found = folders_.find(path);
    if (found != folders_.end()) {
        return found->second.get();
    }
    if (folders_.size() >= kMaxFolders) {
        log::error("hls: {} folders are in use already; {} needs a restart", kMaxFolders,
                   log::token(path));
        return nullptr;
    }
    auto made = HlsFolder::create(path, make_disk_(path), stats_, on_stored_, make_workers_);
    if (!made.ok()) {
        log::error("hls: no thread to write into {}: {}", log::token(path), made.error().message());
        return nullptr;
    }
    return (folders_[path] = std::move(*made)).get();
}

void HlsFolders::tick() {
    for (const auto& [path, folder] : folders_) {
        folder->tick();
    }
}

void HlsFolders::stop(io::Deadline deadline) {
    for (const auto& [path, folder] : folders_) {
        if (const Error error = folder->stop(deadline)) {
            log::warn("hls: {}", error.message());
        }
    }
}

// Yields. Nothing but a name is known of the file: it may go at any time.
uint64_t HlsFolders::answer(net::HttpExchange& exchange,
                            const std::string& root,
                            const std::string& file,
                            std::string_view content_type,
                            std::string_view cache) {
    const auto refuse = [&exchange](int status, std::string_view why) {
        http::Fields fields = {{"Cache-Control", "no-store"}};
        if (status == 503) {
            fields.add("Retry-After", "1");
        }
        (void)exchange.respond_error(status, why, fields);
        return uint64_t{0};
    };
    if (!readers_) {
        auto made = make_workers_(kReaders, kMaxReads);
        if (!made.ok()) {
            return refuse(503, made.error().message());
        }
        readers_ = std::move(*made);
    }
    io::OwnFd fd;

    struct stat facts {};

    Error failed;
    Error busy = readers_->run([&] {
        auto opened = io::open_below(root, file);
        if (!opened.ok()) {
            failed = opened.take_error();
        } else if (::fstat(opened->get(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
            failed = Error::from_errno(errno, file);
        } else {
            fd = std::move(*opened);
        }
    });
    if (busy) {
        return refuse(503, "the disk is busy, try again later");
    }
    if (failed) {
        return failed.code() == ErrorCode::kNotFound
                   ? refuse(404, "this segment is not there any more")
                   : refuse(503, "this segment cannot be read");
    }
    stats_.reads++;
    uint64_t sent = 0;
    (void)net::answer_file(exchange, *readers_, fd.get(), facts, content_type, cache, &sent);
    return sent;
}

}  // namespace weir::session
