#include "session/record/growing_indexes.h"

#include "io/deadline.h"
#include "session/record/vod_pieces.h"

namespace weir::session {

GrowingIndexes::Lease::~Lease() {
    if (scan_) {
        scan_->taken = false;
        scan_->free.notify_all();
    }
}

Result<mp4::FileIndex> GrowingIndexes::Lease::read(const VodPiece& piece) {
    if (!scan_) {
        return read_vod_index(piece);
    }
    if (scan_->file) {
        scan_->file->look_again();
    } else {
        WEIR_TRY_ASSIGN(scan_->file, VodFile::open(piece));
    }
    return mp4::FileIndex(scan_->file->index());
}

// Yields.
Result<GrowingIndexes::Lease> GrowingIndexes::take(const VodPiece& piece, io::Deadline deadline) {
    const std::pair name(piece.file.folder + "/" + piece.file.file, piece.file.started_ms);
    auto found = scans_.find(name);
    if (found == scans_.end() && scans_.size() < kMaxFiles) {
        found = scans_.emplace(name, Entry{piece.file, std::make_shared<Scan>(), {}}).first;
    }
    Lease lease;
    if (found == scans_.end()) {
        return lease;
    }
    found->second.asked_at = MonoClock::now();
    const std::shared_ptr<Scan> scan = found->second.scan;  // the entry may go meanwhile
    while (scan->taken) {
        WEIR_TRY(scan->free.wait_until(deadline));
    }
    scan->taken = true;
    lease.scan_ = scan;
    return lease;
}

void GrowingIndexes::tick(const RecordService& service, MonoTime now) {
    std::erase_if(scans_, [&](const auto& scan) {
        const Entry& entry = scan.second;
        return now - entry.asked_at >= kKeep || !vod_file_grows(service, entry.file);
    });
}

}  // namespace weir::session
