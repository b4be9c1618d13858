// RecordFolder: a folder of recordings on a disk of this machine.
//
// A file grows as NAME.part and is renamed when it is finished, so nobody takes one for the other,
// and what a crash has left can be seen. Below the folder no link is followed: names come from
// peers, and others may have rights there. The folder itself must exist: where a disk is not
// mounted, nothing is written to its place. One server uses a folder at a time (flock(2) on its
// journal).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "session/record/record_disk.h"
#include "session/record/record_journal.h"

namespace weir::session {

inline constexpr std::string_view kGrowingEnd = ".part";

// A file descriptor and nothing else.
class OwnFd {
  public:
    OwnFd() = default;

    explicit OwnFd(int fd) : fd_(fd) {}

    OwnFd(OwnFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

    OwnFd& operator=(OwnFd&& other) noexcept;
    OwnFd(const OwnFd&) = delete;
    OwnFd& operator=(const OwnFd&) = delete;

    ~OwnFd() { reset(); }

    int get() const { return fd_; }

    explicit operator bool() const { return fd_ >= 0; }

    void reset();

  private:
    int fd_ = -1;
};

class RecordFolder final : public RecordDisk {
  public:
    // Files of one name, told apart by numbers.
    static constexpr int kMaxSameName = 1'000;
    static constexpr size_t kWindow = 64 * 1024;  // that is read at once of a file to be repaired

    explicit RecordFolder(std::string path) : path_(std::move(path)) {}

    Result<std::vector<RecordedFile>> open() override;
    Result<std::unique_ptr<GrowingFile>> create(const FileOrder& order) override;
    Result<uint64_t> free_bytes() override;
    Error remove(const std::string& file) override;

  private:
    friend class FolderFile;

    Error claim();
    Error write_journal(const std::map<std::string, JournalEntry>& entries);
    Error note(const std::string& line);
    Error check_place() const;
    Result<OwnFd> open_parent(const std::string& file, bool make) const;
    bool settle(JournalEntry& entry);
    bool repair(JournalEntry& entry, OwnFd file);

    std::string path_;
    OwnFd root_;
    OwnFd journal_;
};

}  // namespace weir::session
