#include "session/hls/hls_disk.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dirent.h>
#include <fmt/format.h>

#include "base/strings.h"
#include "proto/hls/playlist.h"

namespace weir::session {
namespace {

using io::OwnFd;

constexpr mode_t kListMode = 0640;
constexpr mode_t kFileMode = 0644;
constexpr mode_t kFolderMode = 0755;
constexpr std::string_view kPlaylistEnd = ".m3u8";

// A name that a stream's folder has by us.
bool is_ours(std::string_view name) {
    if (name.ends_with(kHlsPartEnd)) {
        name.remove_suffix(kHlsPartEnd.size());
    }
    const hls::FileKind kind = hls::parse_file_name(name).kind;
    return kind == hls::FileKind::kPlaylist || kind == hls::FileKind::kHeader ||
           kind == hls::FileKind::kSegment;
}

struct DirCloser {
    void operator()(DIR* dir) const { ::closedir(dir); }
};

// The files of ours in a folder.
std::vector<std::string> our_files(const OwnFd& folder) {
    std::vector<std::string> names;
    const int copy = ::openat(folder.get(), ".", io::kFolderFlags);
    const std::unique_ptr<DIR, DirCloser> dir(copy < 0 ? nullptr : ::fdopendir(copy));
    if (dir == nullptr) {
        if (copy >= 0) {
            ::close(copy);
        }
        return names;
    }
    while (const dirent* entry = ::readdir(dir.get())) {
        if (is_ours(entry->d_name)) {
            names.emplace_back(entry->d_name);
        }
    }
    return names;
}

bool remove(const OwnFd& folder, const std::string& name) {
    return ::unlinkat(folder.get(), name.c_str(), 0) == 0 || io::is_missing(errno);
}

std::string in_folder(const std::string& folder) {
    return folder + "/x";
}

}  // namespace

// ---- opening ----

Error HlsDiskFolder::open() {
    list_.reset();
    known_.clear();
    WEIR_TRY_ASSIGN(io::ClaimedFolder folder,
                    io::claim_folder(path_, std::string(kHlsListName), kListMode, "hls"));
    root_ = std::move(folder.root);
    list_ = std::move(folder.lock);

    struct stat facts {};

    const bool known_size = ::fstat(list_.get(), &facts) == 0;
    std::string text(
        known_size ? std::min<uint64_t>(static_cast<uint64_t>(facts.st_size), kMaxListBytes) : 0,
        '\0');
    const ssize_t got = ::pread(list_.get(), text.data(), text.size(), 0);
    text.resize(got < 0 ? 0 : static_cast<size_t>(got));
    // A line that is cut off is of a stream that has no file yet.
    size_t begin = 0;
    for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
        clear(text.substr(begin, end - begin));
        begin = end + 1;
    }
    if (::ftruncate(list_.get(), 0) != 0) {
        return Error::from_errno(errno, fmt::format("hls: the file {}/{}", path_, kHlsListName));
    }
    return {};
}

// The folder that has that file.
Result<OwnFd> HlsDiskFolder::parent_of(const std::string& file, bool make) const {
    return io::open_parent(OwnFd(::openat(root_.get(), ".", io::kFolderFlags)), file,
                           make ? std::optional(kFolderMode) : std::nullopt);
}

// `made`: it was not there.
Result<OwnFd> HlsDiskFolder::open_stream(const std::string& folder, bool& made) const {
    WEIR_TRY_ASSIGN(const OwnFd above, parent_of(folder, true));
    const std::string leaf = io::leaf_of(folder);
    made = ::mkdirat(above.get(), leaf.c_str(), kFolderMode) == 0;
    if (!made && errno != EEXIST) {
        return Error::from_errno(errno, fmt::format("making the folder {}/{}", path_, folder));
    }
    OwnFd opened(::openat(above.get(), leaf.c_str(), io::kFolderFlags));
    if (!opened) {
        return Error::from_errno(errno, fmt::format("the folder {}/{}", path_, folder));
    }
    return opened;
}

// ---- the list of streams ----

Error HlsDiskFolder::note(const std::string& folder) {
    if (known_.contains(folder)) {
        return {};
    }

    struct stat facts {};

    const bool known_size = ::fstat(list_.get(), &facts) == 0;
    // With O_APPEND the offset does not count (Linux).
    if (Error error = io::write_all(list_.get(), as_bytes(folder + "\n"), 0)) {
        if (known_size) {
            (void)!::ftruncate(list_.get(), facts.st_size);
        }
        return std::move(error).with_context(fmt::format("the file {}/{}", path_, kHlsListName));
    }
    known_.insert(folder);
    return {};
}

// A list without those that have gone; the old one stays where that cannot be written.
void HlsDiskFolder::shorten_list() {
    struct stat facts {};

    uint64_t needed = 0;
    for (const std::string& folder : known_) {
        needed += folder.size() + 1;
    }
    if (::fstat(list_.get(), &facts) != 0 ||
        static_cast<uint64_t>(facts.st_size) < std::max(kMinListBytes, 2 * needed)) {
        return;
    }
    std::string text;
    for (const std::string& folder : known_) {
        text += folder + "\n";
    }
    const std::string name(kHlsListName);
    const std::string next = name + ".new";
    (void)::unlinkat(root_.get(), next.c_str(), 0);
    OwnFd fresh(::openat(root_.get(), next.c_str(),
                         O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, kListMode));
    if (!fresh || ::flock(fresh.get(), LOCK_EX | LOCK_NB) != 0 ||
        io::write_all(fresh.get(), as_bytes(text), 0) ||
        ::renameat(root_.get(), next.c_str(), root_.get(), name.c_str()) != 0) {
        (void)::unlinkat(root_.get(), next.c_str(), 0);
        return;
    }
    list_ = std::move(fresh);
}

