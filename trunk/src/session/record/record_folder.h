// RecordFolder: a folder of recordings on a disk of this machine.
//
// A file grows as NAME.part and is renamed when it is finished, so nobody takes one for the other,
// and what a crash has left can be seen. Below the folder no link is followed: names come from
// peers, and others may have rights there. The folder itself must exist: where a disk is not
// mounted, nothing is written to its place. One server uses a folder at a time (flock(2) on
// kFolderLockName), and each of its processes has a journal there (flock(2) on that): a process
// changes the files of its own journal and no others.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/own_fd.h"
#include "session/record/record_disk.h"
#include "session/record/record_journal.h"

namespace weir::session {

inline constexpr std::string_view kGrowingEnd = ".part";

class RecordFolder final : public RecordDisk {
  public:
    // Files of one name, told apart by numbers.
    static constexpr int kMaxSameName = 1'000;
    static constexpr size_t kWindow = 64 * 1024;  // that is read at once of a file to be repaired

    // For so many times a folder that another process removes, as it is empty, is made again. Of
    // two processes in step with each other one may lose several times in a row.
    static constexpr int kMaxFolderTries = 100;

    explicit RecordFolder(std::string path, io::FolderSeat seat = {})
        : path_(std::move(path)), seat_(std::move(seat)) {}

    Result<std::vector<RecordedFile>> open() override;
    Result<std::unique_ptr<GrowingFile>> create(const FileOrder& order) override;
    Result<uint64_t> free_bytes() override;
    Error remove(const std::string& file) override;

    std::unique_ptr<RecordSiblings> siblings() const override {
        return seat_.count > 1 ? std::make_unique<RecordSiblings>(path_, seat_) : nullptr;
    }

  private:
    friend class FolderFile;

    Error claim();
    std::vector<std::string> adopt(std::map<std::string, JournalEntry>& entries) const;
    bool write_journal(const std::map<std::string, JournalEntry>& entries);
    Error note(const std::string& line);
    Error check_place() const;
    Result<io::OwnFd> open_parent(const std::string& file, bool make) const;
    Result<std::unique_ptr<GrowingFile>> create_in(const io::OwnFd& parent, const FileOrder& order);
    bool settle(JournalEntry& entry);
    bool repair(JournalEntry& entry, io::OwnFd file);

    std::string path_;
    io::FolderSeat seat_;
    io::OwnFd lock_;
    io::OwnFd root_;
    io::OwnFd journal_;
};

}  // namespace weir::session
