#include "bench/load/core/mp4_fragments.h"

#include <algorithm>

#include "bench/load/core/media_file.h"

namespace weir::load {
namespace {

// Flags of 'tfhd' and 'trun' that say which fields are there.
constexpr uint32_t kBaseDataOffset = 0x1;
constexpr uint32_t kDescriptionIndex = 0x2;
constexpr uint32_t kDefaultDuration = 0x8;
constexpr uint32_t kDefaultSize = 0x10;
constexpr uint32_t kDefaultFlags = 0x20;
constexpr uint32_t kBaseIsMoof = 0x20000;
constexpr uint32_t kDataOffset = 0x1;
constexpr uint32_t kFirstSampleFlags = 0x4;
constexpr uint32_t kSampleDuration = 0x100;
constexpr uint32_t kSampleSize = 0x200;
constexpr uint32_t kSampleFlags = 0x400;
constexpr uint32_t kSampleComposition = 0x800;

constexpr uint32_t kNoSyncSample = 0x10000;  // of a sample's own flags
constexpr uint32_t kFlagBits = 0xFFFFFF;
constexpr uint64_t kMaxDecodeTime = uint64_t{1} << 52;

Mp4FragmentedTrack* track_of(uint32_t id, std::span<Mp4FragmentedTrack* const> tracks) {
    auto found = std::find_if(tracks.begin(), tracks.end(),
                              [id](const Mp4FragmentedTrack* each) { return each->id == id; });
    return found == tracks.end() ? nullptr : *found;
}

Error too_short(const Mp4Box& box) {
    return box.wrong("more fields", fmt::format("{} bytes", box.content().size()));
}

// One 'traf': the fields of its 'tfhd', then runs that lie one behind the other.
class TrackFragment {
  public:
    TrackFragment(uint64_t moof_at, uint64_t file_size, uint64_t& data_end)
        : moof_at_(moof_at), file_size_(file_size), data_end_(data_end) {}

    Error read(const Mp4Box& traf, std::span<Mp4FragmentedTrack* const> tracks) {
        WEIR_TRY_ASSIGN(Mp4Box header, traf.child("tfhd"));
        WEIR_TRY(read_header(header, tracks));
        if (track_ == nullptr) {
            return {};
        }
        auto time = traf.child("tfdt");
        if (time.ok()) {
            WEIR_TRY(read_time(*time));
        } else if (time.error().code() != ErrorCode::kNotFound) {
            return time.take_error();
        }
        return traf.each([this](const Mp4Box& box) {
            return box.type() == "trun" ? read_run(box) : Error();
        });
    }

  private:
    Error read_header(const Mp4Box& box, std::span<Mp4FragmentedTrack* const> tracks) {
        ByteReader reader(box.content());
        uint32_t flags = reader.u32() & kFlagBits;
        track_ = track_of(reader.u32(), tracks);
        defaults_ = track_ != nullptr ? track_->defaults : Mp4SampleDefaults();
        base_ = (flags & kBaseIsMoof) != 0 || data_end_ == 0 ? moof_at_ : data_end_;
        if ((flags & kBaseDataOffset) != 0) {
            base_ = reader.u64();
        }
        if ((flags & kDescriptionIndex) != 0) {
            reader.u32();
        }
        if ((flags & kDefaultDuration) != 0) {
            defaults_.duration = reader.u32();
        }
        if ((flags & kDefaultSize) != 0) {
            defaults_.size = reader.u32();
        }
        if ((flags & kDefaultFlags) != 0) {
            defaults_.flags = reader.u32();
        }
        at_ = base_;
        return reader.ok() ? Error() : too_short(box);
    }

    Error read_time(const Mp4Box& box) {
        ByteReader reader(box.content());
        bool wide = reader.u32() >> 24 == 1;
        uint64_t time = wide ? reader.u64() : reader.u32();
        if (!reader.ok() || time > kMaxDecodeTime ||
            static_cast<int64_t>(time) < track_->next_time) {
            return box.wrong(fmt::format("a decoding time of at least {}", track_->next_time),
                             reader.ok() ? fmt::format("{}", time) : "too few bytes");
        }
        track_->next_time = static_cast<int64_t>(time);
        return {};
    }

