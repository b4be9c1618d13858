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
constexpr int kMaxTries = 100;                  // to make a folder that others remove
constexpr uint64_t kMaxOtherBytes = 64u << 10;  // of the playlist of another stream
constexpr std::string_view kEndTag = "#EXT-X-ENDLIST";

// A name that a stream's folder has by us.
bool is_ours(std::string_view name) {
    if (name.ends_with(kHlsPartEnd)) {
        name.remove_suffix(kHlsPartEnd.size());
    }
    const hls::FileKind kind = hls::parse_file_name(name).kind;
    return kind == hls::FileKind::kPlaylist || kind == hls::FileKind::kHeader ||
           kind == hls::FileKind::kSegment || name == kHlsOwnerName;
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

OwnFd open_to_read(const OwnFd& folder, const std::string& name) {
    return OwnFd(
        ::openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

// Which process has the folder of a stream; none: it does not say.
std::optional<uint64_t> owner_of(const OwnFd& folder) {
    constexpr uint64_t kMostBytes = 16;
    const OwnFd file = open_to_read(folder, std::string(kHlsOwnerName));
    return parse_uint(io::read_text(file.get(), kMostBytes), 0, io::FolderSeat::kMaxSeats);
}

bool is_same(const OwnFd& opened, const OwnFd& above, const std::string& leaf) {
    struct stat own {};

    struct stat named {};

    return ::fstat(opened.get(), &own) == 0 &&
           ::fstatat(above.get(), leaf.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           own.st_ino == named.st_ino && own.st_dev == named.st_dev;
}

}  // namespace

// ---- opening ----

Error HlsDiskFolder::open() {
    list_.reset();
    lock_.reset();
    known_.clear();
    WEIR_TRY_ASSIGN(
        lock_, io::lock_folder(path_, std::string(kHlsLockName), kListMode, "hls", seat_.server));
    WEIR_TRY_ASSIGN(io::ClaimedFolder folder,
                    io::claim_folder(path_, io::FolderSeat::name_of(kHlsListName, seat_.index),
                                     kListMode, "hls"));
    root_ = std::move(folder.root);
    list_ = std::move(folder.lock);
    WEIR_TRY(clear_all(list_, seat_.index));
    WEIR_TRY(adopt());
    if (::ftruncate(list_.get(), 0) != 0) {
        return Error::from_errno(errno, fmt::format("hls: the file {}/{}", path_, kHlsListName));
    }
    return {};
}

// What processes have left that this server does not have any more.
Error HlsDiskFolder::adopt() const {
    for (uint32_t i = seat_.count; seat_.index == 0 && i < io::FolderSeat::kMaxSeats; i++) {
        const std::string name = io::FolderSeat::name_of(kHlsListName, i);
        if (const OwnFd list = open_to_read(root_, name)) {
            WEIR_TRY(clear_all(list, i));
            (void)::unlinkat(root_.get(), name.c_str(), 0);
        }
    }
    return {};
}

// All streams of a list, as far as that process had them.
Error HlsDiskFolder::clear_all(const OwnFd& list, uint32_t owner) const {
    const std::string text = io::read_text(list.get(), kMaxListBytes);
    // A line that is cut off is of a stream that has no file yet.
    size_t begin = 0;
    for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
        WEIR_TRY(clear(text.substr(begin, end - begin), owner));
        begin = end + 1;
    }
    return {};
}

// The folder that has that file.
Result<OwnFd> HlsDiskFolder::parent_of(const std::string& file, bool make) const {
    return io::open_parent(OwnFd(::openat(root_.get(), ".", io::kFolderFlags)), file,
                           make ? std::optional(kFolderMode) : std::nullopt);
}

// Nobody else is at it as long as it is open. `made`: it was not there. Where several processes may
// be, one that it was waited for may have removed it.
Result<OwnFd> HlsDiskFolder::open_stream(const std::string& folder, bool make, bool& made) const {
    const std::string leaf = io::leaf_of(folder);
    for (int tries = 0; tries < kMaxTries; tries++) {
        auto above = parent_of(folder, make);
        if (!above.ok()) {
            if (make && above.error().code() == ErrorCode::kNotFound) {
                continue;
            }
            return above.take_error();
        }
        made = make && ::mkdirat(above->get(), leaf.c_str(), kFolderMode) == 0;
        if (make && !made && errno != EEXIST && errno != ENOENT) {
            return Error::from_errno(errno, fmt::format("making the folder {}/{}", path_, folder));
        }
        OwnFd opened(::openat(above->get(), leaf.c_str(), io::kFolderFlags));
        if (!opened) {
            if (make && errno == ENOENT) {
                continue;
            }
            return Error::from_errno(errno, fmt::format("the folder {}/{}", path_, folder));
        }
        if (!shared()) {
            return opened;
        }
        if (Error error = io::lock_file(opened.get(), kOwnerWait)) {
            return std::move(error).with_context(fmt::format("the folder {}/{}", path_, folder));
        }
        if (is_same(opened, *above, leaf)) {
            return opened;
        }
    }
    return make_error(ErrorCode::kSystem, "somebody removes the folder {}/{} again and again",
                      path_, folder);
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
    const std::string name = io::FolderSeat::name_of(kHlsListName, seat_.index);
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

// Playlists first: none names what is not there. Folders that are empty then go as well. Not what
// another process than `owner` has. kBusy: it is not known who has it, as somebody is at it.
Error HlsDiskFolder::clear(const std::string& folder, uint32_t owner) const {
    bool made = false;
    // Where others may make it, it is made, so that nobody else is at it.
    auto opened = open_stream(folder, shared(), made);
    if (!opened.ok() && opened.error().code() == ErrorCode::kBusy) {
        return opened.take_error();
    }
    if (shared() && (!opened.ok() || owner_of(*opened).value_or(owner) != owner)) {
        return {};
    }
    const OwnFd none;
    clear_files(folder, opened.ok() ? *opened : none);
    remove_empty(folder);
    return {};
}

// `opened`: the stream's folder, where there is one.
void HlsDiskFolder::clear_files(const std::string& folder, const OwnFd& opened) const {
    if (const auto above = parent_of(folder, false); above.ok()) {
        for (const std::string_view end : {std::string_view(), kHlsPartEnd}) {
            remove(*above, fmt::format("{}{}{}", io::leaf_of(folder), kPlaylistEnd, end));
        }
    }
    if (opened) {
        remove(opened, std::string(hls::kMediaPlaylistName));
        for (const std::string& name : our_files(opened)) {
            remove(opened, name);
        }
    }
}

// That folder, and those above it.
void HlsDiskFolder::remove_empty(std::string folder) const {
    for (;;) {
        const auto above = parent_of(folder, false);
        if (!above.ok() ||
            (::unlinkat(above->get(), io::leaf_of(folder).c_str(), AT_REMOVEDIR) != 0 &&
             !io::is_missing(errno))) {
            return;
        }
        const size_t slash = folder.rfind('/');
        if (slash == std::string::npos) {
            return;
        }
        folder.resize(slash);
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

// What the multivariant playlist says of a stream that another process writes; empty: none does.
std::string HlsDiskFolder::line_of(const HlsWrite::Other& other) const {
    const auto above = parent_of(other.folder, false);
    const auto folder = parent_of(in_folder(other.folder), false);
    if (!above.ok() || !folder.ok() || owner_of(*folder).value_or(seat_.index) == seat_.index) {
        return {};
    }
    const OwnFd media = open_to_read(*folder, std::string(hls::kMediaPlaylistName));
    const OwnFd list = open_to_read(*above, io::leaf_of(other.folder) + std::string(kPlaylistEnd));
    const bool ended =
        io::read_text(media.get(), kMaxOtherBytes).find(kEndTag) != std::string::npos;
    return !media || ended ? "" : hls::first_stream_inf(io::read_text(list.get(), kMaxOtherBytes));
}

// Qualities that others write stand behind those of this process.
std::string HlsDiskFolder::text_of_list(const HlsWrite::List& list) const {
    std::string more;
    for (const HlsWrite::Other& other : list.others) {
        const std::string line = shared() ? line_of(other) : std::string();
        if (!line.empty()) {
            more += fmt::format("{}\n{}{}\n", line, other.uri, hls::kQueryMark);
        }
    }
    // Whether the others have captions is not known here, and NONE would hold for them, too.
    const std::string own =
        more.empty() ? list.text : replaced(list.text, ",CLOSED-CAPTIONS=NONE", "");
    return hls::with_query(own + more, "");
}

Error HlsDiskFolder::put_lists(const HlsWrite& what, uint64_t& bytes) const {
    for (const HlsWrite::List& list : what.lists) {
        WEIR_TRY_ASSIGN(const OwnFd parent, parent_of(list.file, true));
        const std::string text = text_of_list(list);
        WEIR_TRY(put(parent, io::leaf_of(list.file), {as_bytes(text)}, bytes));
    }
    return {};
}

// What is there of an earlier time goes, whoever's it was, and this process has the folder.
Error HlsDiskFolder::begin(const HlsWrite& what, const OwnFd& folder) const {
    clear_files(what.folder, folder);
    uint64_t bytes = 0;
    return shared() ? put(folder, std::string(kHlsOwnerName),
                          {as_bytes(std::to_string(seat_.index))}, bytes)
                    : Error();
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
        if (Error error = clear(what.folder, seat_.index)) {
            return failed(std::move(error));
        }
        known_.erase(what.folder);
        shorten_list();
        done.gone = true;
        return done;
    }
    if (Error error = note(what.folder)) {
        return failed(std::move(error));
    }
    bool made = false;
    auto folder = open_stream(what.folder, true, made);
    if (!folder.ok()) {
        return failed(folder.take_error());
    }
    if (what.begins) {
        if (Error error = begin(what, *folder)) {
            return failed(std::move(error));
        }
    } else if (made) {
        done.lost = true;
        remove_lists(what);
        return failed(make_error(ErrorCode::kSystem, "somebody has removed the folder {}/{}", path_,
                                 what.folder));
    } else if (shared() && owner_of(*folder) != seat_.index) {
        known_.erase(what.folder);
        shorten_list();
        done.taken = true;
        return done;
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
