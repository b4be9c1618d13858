// The journal of a folder of recordings: which file is of which stream, and how it ended. Lines are
// added, and the file is written anew when the server starts. What the journal does not know is
// never removed by the server. With several processes each has a journal of its own. Pure.
//
//     begin FILE VHOST APP STREAM FORMAT SECTION STARTED_MS
//     end FILE ENDED_MS DURATION_MS BYTES FRAMES REPAIRED WHY
//     gone FILE
//
// Fields are separated by tabs, with %XX for what is not plain.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "session/record/record_options.h"

namespace weir::session {

inline constexpr std::string_view kJournalName = ".weir-recordings";
// The lock of a server on the folder, whatever processes it has.
inline constexpr std::string_view kFolderLockName = ".weir-recordings.lock";
inline constexpr size_t kMaxJournalBytes = 256u << 20;
inline constexpr size_t kMaxJournalFiles = 500'000;

// kJournalName of the first process, which is that of a server of one process; others have their
// number behind it.
std::string journal_name(uint32_t process);

std::string journal_begin(const RecordedFile& file);
std::string journal_end(const RecordedFile& file);
std::string journal_gone(std::string_view file);

// One line.
struct JournalLine {
    enum class Kind : uint8_t { kBegin, kEnd, kGone };

    Kind kind = Kind::kGone;
    RecordedFile file;  // of kGone only its name, of kEnd also how it ended
};

// Without the end of the line. Nothing: it cannot be read.
std::optional<JournalLine> parse_journal_line(std::string_view line);

// How it ended, as a line of kEnd says, for what its line of kBegin had said.
void take_end(const RecordedFile& line, RecordedFile& file);

struct JournalEntry {
    RecordedFile file;
    bool ended = false;
};

// By name of file. Lines that cannot be read are passed over: the last may have been cut off.
std::map<std::string, JournalEntry> read_journal(std::string_view text);

}  // namespace weir::session
