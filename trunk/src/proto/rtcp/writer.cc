#include "proto/rtcp/writer.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace weir::rtcp {
namespace {

constexpr uint8_t kVersion2 = 2U << 6U;
constexpr uint8_t kSdesCname = 1;
constexpr size_t kSenderInfoSize = 24;
constexpr size_t kSourcesSize = 8;
constexpr uint16_t kNackMaskBits = 16;
constexpr uint64_t kMaxMantissa = 0x3FFFF;  // 18 bits

constexpr size_t round_up_to_word(size_t size) {
    return (size + 3) / 4 * 4;
}

uint8_t* store_sources(uint8_t* at, const FeedbackSources& sources) {
    store_u32(at, sources.sender_ssrc);
    store_u32(at + 4, sources.media_ssrc);
    return at + kSourcesSize;
}

void store_blocks(uint8_t* at, std::span<const ReportBlock> blocks) {
    for (const ReportBlock& block : blocks) {
        store_u32(at, block.ssrc);
        at[4] = block.fraction_lost;
        // RFC 3550 §6.4.1: 24 bits, signed; it stays at its limits.
        const int32_t lost = std::clamp(block.cumulative_lost, -0x800000, 0x7FFFFF);
        store_u24(at + 5, static_cast<uint32_t>(lost) & 0xFFFFFF);
        store_u32(at + 8, block.highest_sequence);
        store_u32(at + 12, block.jitter);
        store_u32(at + 16, block.last_sr);
        store_u32(at + 20, block.delay_since_sr);
        at += kReportBlockSize;
    }
}

// Writes text behind its length and fills up to `end` with zeros.
void store_text(uint8_t* at, std::string_view text, const uint8_t* end) {
    *at++ = static_cast<uint8_t>(text.size());
    at = std::copy(text.begin(), text.end(), at);
    std::fill_n(at, end - at, uint8_t{0});
}

}  // namespace

uint8_t* CompoundWriter::begin(PacketType type, size_t count, size_t body_size) {
    WEIR_DCHECK(count <= kMaxCount && body_size % 4 == 0);
    if (body_size > room() || room() - body_size < kHeaderSize) {
        return nullptr;
    }
    uint8_t* at = out_.data() + size_;
    at[0] = static_cast<uint8_t>(kVersion2 | count);
    at[1] = static_cast<uint8_t>(type);
    store_u16(at + 2, static_cast<uint16_t>(body_size / 4));
    size_ += kHeaderSize + body_size;
    return at + kHeaderSize;
}

bool CompoundWriter::sender_report(const SenderInfo& info, std::span<const ReportBlock> blocks) {
    uint8_t* at = begin(PacketType::kSenderReport, blocks.size(),
                        kSenderInfoSize + blocks.size() * kReportBlockSize);
    if (!at) {
        return false;
    }
    store_u32(at, info.ssrc);
    store_u64(at + 4, info.ntp_time);
    store_u32(at + 12, info.rtp_time);
    store_u32(at + 16, info.packets);
    store_u32(at + 20, info.octets);
    store_blocks(at + kSenderInfoSize, blocks);
    return true;
}

bool CompoundWriter::receiver_report(uint32_t ssrc, std::span<const ReportBlock> blocks) {
    uint8_t* at =
        begin(PacketType::kReceiverReport, blocks.size(), 4 + blocks.size() * kReportBlockSize);
    if (!at) {
        return false;
    }
    store_u32(at, ssrc);
    store_blocks(at + 4, blocks);
    return true;
}

bool CompoundWriter::source_description(uint32_t ssrc, std::string_view cname) {
    cname = cname.substr(0, kMaxSdesText);
    // SSRC, item type, its length, the text, and at least one zero as the end of the items.
    const size_t body_size = round_up_to_word(4 + 2 + cname.size() + 1);
    uint8_t* at = begin(PacketType::kSourceDescription, 1, body_size);
    if (!at) {
        return false;
    }
    store_u32(at, ssrc);
    at[4] = kSdesCname;
    store_text(at + 5, cname, at + body_size);
    return true;
}