// ---- removing ----

// Playlists first: none names what is not there. Folders that are empty then go as well.
void HlsDiskFolder::clear(const std::string& folder) {
    auto above = parent_of(folder, false);
    if (!above.ok()) {
        return;
    }
    for (const std::string_view end : {std::string_view(), kHlsPartEnd}) {
        remove(*above, fmt::format("{}{}{}", io::leaf_of(folder), kPlaylistEnd, end));
    }
    if (const auto opened = parent_of(in_folder(folder), false); opened.ok()) {
        remove(*opened, std::string(hls::kMediaPlaylistName));
        for (const std::string& name : our_files(*opened)) {
            remove(*opened, name);
        }
    }
    std::string empty = folder;
    for (;;) {
        if (::unlinkat(above->get(), io::leaf_of(empty).c_str(), AT_REMOVEDIR) != 0 &&
            !io::is_missing(errno)) {
            return;
        }
        const size_t slash = empty.rfind('/');
        if (slash == std::string::npos) {
            return;
        }
        empty.resize(slash);
        above = parent_of(empty, false);
        if (!above.ok()) {
            return;
        }
    }
}

void HlsDiskFolder::remove_lists(const HlsWrite& what) const {
    for (auto list = what.lists.rbegin(); list != what.lists.rend(); ++list) {
        if (const auto parent = parent_of(list->file, false); parent.ok()) {
            remove(*parent, io::leaf_of(list->file));
        }
    }
}

// ---- writing ----

Error HlsDiskFolder::put(const OwnFd& folder,
                         const std::string& name,
                         const std::vector<ByteSpan>& pieces,
                         uint64_t& bytes) const {
    const std::string part = name + std::string(kHlsPartEnd);
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    OwnFd file(::openat(folder.get(), part.c_str(), kFlags, kFileMode));
    if (!file && errno == EEXIST && ::unlinkat(folder.get(), part.c_str(), 0) == 0) {
        file = OwnFd(::openat(folder.get(), part.c_str(), kFlags, kFileMode));
    }
    if (!file) {
        return Error::from_errno(errno, fmt::format("making {} in {}", name, path_));
    }
    uint64_t size = 0;
    Error error;
    for (const ByteSpan piece : pieces) {
        if (!error) {
            error = io::write_all(file.get(), piece, size);
            size += piece.size();
        }
    }
    file.reset();
    if (!error && ::renameat(folder.get(), part.c_str(), folder.get(), name.c_str()) != 0) {
        error = Error::from_errno(errno, "naming it");
    }
    if (error) {
        (void)::unlinkat(folder.get(), part.c_str(), 0);
        return std::move(error).with_context(fmt::format("writing {} in {}", name, path_));
    }
    bytes += size;
    return {};
}

Error HlsDiskFolder::put_lists(const HlsWrite& what, uint64_t& bytes) const {
    for (const HlsWrite::List& list : what.lists) {
        WEIR_TRY_ASSIGN(const OwnFd parent, parent_of(list.file, true));
        const std::string text = hls::with_query(list.text, "");
        WEIR_TRY(put(parent, io::leaf_of(list.file), {as_bytes(text)}, bytes));
    }
    return {};
}

Error HlsDiskFolder::begin(const HlsWrite& what) {
    WEIR_TRY(note(what.folder));
    clear(what.folder);
    return {};
}

HlsWritten HlsDiskFolder::write(const HlsWrite& what) {
    HlsWritten done;
    const auto failed = [&done](Error why) {
        done.error = done.error ? std::move(done.error) : std::move(why);
        return std::move(done);
    };
    if (Error error = io::check_folder(path_, root_)) {
        return failed(std::move(error));
    }
    if (!list_) {
        return failed(make_error(ErrorCode::kNotFound, "the folder {} is not open", path_));
    }
    if (what.clears) {
        clear(what.folder);
        known_.erase(what.folder);
        shorten_list();
        done.gone = true;
        return done;
    }
    if (Error error = what.begins ? begin(what) : note(what.folder)) {
        return failed(std::move(error));
    }
    bool made = false;
    auto folder = open_stream(what.folder, made);
    if (!folder.ok()) {
        return failed(folder.take_error());
    }
    if (made && !what.begins) {
        done.lost = true;
        remove_lists(what);
        return failed(make_error(ErrorCode::kSystem, "somebody has removed the folder {}/{}", path_,
                                 what.folder));
    }
    if (!what.header.empty() &&
        ::faccessat(folder->get(), what.header_name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
        if (Error error = put(*folder, what.header_name, {what.header}, done.bytes)) {
            return failed(std::move(error));
        }
    }
    if (!what.segment_name.empty()) {
        if (Error error = put(*folder, what.segment_name, what.segment, done.bytes)) {
            done.error = std::move(error);
        }
        done.segment = !done.error;
    }
    Error error = done.error ? Error() : put_lists(what, done.bytes);
    done.lists = !done.error && !error;
    if (!done.lists && !what.gone.empty()) {
        // A full disk gets room by what is old; the playlists there may name it.
        remove_lists(what);
    }
    done.gone = true;
    for (const std::string& name : what.gone) {
        done.gone = remove(*folder, name) && done.gone;
    }
    return error ? failed(std::move(error)) : std::move(done);
}

}  // namespace weir::session
