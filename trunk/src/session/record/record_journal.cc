#include "session/record/record_journal.h"

#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "io/folder_seat.h"

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

std::string journal_name(uint32_t process) {
    return io::FolderSeat::name_of(kJournalName, process);
}

std::optional<JournalLine> parse_journal_line(std::string_view text) {
    constexpr size_t kFields = 8;
    const auto words = split(text, '\t');
    if (words.size() < 2) {
        return std::nullopt;
    }
    JournalLine line;
    RecordedFile& file = line.file;
    file.file = url_decode(words[1]);
    if (words[0] == "gone") {
        return line;
    }
    if (words.size() != kFields) {
        return std::nullopt;
    }
    if (words[0] == "begin") {
        line.kind = JournalLine::Kind::kBegin;
        file.key = {url_decode(words[2]), url_decode(words[3]), url_decode(words[4])};
        file.format = url_decode(words[5]);
        file.section = url_decode(words[6]);
        file.started_ms = number(words[7]);
        return line;
    }
    if (words[0] != "end") {
        return std::nullopt;
    }
    line.kind = JournalLine::Kind::kEnd;
    file.ended_ms = number(words[2]);
    file.duration_ms = number(words[3]);
    file.bytes = static_cast<uint64_t>(number(words[4]));
    file.frames = static_cast<uint64_t>(number(words[5]));
    file.repaired = words[6] == "1";
    file.why = url_decode(words[7]);
    return line;
}

void take_end(const RecordedFile& line, RecordedFile& file) {
    file.ended_ms = line.ended_ms;
    file.duration_ms = line.duration_ms;
    file.bytes = line.bytes;
    file.frames = line.frames;
    file.repaired = line.repaired;
    file.why = line.why;
}

std::map<std::string, JournalEntry> read_journal(std::string_view text) {
    std::map<std::string, JournalEntry> entries;
    while (!text.empty()) {
        const Halves halves = split_once(text, '\n');
        text = halves.after;
        if (!halves.found) {
            break;  // the server ended while it was written
        }
        std::optional<JournalLine> line = parse_journal_line(halves.before);
        if (!line) {
            continue;
        }
        const std::string name = line->file.file;
        const auto known = entries.find(name);
        if (line->kind == JournalLine::Kind::kGone) {
            entries.erase(name);
        } else if (line->kind == JournalLine::Kind::kBegin) {
            if (known != entries.end() || entries.size() < kMaxJournalFiles) {
                entries[name] = {std::move(line->file), false};
            }
        } else if (known != entries.end()) {
            known->second.ended = true;
            take_end(line->file, known->second.file);
        }
    }
    return entries;
}

}  // namespace weir::session