    Error read_run(const Mp4Box& box) {
        ByteReader reader(box.content());
        uint32_t flags = reader.u32();
        flags &= kFlagBits;
        uint32_t count = reader.u32();
        if ((flags & kDataOffset) != 0) {
            at_ = base_ + static_cast<uint64_t>(int64_t{static_cast<int32_t>(reader.u32())});
        }
        uint32_t first_flags = (flags & kFirstSampleFlags) != 0 ? reader.u32() : defaults_.flags;
        size_t entry = 0;
        for (uint32_t field : {kSampleDuration, kSampleSize, kSampleFlags, kSampleComposition}) {
            entry += (flags & field) != 0 ? 4U : 0U;
        }
        if (!reader.ok() || (entry > 0 && reader.remaining() / entry < count)) {
            return box.wrong(fmt::format("{} samples of {} bytes", count, entry),
                             fmt::format("{} bytes", reader.remaining()));
        }
        if (track_->samples.size() + count > kMaxFileFrames) {
            return make_error(ErrorCode::kLimit, "box 'trun' at byte {}: more than {} samples",
                              box.at(), kMaxFileFrames);
        }
        for (uint32_t i = 0; i < count; i++) {
            WEIR_TRY(read_sample(box, reader, flags, i == 0 ? first_flags : defaults_.flags));
        }
        data_end_ = at_;
        return {};
    }

    Error read_sample(const Mp4Box& box,
                      ByteReader& reader,
                      uint32_t flags,
                      uint32_t sample_flags) {
        Mp4Sample sample;
        sample.duration = (flags & kSampleDuration) != 0 ? reader.u32() : defaults_.duration;
        sample.size = (flags & kSampleSize) != 0 ? reader.u32() : defaults_.size;
        sample_flags = (flags & kSampleFlags) != 0 ? reader.u32() : sample_flags;
        // Signed in both versions of the box, as in read_samples().
        sample.composition =
            (flags & kSampleComposition) != 0 ? static_cast<int32_t>(reader.u32()) : 0;
        sample.key = (sample_flags & kNoSyncSample) == 0;
        sample.offset = at_;
        sample.time = track_->next_time;
        if (sample.size > kMaxFileFrameSize || at_ > file_size_ || sample.size > file_size_ - at_) {
            return box.wrong(fmt::format("samples of at most {} bytes within the file's {}",
                                         kMaxFileFrameSize, file_size_),
                             fmt::format("{} bytes at byte {}", sample.size, at_));
        }
        at_ += sample.size;
        track_->next_time += sample.duration;
        track_->samples.push_back(sample);
        return {};
    }

    uint64_t moof_at_;
    uint64_t file_size_;
    uint64_t& data_end_;  // of the fragment's last run; 0 before the first
    uint64_t base_ = 0;
    uint64_t at_ = 0;  // of the next sample
    Mp4FragmentedTrack* track_ = nullptr;
    Mp4SampleDefaults defaults_;
};

}  // namespace

Error read_track_defaults(const Mp4Box& extends, std::span<Mp4FragmentedTrack* const> tracks) {
    return extends.each([&](const Mp4Box& box) -> Error {
        if (box.type() != "trex") {
            return {};
        }
        ByteReader reader(box.content());
        reader.u32();
        Mp4FragmentedTrack* track = track_of(reader.u32(), tracks);
        reader.u32();
        Mp4SampleDefaults defaults{reader.u32(), reader.u32(), reader.u32()};
        if (!reader.ok()) {
            return too_short(box);
        }
        if (track != nullptr) {
            track->defaults = defaults;
        }
        return {};
    });
}

Error read_fragment(const Mp4Box& moof,
                    uint64_t moof_at,
                    uint64_t file_size,
                    std::span<Mp4FragmentedTrack* const> tracks) {
    uint64_t data_end = 0;
    return moof.each([&](const Mp4Box& box) {
        return box.type() == "traf"
                   ? TrackFragment(moof_at, file_size, data_end).read(box, tracks)
                   : Error();
    });
}

}  // namespace weir::load
