#include "session/record/record_folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/clock.h"
#include "io/folder_files.h"
#include "session/record/record_scan.h"

namespace weir::session {
namespace {

using io::is_missing;
using io::leaf_of;
using io::write_all;

constexpr mode_t kFileMode = 0640;
constexpr mode_t kFolderMode = 0750;

// A file that cannot be cut is found out by its next scan.
void cut_at(int fd, uint64_t size) {
    (void)!::ftruncate(fd, static_cast<off_t>(size));
}

uint64_t size_of(int fd) {
    struct stat facts {};

    return ::fstat(fd, &facts) == 0 ? static_cast<uint64_t>(facts.st_size) : 0;
}

std::optional<RecordFormat> format_of(std::string_view name) {
    for (const auto format : {RecordFormat::kMp4, RecordFormat::kFlv, RecordFormat::kTs}) {
        if (name == to_string(format)) {
            return format;
        }
    }
    return std::nullopt;
}

// Goes through a file as far as it is whole.
void scan_file(int fd, RecordScan& scan) {
    const uint64_t size = size_of(fd);
    Bytes window(RecordFolder::kWindow);
    uint64_t at = 0;    // of the window in the file
    size_t filled = 0;  // bytes of it
    while (scan.position() < size) {
        const uint64_t position = scan.position();
        const size_t skip =
            position >= at && position < at + filled ? static_cast<size_t>(position - at) : filled;
        RecordScan::Advance next;
        if (skip < filled) {
            next = scan.advance(ByteSpan(window).subspan(skip, filled - skip), size - position);
            if (next.bytes > 0) {
                continue;
            }
            if (next.need == 0) {
                return;
            }
        }
        if (next.need > window.size()) {
            window.resize(next.need);
        }
        const ssize_t got = ::pread(fd, window.data(), window.size(), static_cast<off_t>(position));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        const size_t least = std::max<size_t>(next.need, 1);
        if (got < 0 || static_cast<size_t>(got) < least) {
            return;
        }
        at = position;
        filled = static_cast<size_t>(got);
    }
}

}  // namespace

// ---- a file ----

class FolderFile final : public GrowingFile {
  public:
    FolderFile(RecordFolder& folder, RecordedFile facts, RecordFormat format, io::OwnFd fd)
        : folder_(folder),
          facts_(std::move(facts)),
          growing_(facts_.file + std::string(kGrowingEnd)),
          scan_(RecordScan::create(format)),
          fd_(std::move(fd)) {}

    const std::string& name() const override { return growing_; }

    Error append(ByteSpan bytes) override {
        if (Error error = write_all(fd_.get(), bytes, scan_->position())) {
            // Nothing of it stays, or the next unit would begin in the middle.
            cut_at(fd_.get(), scan_->position());
            return error;
        }
        scan_->take(bytes);
        return {};
    }

    Result<RecordedFile> finish(std::string_view why, int64_t fallback_ms) override {
        return end(why, fallback_ms, wall_time_ms());
    }

    // Of a file that a crash has left.
    Result<RecordedFile> repair() {
        struct stat facts {};

        const int64_t touched = ::fstat(fd_.get(), &facts) == 0
                                    ? static_cast<int64_t>(facts.st_mtim.tv_sec) * 1000
                                    : wall_time_ms();
        scan_file(fd_.get(), *scan_);
        facts_.repaired = true;
        return end("repaired", 0, touched);
    }

