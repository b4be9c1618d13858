#include "session/record/vod_file.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "io/folder_files.h"
#include "proto/mp4/box_reader.h"
#include "proto/mp4/one_audio.h"
#include "session/record/record_folder.h"

namespace weir::session {
namespace {

constexpr size_t kUsualHeaderBytes = 16u * 1024;
constexpr size_t kMaxIndexBytes = 32u << 20;
constexpr size_t kScanWindow = 16u * 1024;  // a moof of two seconds has less
constexpr size_t kBoxHeads = 16;

Result<Bytes> read_at(int fd, uint64_t offset, size_t size) {
    Bytes out(size);
    size_t filled = 0;
    while (filled < size) {
        const ssize_t got =
            ::pread(fd, out.data() + filled, size - filled, static_cast<off_t>(offset + filled));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return Error::from_errno(errno, "reading a recording");
        }
        if (got == 0) {
            break;
        }
        filled += static_cast<size_t>(got);
    }
    out.resize(filled);
    return out;
}

// As far as whole fragments stand.
void scan_on(int fd, uint64_t size, mp4::FileScan& scan) {
    size_t window = kScanWindow;
    while (scan.position() < size) {
        const uint64_t left = size - scan.position();
        auto bytes =
            read_at(fd, scan.position(), static_cast<size_t>(std::min<uint64_t>(window, left)));
        if (!bytes.ok()) {
            return;
        }
        const auto next = scan.advance(*bytes, left);
        if (next.bytes == 0 && next.need <= window) {
            return;
        }
        window = next.bytes > 0 ? kScanWindow : next.need;
    }
}

}  // namespace

Result<io::OwnFd> open_vod_piece(const VodPiece& piece) {
    if (piece.grows) {
        auto growing =
            io::open_below(piece.file.folder, piece.file.file + std::string(kGrowingEnd));
        if (growing.ok() || growing.error().code() != ErrorCode::kNotFound) {
            return growing;
        }
    }
    return io::open_below(piece.file.folder, piece.file.file);
}

Result<uint64_t> VodFile::size() const {
    struct stat facts {};

    if (::fstat(fd_.get(), &facts) != 0) {
        return Error::from_errno(errno, "a recording");
    }
    return static_cast<uint64_t>(facts.st_size);
}

Result<std::unique_ptr<VodFile>> VodFile::open(const VodPiece& piece) {
    WEIR_TRY_ASSIGN(io::OwnFd fd, open_vod_piece(piece));
    std::unique_ptr<VodFile> file(new VodFile(std::move(fd)));  // NOLINT: private constructor
    WEIR_TRY(file->read_index());
    WEIR_TRY(file->read_header());
    return file;
}

Result<mp4::FileIndex> read_vod_index(const VodPiece& piece) {
    WEIR_TRY_ASSIGN(const std::unique_ptr<VodFile> file, VodFile::open(piece));
    return file->index();
}

Result<Bytes> read_vod_header(const VodPiece& piece) {
    WEIR_TRY_ASSIGN(const io::OwnFd fd, open_vod_piece(piece));
    for (const size_t most : {kUsualHeaderBytes, mp4::kMaxHeaderBytes}) {
        WEIR_TRY_ASSIGN(const Bytes head, read_at(fd.get(), 0, most));
        size_t end = 0;
        mp4::for_each_box(head, [&](std::string_view type, ByteSpan content, size_t offset) {
            end = type == "moov" && end == 0 ? offset + content.size() : end;
        });
        if (end > 0) {
            const ByteSpan header = ByteSpan(head).first(end);
            return mp4::one_audio_header(header).value_or(Bytes(header.begin(), header.end()));
        }
    }
    return make_error(ErrorCode::kMalformed, "it has no header");
}

Error VodFile::read_header() {
    WEIR_TRY_ASSIGN(const Bytes head,
                    read_at(fd_.get(), 0, static_cast<size_t>(index_.header_bytes)));
    tracks_ = mp4::read_tracks(head);
    const bool any = std::ranges::any_of(tracks_, [](const mp4::StoredTrack& track) {
        return track.codec != media::Codec::kUnknown;
    });
    return any ? Error() : make_error(ErrorCode::kMalformed, "it has no track that is known");
}

Error VodFile::read_index() {
    WEIR_TRY_ASSIGN(const uint64_t whole, size());
    uint64_t tail_size = 0;
    if (whole >= mp4::kIndexEnd) {
        WEIR_TRY_ASSIGN(const Bytes end,
                        read_at(fd_.get(), whole - mp4::kIndexEnd, mp4::kIndexEnd));
        tail_size = mp4::index_size(end);
    }
    if (tail_size > 0 && tail_size <= whole && tail_size <= kMaxIndexBytes) {
        WEIR_TRY_ASSIGN(const Bytes tail,
                        read_at(fd_.get(), whole - tail_size, static_cast<size_t>(tail_size)));
        // A header is some kilobytes; a playlist may be over a thousand files.
        for (const size_t most : {kUsualHeaderBytes, mp4::kMaxHeaderBytes}) {
            WEIR_TRY_ASSIGN(const Bytes head, read_at(fd_.get(), 0, most));
            auto index = mp4::read_file_index(head, tail, whole);
            if (index.ok()) {
                index_ = std::move(*index);
                return {};
            }
        }
    }
    scanned_ = true;
    look_again();
    return index_.spans.empty()
               ? make_error(ErrorCode::kMalformed, "it has neither an index nor a whole fragment")
               : Error();
}

void VodFile::look_again() {
    const auto whole = size();
    if (scanned_ && whole.ok()) {
        scan_on(fd_.get(), *whole, scan_);
        index_ = scan_.spans();
    }
}

int64_t VodFile::duration_ms() const {
    const mp4::FileSpan& last = index_.spans.back();
    return last.time_ms + last.duration_ms;
}

uint64_t VodFile::offset_of(int64_t time_ms) const {
    const auto after = std::ranges::upper_bound(index_.spans, time_ms, {}, &mp4::FileSpan::time_ms);
    return after == index_.spans.begin() ? after->offset : std::prev(after)->offset;
}

Result<VodFile::Got> VodFile::read(uint64_t& offset, VodFragment& out) {
    WEIR_TRY_ASSIGN(const uint64_t whole, size());
    if (offset >= whole || whole - offset < kBoxHeads) {
        return Got::kNotYet;
    }
    WEIR_TRY_ASSIGN(const Bytes begin, read_at(fd_.get(), offset, kBoxHeads));
    const size_t moof = mp4::moof_size(begin);
    if (moof == 0) {
        return Got::kEnd;  // the index, or what a crash has left
    }
    if (whole - offset < moof + kBoxHeads) {
        return Got::kNotYet;
    }
    WEIR_TRY_ASSIGN(const Bytes data, read_at(fd_.get(), offset + moof, kBoxHeads));
    const auto size = mp4::fragment_size(moof, data);
    if (!size) {
        return make_error(ErrorCode::kMalformed, "a fragment without media");
    }
    if (whole - offset < size->whole) {
        return Got::kNotYet;
    }
    WEIR_TRY_ASSIGN(out.bytes, read_at(fd_.get(), offset, static_cast<size_t>(size->whole)));
    auto samples = mp4::read_samples(out.bytes, tracks_);
    if (!samples) {
        return make_error(ErrorCode::kMalformed, "a fragment that cannot be read");
    }
    out.samples = std::move(*samples);
    offset += size->whole;
    return Got::kFragment;
}

}  // namespace weir::session
