// RecordSiblings: what the other processes of a server record into the same folder, by their
// journals, which are followed from line to line. Blocks: for one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/folder_seat.h"
#include "io/own_fd.h"
#include "session/record/record_options.h"

namespace weir::session {

struct RecordNews {
    enum class Kind : uint8_t {
        kAnew,  // nothing that was said of the process holds: what follows is all that it has
        kBegun,
        kEnded,
        kGone,  // only the name of the file
    };

    Kind kind = Kind::kAnew;
    uint32_t process = 0;
    RecordedFile file;  // with everything that is known of it
};

class RecordSiblings {
  public:
    // Of a journal that is read at once; a line is shorter.
    static constexpr size_t kBytesAtOnce = 256u * 1024;

    // `path`: of the folder.
    RecordSiblings(std::string path, const io::FolderSeat& seat);

    // What is new since the last call. `more`: there is more already. A journal that cannot be read
    // is tried again by the next call; what was said holds so long.
    struct Read {
        std::vector<RecordNews> news;
        bool more = false;
        bool whole = true;  // every journal that is there could be read
    };

    Read read();

  private:
    struct Journal {
        uint32_t process = 0;
        io::OwnFd file;       // none: there is none
        uint64_t offset = 0;  // behind the last line that was read
        std::map<std::string, RecordedFile, std::less<>> growing;
    };

    bool open_anew(const io::OwnFd& root, Journal& journal, Read& out) const;
    void read_on(Journal& journal, Read& out);
    void take_line(Journal& journal, std::string_view text, Read& out) const;

    std::string path_;
    std::vector<Journal> journals_;
};

}  // namespace weir::session