  private:
    Result<RecordedFile> end(std::string_view why, int64_t fallback_ms, int64_t ended_ms) {
        auto opened = folder_.open_parent(facts_.file, false);
        if (!opened.ok()) {
            return make_error(ErrorCode::kSystem, "{}", opened.error().message());
        }
        const io::OwnFd parent = std::move(*opened);
        const std::string growing = leaf_of(growing_);
        if (!scan_->playable()) {
            facts_.frames = 0;
            facts_.bytes = 0;
            (void)::unlinkat(parent.get(), growing.c_str(), 0);
            (void)folder_.note(journal_gone(facts_.file));
            return facts_;
        }
        // A file without the rest can be played as well: a full disk is no reason to lose it.
        uint64_t size = scan_->position();
        const Bytes index = scan_->index();
        if (write_all(fd_.get(), index, size)) {
            cut_at(fd_.get(), size);
        } else {
            size += index.size();
            cut_at(fd_.get(), size);
        }
        for (const RecordScan::Patch& patch : scan_->patches()) {
            (void)write_all(fd_.get(), patch.bytes, patch.offset);
        }
        WEIR_TRY(rename_in(parent.get(), growing));
        facts_.why = why;
        facts_.ended_ms = ended_ms;
        facts_.bytes = size;
        facts_.frames = scan_->frames();
        facts_.duration_ms = fallback_ms > 0 && scan_->index().empty() && scan_->patches().empty()
                                 ? fallback_ms
                                 : scan_->duration_ms();
        facts_.duration_ms = std::max<int64_t>(facts_.duration_ms, 0);
        (void)folder_.note(journal_end(facts_));
        fd_.reset();
        return facts_;
    }

