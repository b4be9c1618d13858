#include "session/record/record_scan.h"

#include <algorithm>
#include <utility>

#include "proto/flv/recording.h"
#include "proto/mp4/recording.h"
#include "proto/mpegts/packet.h"
#include "proto/mpegts/writer.h"

namespace weir::session {
namespace {

template <typename Scan>
class ScanOf : public RecordScan {
  public:
    Advance advance(ByteSpan window, uint64_t left) override {
        const auto next = scan_.advance(window, left);
        return {next.bytes, next.need};
    }

    uint64_t position() const override { return scan_.position(); }

    bool playable() const override { return scan_.playable() && scan_.frames() > 0; }

    uint64_t frames() const override { return scan_.frames(); }

    int64_t duration_ms() const override { return scan_.duration_ms(); }

    std::vector<Patch> patches() const override {
        std::vector<Patch> list;
        for (auto& patch : scan_.patches()) {
            list.push_back({patch.offset, std::move(patch.bytes)});
        }
        return list;
    }

  protected:
    Scan scan_;
};

class Mp4Scan final : public ScanOf<mp4::FileScan> {
  public:
    Bytes index() const override { return scan_.index(); }
};

using FlvScan = ScanOf<flv::FileScan>;

// Packets of 188 bytes. The beginnings of PES packets are counted as frames (ISO/IEC 13818-1
// §2.4.3.2: payload_unit_start_indicator). The time is that of the PCR
// (§2.4.3.5).
class TsScan final : public RecordScan {
  public:
    Advance advance(ByteSpan window, uint64_t left) override {
        if (left < mpegts::kPacketSize) {
            return {};
        }
        if (window.size() < mpegts::kPacketSize) {
            return {.need = mpegts::kPacketSize};
        }
        uint64_t taken = 0;
        while (window.size() - taken >= mpegts::kPacketSize) {
            const ByteSpan packet = window.subspan(taken, mpegts::kPacketSize);
            if (packet[0] != kSync) {
                break;
            }
            take_packet(packet);
            taken += mpegts::kPacketSize;
        }
        position_ += taken;
        return {.bytes = taken};
    }

    uint64_t position() const override { return position_; }

    bool playable() const override { return frames_ > 0; }

    uint64_t frames() const override { return frames_; }

    int64_t duration_ms() const override {
        return first_pcr_ < 0 ? -1 : (last_pcr_ - first_pcr_) / (mpegts::kClockHz / 1000);
    }

    std::vector<Patch> patches() const override { return {}; }

  private:
    static constexpr uint8_t kSync = 0x47;

    void take_packet(ByteSpan packet) {
        ByteReader reader(packet.subspan(1));
        const uint16_t head = reader.u16();
        const uint8_t control = reader.u8();
        const bool starts = (head & 0x4000) != 0;
        const uint16_t pid = head & 0x1FFF;
        if (starts && pid >= mpegts::kFirstWrittenPid && pid < mpegts::kWrittenPmtPid) {
            frames_++;
        }
        if ((control & 0x20) != 0 && reader.u8() >= 7 && (reader.u8() & 0x10) != 0) {
            const int64_t base = static_cast<int64_t>(reader.u32()) << 1 | reader.u8() >> 7;
            constexpr int64_t kWrap = int64_t{1} << 33;
            first_pcr_ = first_pcr_ < 0 ? base : first_pcr_;
            wraps_ += base + kWrap / 2 < last_base_ ? 1 : 0;
            last_base_ = base;
            last_pcr_ = std::max(last_pcr_, base + wraps_ * kWrap);
        }
    }

    uint64_t position_ = 0;
    uint64_t frames_ = 0;
    int64_t first_pcr_ = -1;
    int64_t last_pcr_ = -1;
    int64_t last_base_ = -1;
    int64_t wraps_ = 0;
};

}  // namespace

std::string_view to_string(RecordFormat format) {
    switch (format) {
        case RecordFormat::kMp4: return "mp4";
        case RecordFormat::kFlv: return "flv";
        case RecordFormat::kTs: return "ts";
    }
    return {};
}

std::unique_ptr<RecordScan> RecordScan::create(RecordFormat format) {
    switch (format) {
        case RecordFormat::kMp4: return std::make_unique<Mp4Scan>();
        case RecordFormat::kFlv: return std::make_unique<FlvScan>();
        case RecordFormat::kTs: return std::make_unique<TsScan>();
    }
    return nullptr;
}

void RecordScan::take(ByteSpan bytes) {
    while (!bytes.empty()) {
        const Advance next = advance(bytes, bytes.size());
        if (next.bytes == 0) {
            return;
        }
        bytes = bytes.subspan(static_cast<size_t>(next.bytes));
    }
}

}  // namespace weir::session
