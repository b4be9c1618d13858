// What HLS needs of a disk, for `hls { path; }`: the blocking part, called on the writer's thread
// of a folder only. HlsDiskFolder in the server, something slow or full in tests.
//
// Each file is written under another name and renamed, so it is whole whenever it is there. A
// playlist is written behind all that it names, and what it names goes after the next playlist.
//
// The processes of one server write into the same folder, each its own streams. Which of them has
// the files of a stream stands in the stream's folder: who begins takes it, and whoever had it
// before touches it no more.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "io/folder_files.h"
#include "io/folder_seat.h"

namespace weir::session {

// One turn for one stream. Everything in the order of its members; the bytes live until it is done.
struct HlsWrite {
    // A stream that is another quality, and that another process may write.
    struct Other {
        std::string folder;  // below the root
        std::string uri;     // of its media playlist, as the list has to say it
    };

    struct List {
        std::string file;                // below the root
        std::string text;                // with hls::kQueryMark behind addresses
        std::vector<Other> others = {};  // those that are written stand behind the text
    };

    std::string folder;   // of the stream, below the root: "live/cam"
    bool begins = false;  // what the folder has of an earlier time goes first
    std::string header_name;
    ByteSpan header;           // empty: there is none
    std::string segment_name;  // empty: there is none
    std::vector<ByteSpan> segment;
    std::vector<List> lists;
    std::vector<std::string> gone;  // files of the folder that go
    bool clears = false;            // all that the stream has goes, and nothing is written
};

struct HlsWritten {
    Error error;           // what went wrong first
    bool segment = false;  // the segment is there, and its header
    bool lists = false;    // so are the playlists
    bool gone = false;     // what was to go has gone
    bool lost = false;     // somebody has removed the stream's folder, and what was in it
    bool taken = false;    // another process has the stream's folder now: nothing was written
    uint64_t bytes = 0;    // that were written
};

class HlsDisk {
  public:
    HlsDisk() = default;
    HlsDisk(const HlsDisk&) = delete;
    HlsDisk& operator=(const HlsDisk&) = delete;
    virtual ~HlsDisk() = default;

    // Called before anything else, and again after kNotFound: claims the folder, and removes what
    // this process of an earlier server has left there. kBusy: another server uses it.
    virtual Error open() = 0;

    // An error of kNotFound: the root has gone.
    virtual HlsWritten write(const HlsWrite& what) = 0;
};

// A folder on a disk of this machine, which must exist. Which streams have files in it stands in a
// list in the folder, one for each process, so that the next start removes these and nothing else;
// lists of processes that there are no more, as the server was started with fewer, are the first
// one's. Below the folder no link is followed. Files can be read by everybody, as far as the umask
// lets: a web server is another user.
class HlsDiskFolder final : public HlsDisk {
  public:
    static constexpr uint64_t kMaxListBytes = 16u << 20;  // more is not read
    static constexpr uint64_t kMinListBytes = 64u << 10;  // a shorter list is not written anew

    // For the folder of a stream, while another process is at it.
    static constexpr Millis kOwnerWait{500};

    explicit HlsDiskFolder(std::string path, io::FolderSeat seat = {})
        : path_(std::move(path)), seat_(std::move(seat)) {}

    Error open() override;
    HlsWritten write(const HlsWrite& what) override;

  private:
    Error begin(const HlsWrite& what, const io::OwnFd& folder) const;
    Error note(const std::string& folder);
    void shorten_list();
    Error adopt() const;
    Error clear_all(const io::OwnFd& list, uint32_t owner) const;
    Error clear(const std::string& folder, uint32_t owner) const;
    void clear_files(const std::string& folder, const io::OwnFd& opened) const;
    void remove_empty(std::string folder) const;
    Result<io::OwnFd> open_stream(const std::string& folder, bool make, bool& made) const;

    bool shared() const { return seat_.count > 1; }

    Result<io::OwnFd> parent_of(const std::string& file, bool make) const;
    Error put(const io::OwnFd& folder,
              const std::string& name,
              const std::vector<ByteSpan>& pieces,
              uint64_t& bytes) const;
    std::string line_of(const HlsWrite::Other& other) const;
    std::string text_of_list(const HlsWrite::List& list) const;
    Error put_lists(const HlsWrite& what, uint64_t& bytes) const;
    void remove_lists(const HlsWrite& what) const;

    std::string path_;
    io::FolderSeat seat_;
    io::OwnFd lock_;
    io::OwnFd root_;
    io::OwnFd list_;
    std::set<std::string> known_;  // the streams that are in it
};

// ---- names, below the root ----

// Of the list of streams (io::FolderSeat::name_of), of the lock, and of the file in the folder of a
// stream that says which process has it.
inline constexpr std::string_view kHlsListName = ".weir-hls";
inline constexpr std::string_view kHlsLockName = ".weir-hls.lock";
inline constexpr std::string_view kHlsOwnerName = ".weir-hls-owner";
// The end of a name while its file is written.
inline constexpr std::string_view kHlsPartEnd = ".part";

}  // namespace weir::session