    // Under a name that nobody has, the wanted one if possible.
    Error rename_in(int parent, const std::string& growing) {
        const std::string wanted = facts_.file;
        const size_t dot = wanted.rfind('.');
        for (int number = 1; number <= RecordFolder::kMaxSameName; number++) {
            if (number > 1) {
                facts_.file =
                    fmt::format("{}-{}{}", wanted.substr(0, dot), number, wanted.substr(dot));
            }
            if (::renameat2(parent, growing.c_str(), parent, leaf_of(facts_.file).c_str(),
                            RENAME_NOREPLACE) == 0) {
                if (number > 1) {
                    (void)folder_.note(journal_gone(wanted) + journal_begin(facts_));
                }
                return {};
            }
            // File systems without the flag (some network ones) say EINVAL.
            if (errno == EINVAL && number == 1 &&
                ::faccessat(parent, leaf_of(wanted).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0 &&
                ::renameat(parent, growing.c_str(), parent, leaf_of(wanted).c_str()) == 0) {
                return {};
            }
            if (errno != EEXIST) {
                break;
            }
        }
        return Error::from_errno(errno, fmt::format("naming the finished file {}", wanted));
    }

    RecordFolder& folder_;
    RecordedFile facts_;
    std::string growing_;
    std::unique_ptr<RecordScan> scan_;
    io::OwnFd fd_;
};

// ---- the folder ----

Error RecordFolder::check_place() const {
    return io::check_folder(path_, root_);
}

// Opens the folder and its journal, and takes the locks.
Error RecordFolder::claim() {
    journal_.reset();
    lock_.reset();
    WEIR_TRY_ASSIGN(lock_, io::lock_folder(path_, std::string(kFolderLockName), kFileMode, "record",
                                           seat_.server));
    WEIR_TRY_ASSIGN(io::ClaimedFolder folder,
                    io::claim_folder(path_, journal_name(seat_.index), kFileMode, "record"));
    root_ = std::move(folder.root);
    journal_ = std::move(folder.lock);
    return {};
}

// The first process also has what processes have left that this server does not have any more: it
// was started with fewer. Their journals, which are to go.
std::vector<std::string> RecordFolder::adopt(std::map<std::string, JournalEntry>& entries) const {
    std::vector<std::string> adopted;
    for (uint32_t i = seat_.count; seat_.index == 0 && i < io::FolderSeat::kMaxSeats; i++) {
        const std::string name = journal_name(i);
        const io::OwnFd journal(
            ::openat(root_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
        if (!journal) {
            continue;
        }
        for (auto& [file, entry] : read_journal(io::read_text(journal.get(), kMaxJournalBytes))) {
            JournalEntry& ours = entries[file];
            if (!ours.ended) {
                ours = std::move(entry);
            }
        }
        adopted.push_back(name);
    }
    return adopted;
}

Result<std::vector<RecordedFile>> RecordFolder::open() {
    WEIR_TRY(claim());
    std::map<std::string, JournalEntry> entries =
        read_journal(io::read_text(journal_.get(), kMaxJournalBytes));
    const std::vector<std::string> adopted = adopt(entries);
    std::vector<RecordedFile> files;
    for (auto entry = entries.begin(); entry != entries.end();) {
        if (!settle(entry->second)) {
            entry = entries.erase(entry);
            continue;
        }
        if (entry->second.ended) {
            files.push_back(entry->second.file);
            files.back().folder = path_;
        }
        ++entry;
    }
    if (write_journal(entries)) {
        for (const std::string& name : adopted) {
            (void)::unlinkat(root_.get(), name.c_str(), 0);
        }
    }
    std::ranges::sort(files, {}, &RecordedFile::ended_ms);
    return files;
}

// A journal with what there is only; the old one stays where that cannot be written: false.
bool RecordFolder::write_journal(const std::map<std::string, JournalEntry>& entries) {
    std::string text;
    for (const auto& [name, entry] : entries) {
        text += journal_begin(entry.file);
        text += entry.ended ? journal_end(entry.file) : "";
    }
    const std::string name = journal_name(seat_.index);
    const std::string next = name + ".new";
    (void)::unlinkat(root_.get(), next.c_str(), 0);
    io::OwnFd fresh(::openat(root_.get(), next.c_str(),
                             O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
                             kFileMode));
    if (!fresh || ::flock(fresh.get(), LOCK_EX | LOCK_NB) != 0 ||
        write_all(fresh.get(), as_bytes(text), 0) || ::fdatasync(fresh.get()) != 0 ||
        ::renameat(root_.get(), next.c_str(), root_.get(), name.c_str()) != 0) {
        (void)::unlinkat(root_.get(), next.c_str(), 0);
        return false;
    }
    journal_ = std::move(fresh);
    return true;
}

Error RecordFolder::note(const std::string& line) {
    // With O_APPEND the offset does not count (Linux). Half a line would spoil the next one, too.
    const uint64_t before = size_of(journal_.get());
    Error error = write_all(journal_.get(), as_bytes(line), 0);
    if (error) {
        cut_at(journal_.get(), before);
    }
    return error;
}

// Makes an entry of the journal be what is on the disk. False: there is no such file.
bool RecordFolder::settle(JournalEntry& entry) {
    const RecordedFile& file = entry.file;
    const auto parent = open_parent(file.file, false);
    if (!parent.ok()) {
        return parent.error().code() != ErrorCode::kDenied && !is_missing(errno);
    }
    const std::string leaf = leaf_of(file.file);
    if (entry.ended) {
        struct stat facts {};

        return ::fstatat(parent->get(), leaf.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0
                   ? S_ISREG(facts.st_mode)
                   : !is_missing(errno);
    }
    io::OwnFd part(::openat(parent->get(), (leaf + std::string(kGrowingEnd)).c_str(),
                            O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (part || !is_missing(errno)) {
        return !part || repair(entry, std::move(part));
    }
    // It had its name already, and the journal was not told.
    const io::OwnFd whole(
        ::openat(parent->get(), leaf.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    const bool missing = !whole && is_missing(errno);
    const auto format = format_of(file.format);
    if (!whole || !format) {
        return format && !missing;
    }
    const auto scan = RecordScan::create(*format);
    scan_file(whole.get(), *scan);
    entry.ended = true;
    entry.file.bytes = size_of(whole.get());
    entry.file.frames = scan->frames();
    entry.file.duration_ms = std::max<int64_t>(scan->duration_ms(), 0);
    entry.file.ended_ms = file.started_ms + entry.file.duration_ms;
    entry.file.why = "repaired";
    return true;
}

bool RecordFolder::repair(JournalEntry& entry, io::OwnFd file) {
    struct stat facts {};

    const auto format = format_of(entry.file.format);
    if (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) || !format) {
        return false;
    }
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
        return true;  // it grows
    }
    FolderFile growing(*this, entry.file, *format, std::move(file));
    Result<RecordedFile> done = growing.repair();
    if (!done.ok()) {
        return true;  // the next start tries it again
    }
    entry.file = std::move(*done);
    entry.file.folder = path_;
    entry.file.fresh = true;
    entry.ended = true;
    return entry.file.frames > 0;
}

// The folder of a file, from the root on; nothing below it may be a link.
Result<io::OwnFd> RecordFolder::open_parent(const std::string& file, bool make) const {
    return io::open_parent(io::OwnFd(::openat(root_.get(), ".", io::kFolderFlags)), file,
                           make ? std::optional(kFolderMode) : std::nullopt);
}

Result<std::unique_ptr<GrowingFile>> RecordFolder::create(const FileOrder& order) {
    WEIR_TRY(check_place());
    if (!journal_) {
        return make_error(ErrorCode::kBusy, "the folder {} is not open", path_);
    }
    for (int tries = 1;; tries++) {
        auto parent = open_parent(order.name, true);
        Result<std::unique_ptr<GrowingFile>> made =
            parent.ok() ? create_in(*parent, order) : parent.take_error();
        const bool vanished = !made.ok() && made.error().code() == ErrorCode::kNotFound;
        if (!vanished || tries == kMaxFolderTries) {
            return made;
        }
    }
}

// kNotFound: the folder has gone meanwhile.
Result<std::unique_ptr<GrowingFile>> RecordFolder::create_in(const io::OwnFd& parent,
                                                             const FileOrder& order) {
    for (int number = 1; number <= kMaxSameName; number++) {
        RecordedFile facts;
        facts.key = order.key;
        facts.folder = path_;
        facts.format = to_string(order.format);
        facts.section = order.section;
        facts.started_ms = order.started_ms;
        facts.file = number == 1 ? fmt::format("{}.{}", order.name, facts.format)
                                 : fmt::format("{}-{}.{}", order.name, number, facts.format);
        const std::string leaf = leaf_of(facts.file);
        if (::faccessat(parent.get(), leaf.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
            continue;
        }
        io::OwnFd fd(::openat(parent.get(), (leaf + std::string(kGrowingEnd)).c_str(),
                              O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
        if (!fd && errno == EEXIST) {
            continue;
        }
        if (!fd && errno == ENOENT) {
            return make_error(ErrorCode::kNotFound, "the folder of {}/{} is not there any more",
                              path_, facts.file);
        }
        if (!fd) {
            return Error::from_errno(errno, fmt::format("making {}/{}", path_, facts.file));
        }
        (void)::flock(fd.get(), LOCK_EX | LOCK_NB);  // nobody else can have it
        if (Error error = note(journal_begin(facts))) {
            (void)::unlinkat(parent.get(), (leaf + std::string(kGrowingEnd)).c_str(), 0);
            return std::move(error).with_context("the journal of recordings");
        }
        return std::unique_ptr<GrowingFile>(
            std::make_unique<FolderFile>(*this, std::move(facts), order.format, std::move(fd)));
    }
    return make_error(ErrorCode::kLimit, "{} files are called {} already", kMaxSameName,
                      order.name);
}

Result<uint64_t> RecordFolder::free_bytes() {
    WEIR_TRY(check_place());

    struct statvfs facts {};

    if (::fstatvfs(root_.get(), &facts) != 0) {
        return Error::from_errno(errno, fmt::format("free space of {}", path_));
    }
    return uint64_t{facts.f_bavail} * facts.f_frsize;
}

Error RecordFolder::remove(const std::string& file) {
    WEIR_TRY(check_place());
    auto parent = open_parent(file, false);
    const bool removed = parent.ok() && ::unlinkat(parent->get(), leaf_of(file).c_str(), 0) == 0;
    if (!removed && parent.ok() && errno != ENOENT) {
        return Error::from_errno(errno, fmt::format("removing {}/{}", path_, file));
    }
    (void)note(journal_gone(file));
    // Folders that are empty now go as well.
    std::string folder = file;
    for (size_t slash = folder.rfind('/'); slash != std::string::npos; slash = folder.rfind('/')) {
        folder.resize(slash);
        auto above = open_parent(folder, false);
        if (!above.ok() || ::unlinkat(above->get(), leaf_of(folder).c_str(), AT_REMOVEDIR) != 0) {
            break;
        }
    }
    return removed ? Error() : make_error(ErrorCode::kNotFound, "{} was not there any more", file);
}

}  // namespace weir::session
