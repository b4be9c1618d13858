#include "session/record/record_siblings.h"

#include <cerrno>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strings.h"
#include "io/folder_files.h"
#include "session/record/record_journal.h"

namespace weir::session {

RecordSiblings::RecordSiblings(std::string path, const io::FolderSeat& seat)
    : path_(std::move(path)) {
    for (uint32_t i = 0; i < seat.count; i++) {
        if (i != seat.index) {
            journals_.emplace_back().process = i;
        }
    }
}

RecordSiblings::Read RecordSiblings::read() {
    Read out;
    const io::OwnFd root(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    out.whole = static_cast<bool>(root);
    for (Journal& journal : journals_) {
        if (root && open_anew(root, journal, out)) {
            read_on(journal, out);
        }
    }
    return out;
}

// A process that starts writes its journal to another file, which gets the name. False: there is
// nothing to read.
bool RecordSiblings::open_anew(const io::OwnFd& root, Journal& journal, Read& out) const {
    struct stat mine {};

    struct stat named {};

    const std::string name = journal_name(journal.process);
    const bool there = ::fstatat(root.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0;
    if (!there && !io::is_missing(errno)) {
        out.whole = false;
        return false;
    }
    const bool same = there && journal.file && ::fstat(journal.file.get(), &mine) == 0 &&
                      mine.st_ino == named.st_ino && mine.st_dev == named.st_dev &&
                      static_cast<uint64_t>(named.st_size) >= journal.offset;
    if (same) {
        return static_cast<uint64_t>(named.st_size) > journal.offset;
    }
    io::OwnFd anew;
    if (there) {
        anew = io::OwnFd(
            ::openat(root.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
        if (!anew && !io::is_missing(errno)) {
            out.whole = false;
            return false;
        }
    }
    const bool had = static_cast<bool>(journal.file);
    journal.file = std::move(anew);
    journal.offset = 0;
    journal.growing.clear();
    if (had || journal.file) {
        out.news.push_back({RecordNews::Kind::kAnew, journal.process, {}});
    }
    return static_cast<bool>(journal.file);
}

void RecordSiblings::read_on(Journal& journal, Read& out) {
    std::string text(kBytesAtOnce, '\0');
    ssize_t got = 0;
    do {
        got = ::pread(journal.file.get(), text.data(), text.size(),
                      static_cast<off_t>(journal.offset));
    } while (got < 0 && errno == EINTR);
    text.resize(got < 0 ? 0 : static_cast<size_t>(got));
    const bool full = text.size() == kBytesAtOnce;
    const size_t end = text.rfind('\n');
    if (end == std::string::npos) {
        journal.offset += full ? text.size() : 0;  // no line is as long as that
        out.more = out.more || full;
        return;
    }
    journal.offset += end + 1;
    out.more = out.more || full;
    std::string_view lines(text.data(), end);
    for (bool any = true; any;) {
        const Halves halves = split_once(lines, '\n');
        take_line(journal, halves.before, out);
        lines = halves.after;
        any = halves.found;
    }
}

void RecordSiblings::take_line(Journal& journal, std::string_view text, Read& out) const {
    std::optional<JournalLine> line = parse_journal_line(text);
    if (!line) {
        return;
    }
    RecordedFile& file = line->file;
    file.folder = path_;
    file.elsewhere = journal.process;
    const auto known = journal.growing.find(file.file);
    if (line->kind == JournalLine::Kind::kGone) {
        if (known != journal.growing.end()) {
            journal.growing.erase(known);
        }
        out.news.push_back({RecordNews::Kind::kGone, journal.process, std::move(file)});
    } else if (line->kind == JournalLine::Kind::kBegin) {
        if (known == journal.growing.end() && journal.growing.size() >= kMaxJournalFiles) {
            return;
        }
        journal.growing[file.file] = file;
        out.news.push_back({RecordNews::Kind::kBegun, journal.process, std::move(file)});
    } else if (known != journal.growing.end()) {
        take_end(file, known->second);
        out.news.push_back({RecordNews::Kind::kEnded, journal.process, std::move(known->second)});
        journal.growing.erase(known);
    }
}

}  // namespace weir::session
