#include "proto/mpegts/programs.h"

#include <algorithm>
#include <utility>

namespace weir::mpegts {
namespace {

bool has_stream(const Pmt& pmt, bool (*of_kind)(Content)) {
    return std::ranges::any_of(pmt.streams, of_kind, &StreamInfo::content);
}

bool is_cut(Content content) {
    return content == Content::kH264 || content == Content::kHevc;
}

}  // namespace

bool Programs::on_pat(ByteSpan section) {
    const std::optional<Pat> pat = Pat::parse(section);
    if (!pat) {
        return false;
    }
    if (version_ != pat->version) {
        version_ = pat->version;
        sections_.clear();
    }
    const auto place = std::ranges::lower_bound(sections_, pat->section, {}, &Section::number);
    if (place != sections_.end() && place->number == pat->section) {
        place->entries = pat->programs;
    } else {
        sections_.insert(place, {pat->section, pat->programs});
    }
    if (sections_.size() != size_t{pat->last_section} + 1) {
        return false;
    }
    std::vector<Pat::Entry> all;
    for (const Section& each : sections_) {
        const size_t room = kMaxPatEntries - all.size();
        all.insert(all.end(), each.entries.begin(),
                   each.entries.begin() +
                       static_cast<std::ptrdiff_t>(std::min(room, each.entries.size())));
    }
    if (all == entries_) {
        return false;
    }
    entries_ = std::move(all);
    follow();
    choose();
    return true;
}

// Takes over what is known of programmes that are still there.
void Programs::follow() {
    std::vector<Program> next;
    for (const Pat::Entry& entry : entries_) {
        if (next.size() == kMaxPrograms) {
            break;
        }
        if (wanted_ != 0 && entry.program != wanted_) {
            continue;
        }
        const auto known = std::ranges::find(programs_, entry, &Program::entry);
        next.push_back(known == programs_.end() ? Program{entry, std::nullopt, 0} : *known);
    }
    programs_ = std::move(next);
    if (taken_ && std::ranges::find(programs_, *taken_, &Program::entry) == programs_.end()) {
        taken_.reset();
    }
}

bool Programs::on_pmt(uint16_t pid, ByteSpan section) {
    std::optional<Pmt> pmt = Pmt::parse(section);
    if (!pmt) {
        return false;
    }
    const auto found = std::ranges::find(programs_, Pat::Entry{pmt->program, pid}, &Program::entry);
    if (found == programs_.end()) {
        return false;
    }
    found->seen++;
    const bool changed = !found->pmt || *found->pmt != *pmt;
    found->pmt = std::move(pmt);
    return choose() || (changed && taken_ == found->entry);
}

// True: one is taken now.
bool Programs::choose() {
    if (taken_) {
        return false;
    }
    const Program* const program = best();
    if (program != nullptr) {
        taken_ = program->entry;
    }
    return program != nullptr;
}

const Programs::Program* Programs::best() const {
    const bool patient =
        std::ranges::none_of(programs_, [](const Program& each) { return each.seen >= kPatience; });
    const Program* any_video = nullptr;
    const Program* first = nullptr;
    for (const Program& each : programs_) {
        if (!each.pmt) {
            if (patient) {
                return nullptr;  // it may be the one
            }
            continue;
        }
        if (has_stream(*each.pmt, is_cut)) {
            return &each;
        }
        if (any_video == nullptr && has_stream(*each.pmt, is_video)) {
            any_video = &each;
        }
        first = first == nullptr ? &each : first;
    }
    return any_video != nullptr ? any_video : first;
}

std::vector<uint16_t> Programs::pmt_pids() const {
    std::vector<uint16_t> pids;
    for (const Program& program : programs_) {
        if (std::ranges::find(pids, program.entry.pid) == pids.end()) {
            pids.push_back(program.entry.pid);
        }
    }
    return pids;
}

const Pmt* Programs::taken() const {
    if (!taken_) {
        return nullptr;
    }
    const auto found = std::ranges::find(programs_, *taken_, &Program::entry);
    return found == programs_.end() || !found->pmt ? nullptr : &*found->pmt;
}

}  // namespace weir::mpegts
