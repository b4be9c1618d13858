#include "diagnosis/leak_judge.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace weir::diagnosis {
namespace {

// "1,045 bytes in 10 blocks"
std::string words(const LeakAmount& amount, bool blocks_known) {
    const auto grouped = [](int64_t value) {
        std::string digits = std::to_string(value < 0 ? -value : value);
        for (auto at = static_cast<int64_t>(digits.size()) - 3; at > 0; at -= 3) {
            digits.insert(static_cast<size_t>(at), 1, ',');
        }
        return value < 0 ? "-" + digits : digits;
    };
    if (!blocks_known) {
        return grouped(amount.bytes) + " bytes";
    }
    return fmt::format("{} bytes in {} block{}", grouped(amount.bytes), grouped(amount.blocks),
                       amount.blocks == 1 ? "" : "s");
}

bool is_listed(const LeakRecord& record, LeakCheck check) {
    switch (check) {
        case LeakCheck::kFull: return true;
        case LeakCheck::kAdded: return record.delta.bytes > 0 || record.delta.blocks > 0;
        case LeakCheck::kChanged: return record.delta.bytes != 0 || record.delta.blocks != 0;
        case LeakCheck::kNew: return record.fresh;
        case LeakCheck::kQuick: return false;
    }
    return false;
}

void choose(std::vector<LeakRecord>& records, LeakCheck check, std::string& note) {
    std::erase_if(records, [&](const LeakRecord& record) { return !is_listed(record, check); });
    std::ranges::stable_sort(records, [](const LeakRecord& a, const LeakRecord& b) {
        if (a.kind != b.kind) {
            return a.kind < b.kind;
        }
        return a.delta.bytes != b.delta.bytes ? a.delta.bytes > b.delta.bytes
                                              : a.now.bytes > b.now.bytes;
    });
    if (records.size() > kMaxReportRecords) {
        note += fmt::format("{}the worst {} of {} records", note.empty() ? "" : "; ",
                            kMaxReportRecords, records.size());
        records.resize(kMaxReportRecords);
    }
}

// Where most of what grew comes from: " most of it allocated by f (file:line)".
std::string blame(const std::vector<LeakRecord>& records, bool (*wanted)(LeakKind)) {
    const LeakRecord* worst = nullptr;
    for (const LeakRecord& record : records) {
        if (wanted(record.kind) && record.delta.bytes > (worst ? worst->delta.bytes : 0)) {
            worst = &record;
        }
    }
    const std::string place = worst ? place_of(*worst) : std::string();
    return place.empty() ? std::string() : ", most of it allocated in " + place;
}

bool is_lost(LeakKind kind) {
    return kind == LeakKind::kDefinitely || kind == LeakKind::kIndirectly;
}

bool is_possibly(LeakKind kind) {
    return kind == LeakKind::kPossibly;
}

bool is_reachable(LeakKind kind) {
    return kind == LeakKind::kReachable;
}

// Why the verdict is clean; `grew`: more is in use, which is no verdict yet.
std::string clean_reason(const LeakReport& report, bool grew) {
    const LeakTotal& definitely = total_of(report.totals, LeakKind::kDefinitely);
    const LeakTotal& reachable = total_of(report.totals, LeakKind::kReachable);
    std::string reason;
    if (!definitely.known) {
        reason = report.first ? "nothing to compare with yet"
                              : "this tool sees only growth, not what is lost";
    } else {
        reason = report.first ? "nothing is lost" : "nothing was lost since the last check";
        LeakAmount lost = definitely.now;
        lost += total_of(report.totals, LeakKind::kIndirectly).now;
        if (lost.bytes > 0) {
            reason += fmt::format("; {} from before stay lost", words(lost, true));
        }
    }
    if (grew) {
        reason += fmt::format("; {} more in use", words(reachable.delta, reachable.blocks_known));
        reason += report.clients == 0
                      ? ": if it grows again at the next check without clients, the verdict is "
                        "growing"
                      : fmt::format(", with {} client{} connected", report.clients,
                                    report.clients == 1 ? "" : "s");
    } else if (!report.first && !definitely.known) {
        reason += "; nothing grew";
    }
    return reason;
}

LeakAmount positive(const LeakAmount& amount) {
    return amount.bytes > 0 ? amount : LeakAmount{};
}

}  // namespace

LeakJudge::LeakJudge(LeakThresholds thresholds) : thresholds_(thresholds) {
    remembered_.reserve(kMaxRememberedRecords);
}

LeakReport LeakJudge::judge(RawLeaks raw,
                            LeakCheck check,
                            size_t clients,
                            const std::function<void(std::vector<LeakRecord>&)>& name_stacks) {
    LeakReport report;
    report.check = check;
    report.thresholds = thresholds_;
    report.first = !has_previous_;
    report.clients = clients;
    report.totals = raw.totals;
    report.records_note = std::move(raw.note);
    fill_totals(report);
    merge_same(raw.records);
    fill_deltas(raw.records);
    const bool was_stale = stale_;
    remember(raw, report);
    if (check == LeakCheck::kQuick && report.records_note.empty()) {
        report.records_note = "a quick check gives totals only";
    }
    report.records = std::move(raw.records);
    PossiblyNew possibly_new = PossiblyNew::kUnknown;
    if (raw.has_records && check != LeakCheck::kQuick) {
        const bool fresh = std::ranges::any_of(report.records, [](const LeakRecord& record) {
            return record.kind == LeakKind::kPossibly && record.fresh;
        });
        // A record that has gone and come back unseen does not look fresh.
        possibly_new = fresh       ? PossiblyNew::kYes
                       : was_stale ? PossiblyNew::kUnknown
                                   : PossiblyNew::kNo;
    }
    choose(report.records, check, report.records_note);
    if (name_stacks) {
        name_stacks(report.records);
    }
    give_verdict(report, possibly_new);
    return report;
}

