// Sections of tables (ISO/IEC 13818-1 §2.4.4): put together from the payloads of packets, with
// their CRC checked.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace weir::mpegts {

// Of a PAT or PMT with its header (§2.4.4.5, §2.4.4.9); longer ones are none.
inline constexpr size_t kMaxSectionBytes = 1024;
inline constexpr size_t kSectionHeaderSize = 8;  // with extension, version and numbers
inline constexpr size_t kCrcSize = 4;

// CRC-32/MPEG-2 (annex A). Over a section with its CRC it gives 0.
uint32_t crc32(ByteSpan bytes);

class SectionAssembler {
  public:
    // The payload of the next packet of the PID; `start`: payload_unit_start_indicator. Calls
    // visit(ByteSpan section) for each section that is whole now and has the right CRC.
    template <typename Visit>
    void feed(ByteSpan payload, bool start, Visit&& visit) {
        if (start) {
            const size_t pointer = payload.empty() ? 0 : payload[0];
            if (payload.size() < 1 + pointer) {
                reset();
                bad_++;
                return;
            }
            add(payload.subspan(1, pointer), visit);
            reset();
            open_ = true;
            payload = payload.subspan(1 + pointer);
        }
        add(payload, visit);
    }

    // Packets are missing: the section that is being put together is lost.
    void reset() {
        data_.clear();
        open_ = false;
    }

    // Sections with a wrong CRC or a length that cannot be.
    uint64_t bad() const { return bad_; }

  private:
    enum class Next : uint8_t { kNeedMore, kSection, kBad };

    template <typename Visit>
    void add(ByteSpan bytes, Visit&& visit) {
        if (!open_ || bytes.empty()) {
            return;
        }
        data_.insert(data_.end(), bytes.begin(), bytes.end());
        for (;;) {
            size_t size = 0;
            switch (look(size)) {
                case Next::kNeedMore: return;
                case Next::kSection: visit(ByteSpan(data_).first(size)); break;
                case Next::kBad: bad_++; break;
            }
            data_.erase(data_.begin(), data_.begin() + static_cast<std::ptrdiff_t>(size));
        }
    }

    // What stands first in data_; its size. Where that says nothing of what follows, all is
    // dropped.
    Next look(size_t& size);

    Bytes data_;  // at most kMaxSectionBytes and a payload
    bool open_ = false;
    uint64_t bad_ = 0;
};

}  // namespace weir::mpegts