bool CompoundWriter::bye(uint32_t ssrc, std::string_view reason) {
    reason = reason.substr(0, kMaxSdesText);
    const size_t body_size = 4 + (reason.empty() ? 0 : round_up_to_word(1 + reason.size()));
    uint8_t* at = begin(PacketType::kBye, 1, body_size);
    if (!at) {
        return false;
    }
    store_u32(at, ssrc);
    if (!reason.empty()) {
        store_text(at + 4, reason, at + body_size);
    }
    return true;
}

size_t CompoundWriter::nack(const FeedbackSources& sources, std::span<const uint16_t> lost) {
    constexpr size_t kFixedSize = kHeaderSize + kSourcesSize;
    if (lost.empty() || room() < kFixedSize + kNackEntrySize) {
        return 0;
    }
    const size_t most = std::min((room() - kFixedSize) / kNackEntrySize, size_t{UINT16_MAX} / 2);
    uint8_t* const start = out_.data() + size_ + kFixedSize;
    size_t used = 0;
    size_t entries = 0;
    for (; used < lost.size() && entries < most; entries++) {
        const uint16_t first = lost[used++];
        unsigned mask = 0;
        for (; used < lost.size(); used++) {
            const auto distance = static_cast<uint16_t>(lost[used] - first);
            if (distance == 0 || distance > kNackMaskBits) {
                break;
            }
            mask |= 1U << (distance - 1U);
        }
        store_u16(start + entries * kNackEntrySize, first);
        store_u16(start + entries * kNackEntrySize + 2, static_cast<uint16_t>(mask));
    }
    uint8_t* at = begin(PacketType::kTransportFeedback, kGenericNack,
                        kSourcesSize + entries * kNackEntrySize);
    store_sources(at, sources);
    return used;
}

bool CompoundWriter::picture_loss(const FeedbackSources& sources) {
    uint8_t* at = begin(PacketType::kPayloadFeedback, kPictureLoss, kSourcesSize);
    if (!at) {
        return false;
    }
    store_sources(at, sources);
    return true;
}

bool CompoundWriter::full_intra_request(uint32_t sender_ssrc, const FullIntraRequest& request) {
    uint8_t* at =
        begin(PacketType::kPayloadFeedback, kFullIntraRequest, kSourcesSize + kFirEntrySize);
    if (!at) {
        return false;
    }
    at = store_sources(at, {sender_ssrc, 0});
    store_u32(at, request.ssrc);
    store_u32(at + 4, uint32_t{request.sequence} << 24);
    return true;
}

bool CompoundWriter::bitrate_limit(uint32_t sender_ssrc,
                                   uint64_t bits_per_second,
                                   std::span<const uint32_t> sources) {
    WEIR_DCHECK(sources.size() <= UINT8_MAX);
    uint8_t* at = begin(PacketType::kPayloadFeedback, kApplicationLayerFeedback,
                        kSourcesSize + 8 + 4 * sources.size());
    if (!at) {
        return false;
    }
    uint32_t exponent = 0;
    while (bits_per_second > kMaxMantissa) {
        bits_per_second >>= 1U;
        exponent++;
    }
    static constexpr std::array<uint8_t, 4> kName = {'R', 'E', 'M', 'B'};
    at = store_sources(at, {sender_ssrc, 0});
    at = std::copy(kName.begin(), kName.end(), at);
    store_u32(at, static_cast<uint32_t>(sources.size()) << 24 | exponent << 18 |
                      static_cast<uint32_t>(bits_per_second));
    for (uint32_t source : sources) {
        at += 4;
        store_u32(at, source);
    }
    return true;
}

size_t CompoundWriter::transport_feedback(const FeedbackSources& sources,
                                          uint8_t feedback_count,
                                          std::span<const Arrival> arrivals,
                                          uint16_t lost_before) {
    if (arrivals.empty() || room() < kMinTransportFeedbackSize) {
        return 0;
    }
    const WrittenFeedback written = write_transport_feedback(sources, feedback_count, arrivals,
                                                             out_.subspan(size_), lost_before);
    size_ += written.bytes;
    return written.arrivals;
}

}  // namespace weir::rtcp