void LeakJudge::fill_totals(LeakReport& report) const {
    for (size_t i = 0; i < kLeakKinds; i++) {
        LeakTotal& total = report.totals[i];
        total.delta =
            has_previous_ && previous_[i].known ? total.now - previous_[i].now : total.now;
    }
    // A tool that could not tell the two kinds of lost blocks apart, now or before, has them all in
    // the first one.
    LeakTotal& definitely = total_of(report.totals, LeakKind::kDefinitely);
    LeakTotal& indirectly = total_of(report.totals, LeakKind::kIndirectly);
    const LeakTotal& indirectly_before = total_of(previous_, LeakKind::kIndirectly);
    if (has_previous_ && indirectly.known != indirectly_before.known) {
        LeakAmount lost = definitely.now;
        lost += indirectly.now;
        LeakAmount before = total_of(previous_, LeakKind::kDefinitely).now;
        before += indirectly_before.now;
        definitely.delta = lost - before;
        indirectly.delta = {};
    }
}

void LeakJudge::fill_deltas(std::vector<LeakRecord>& records) const {
    for (LeakRecord& record : records) {
        const auto found = std::ranges::lower_bound(remembered_, record.key, {}, &Remembered::key);
        const bool known = found != remembered_.end() && found->key == record.key;
        if (!record.has_delta) {
            record.delta = known ? record.now - found->amount : record.now;
        }
        record.fresh = record.has_delta ? record.delta == record.now : !known;
    }
}

void LeakJudge::remember(const RawLeaks& raw, const LeakReport& report) {
    has_previous_ = true;
    previous_ = report.totals;
    if (!raw.has_records) {
        return;
    }
    if (raw.all_records) {
        remembered_.clear();
    }
    stale_ = !raw.all_records && (stale_ || !raw.all_changes);
    for (const LeakRecord& record : raw.records) {  // by key, so that this is a merge of two orders
        auto at = std::ranges::lower_bound(remembered_, record.key, {}, &Remembered::key);
        const bool known = at != remembered_.end() && at->key == record.key;
        if (known && record.now == LeakAmount{}) {
            remembered_.erase(at);
        } else if (known) {
            at->amount = record.now;
        } else if (remembered_.size() < kMaxRememberedRecords) {
            remembered_.insert(at, {record.key, record.now});
        }
    }
}

bool LeakJudge::lost_more(LeakReport& report, PossiblyNew possibly_new) const {
    const LeakTotal& definitely = total_of(report.totals, LeakKind::kDefinitely);
    const LeakTotal& indirectly = total_of(report.totals, LeakKind::kIndirectly);
    const LeakTotal& possibly = total_of(report.totals, LeakKind::kPossibly);
    const char* since = report.first ? " since the start of the process" : " since the last check";
    if (definitely.delta.bytes >= thresholds_.lost_bytes ||
        indirectly.delta.bytes >= thresholds_.lost_bytes) {
        LeakAmount lost = positive(definitely.delta);
        lost += positive(indirectly.delta);
        report.reason =
            fmt::format("{} lost{}{}", words(lost, true), since, blame(report.records, &is_lost));
        return true;
    }
    if (report.first || possibly.delta.bytes < thresholds_.possibly_bytes) {
        return false;  // threads and libraries that start hold some by interior pointers
    }
    if (possibly_new == PossiblyNew::kNo ||
        (possibly_new == PossiblyNew::kUnknown && possibly.delta.blocks <= 0)) {
        return false;
    }
    report.reason =
        fmt::format("{} possibly lost{}{}{}", words(possibly.delta, true), since,
                    possibly_new == PossiblyNew::kYes ? ", with a new record"
                                                      : " (whether with a new record is unknown)",
                    blame(report.records, &is_possibly));
    return true;
}

void LeakJudge::give_verdict(LeakReport& report, PossiblyNew possibly_new) {
    const LeakTotal& reachable = total_of(report.totals, LeakKind::kReachable);
    const bool grew = !report.first && reachable.delta.bytes >= thresholds_.growing_bytes;
    if (grew && report.clients == 0) {
        growths_++;
        grown_bytes_ += reachable.delta.bytes;
    } else {
        growths_ = 0;
        grown_bytes_ = 0;
    }
    if (lost_more(report, possibly_new)) {
        report.verdict = LeakVerdict::kLeaking;
        return;
    }
    if (growths_ >= thresholds_.growing_checks) {
        report.verdict = LeakVerdict::kGrowing;
        report.reason = fmt::format("{} more in use after {} checks in a row without a client{}",
                                    words({grown_bytes_, 0}, false), growths_,
                                    blame(report.records, &is_reachable));
        return;
    }
    report.reason = clean_reason(report, grew);
}

}  // namespace weir::diagnosis
