#include "session/record/record_journal.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::session {
namespace {

// Tabs, ends of lines and % become %XX.
std::string field(std::string_view text) {
    std::string out;
    for (const char each : text) {
        const auto byte = static_cast<uint8_t>(each);
        if (byte < 0x20 || each == '%' || byte == 0x7F) {
            out += fmt::format("%{:02X}", byte);
        } else {
            out += each;
        }
    }
    return out;
}

int64_t number(std::string_view text) {
    return static_cast<int64_t>(parse_uint(text, 0, INT64_MAX).value_or(0));
}

}  // namespace

std::string journal_begin(const RecordedFile& file) {
    return fmt::format("begin\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", field(file.file),
                       field(file.key.vhost), field(file.key.app), field(file.key.name),
                       field(file.format), field(file.section), file.started_ms);
}

std::string journal_end(const RecordedFile& file) {
    return fmt::format("end\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", field(file.file), file.ended_ms,
                       file.duration_ms, file.bytes, file.frames, file.repaired ? 1 : 0,
                       field(file.why));
}

std::string journal_gone(std::string_view file) {
    return fmt::format("gone\t{}\n", field(file));
}

std::map<std::string, JournalEntry> read_journal(std::string_view text) {
    constexpr size_t kFields = 8;
    std::map<std::string, JournalEntry> entries;
    while (!text.empty()) {
        const Halves line = split_once(text, '\n');
        text = line.after;
        if (!line.found) {
            break;  // the server ended while it was written
        }
        const auto words = split(line.before, '\t');
        if (words.size() < 2) {
            continue;
        }
        const std::string file = url_decode(words[1]);
        if (words[0] == "gone") {
            entries.erase(file);
            continue;
        }
        if (words.size() != kFields ||
            (entries.size() >= kMaxJournalFiles && !entries.contains(file))) {
            continue;
        }
        if (words[0] == "begin") {
            RecordedFile& facts = entries[file].file;
            facts.file = file;
            facts.key = {url_decode(words[2]), url_decode(words[3]), url_decode(words[4])};
            facts.format = url_decode(words[5]);
            facts.section = url_decode(words[6]);
            facts.started_ms = number(words[7]);
        } else if (words[0] == "end" && entries.contains(file)) {
            JournalEntry& entry = entries[file];
            entry.ended = true;
            entry.file.ended_ms = number(words[2]);
            entry.file.duration_ms = number(words[3]);
            entry.file.bytes = static_cast<uint64_t>(number(words[4]));
            entry.file.frames = static_cast<uint64_t>(number(words[5]));
            entry.file.repaired = words[6] == "1";
            entry.file.why = url_decode(words[7]);
        }
    }
    return entries;
}

}  // namespace weir::session
