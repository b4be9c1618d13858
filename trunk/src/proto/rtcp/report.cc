#include "proto/rtcp/report.h"

namespace weir::rtcp {
namespace {

constexpr uint8_t kSdesEnd = 0;
constexpr uint8_t kSdesCname = 1;

// What follows the fixed part: blocks, then perhaps extensions of a profile, which are ignored.
std::optional<ReportBlocksView> take_blocks(ByteReader& reader, uint8_t count) {
    const ByteSpan blocks = reader.take(kReportBlockSize * count);
    if (!reader.ok()) {
        return std::nullopt;
    }
    return ReportBlocksView(blocks);
}

}  // namespace

ReportBlock ReportBlocksView::operator[](size_t index) const {
    ByteReader reader(blocks_.subspan(index * kReportBlockSize, kReportBlockSize));
    ReportBlock block;
    block.ssrc = reader.u32();
    block.fraction_lost = reader.u8();
    block.cumulative_lost = static_cast<int32_t>(reader.u24() << 8) >> 8;
    block.highest_sequence = reader.u32();
    block.jitter = reader.u32();
    block.last_sr = reader.u32();
    block.delay_since_sr = reader.u32();
    return block;
}

std::optional<ReportBlock> ReportBlocksView::find(uint32_t ssrc) const {
    for (size_t i = 0; i < size(); i++) {
        if (ReportBlock block = (*this)[i]; block.ssrc == ssrc) {
            return block;
        }
    }
    return std::nullopt;
}

std::optional<SenderReport> parse_sender_report(const PacketView& packet) {
    if (packet.type != PacketType::kSenderReport) {
        return std::nullopt;
    }
    ByteReader reader(packet.body);
    SenderReport report;
    report.ssrc = reader.u32();
    report.ntp_time = reader.u64();
    report.rtp_time = reader.u32();
    report.packets = reader.u32();
    report.octets = reader.u32();
    std::optional<ReportBlocksView> blocks = take_blocks(reader, packet.count);
    if (!blocks) {
        return std::nullopt;
    }
    report.blocks = *blocks;
    return report;
}

std::optional<ReceiverReport> parse_receiver_report(const PacketView& packet) {
    if (packet.type != PacketType::kReceiverReport) {
        return std::nullopt;
    }
    ByteReader reader(packet.body);
    const uint32_t ssrc = reader.u32();
    std::optional<ReportBlocksView> blocks = take_blocks(reader, packet.count);
    if (!blocks) {
        return std::nullopt;
    }
    return ReceiverReport{ssrc, *blocks};
}

std::string_view find_cname(const PacketView& packet, uint32_t ssrc) {
    if (packet.type != PacketType::kSourceDescription) {
        return {};
    }
    ByteReader reader(packet.body);
    for (size_t chunk = 0; chunk < packet.count && reader.ok(); chunk++) {
        const bool ours = reader.u32() == ssrc;
        while (reader.ok()) {
            const uint8_t type = reader.u8();
            if (type == kSdesEnd) {
                break;
            }
            const ByteSpan text = reader.take(reader.u8());
            if (ours && type == kSdesCname && reader.ok()) {
                return as_text(text);
            }
        }
        // RFC 3550 §6.5: a chunk ends on a word; its end mark may be one to four zeros long.
        reader.skip((4 - reader.position() % 4) % 4);
    }
    return {};
}

bool says_bye(const PacketView& packet, uint32_t ssrc) {
    if (packet.type != PacketType::kBye) {
        return false;
    }
    ByteReader reader(packet.body);
    for (size_t i = 0; i < packet.count; i++) {
        const uint32_t source = reader.u32();
        if (reader.ok() && source == ssrc) {
            return true;
        }
    }
    return false;
}

}  // namespace weir::rtcp
