// The journal of a folder of recordings: which file is of which stream, and how it ended. Lines are
// added, and the file is written anew when the server starts. What the journal does not know is
// never removed by the server. Pure.
//
//     begin FILE VHOST APP STREAM FORMAT SECTION STARTED_MS
//     end FILE ENDED_MS DURATION_MS BYTES FRAMES REPAIRED WHY
//     gone FILE
//
// Fields are separated by tabs, with %XX for what is not plain.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "session/record/record_options.h"

namespace weir::session {

inline constexpr std::string_view kJournalName = ".weir-recordings";
inline constexpr size_t kMaxJournalBytes = 256u << 20;
inline constexpr size_t kMaxJournalFiles = 500'000;

std::string journal_begin(const RecordedFile& file);
std::string journal_end(const RecordedFile& file);
std::string journal_gone(std::string_view file);

struct JournalEntry {
    RecordedFile file;
    bool ended = false;
};

// By name of file. Lines that cannot be read are passed over: the last may have been cut off.
std::map<std::string, JournalEntry> read_journal(std::string_view text);

}  // namespace weir::session
