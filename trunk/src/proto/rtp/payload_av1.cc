#include "proto/rtp/payload_av1.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace weir::rtp {
namespace {

namespace av1 = media::av1;
using av1::ObuType;

constexpr uint8_t kContinuesBit = 0x80;  // Z
constexpr uint8_t kGoesOnBit = 0x40;     // Y
constexpr unsigned kCountShift = 4;      // W
constexpr uint8_t kNewSequenceBit = 0x08;
constexpr size_t kMaxCounted = 3;
constexpr size_t kAggregationHeaderSize = 1;
constexpr size_t kMaxSizeField = 4;  // of elements below 256 MiB

// RTP payload format §5: not sent, and left out when received.
bool is_superfluous(ObuType type) {
    return type == ObuType::kTemporalDelimiter || type == ObuType::kTileList ||
           type == ObuType::kPadding;
}

bool begins_unit(ObuType type) {
    return type == ObuType::kSequenceHeader || type == ObuType::kFrame ||
           type == ObuType::kFrameHeader || type == ObuType::kTemporalDelimiter;
}

// Of a payload that begins with an OBU's first byte.
std::optional<ObuType> first_type(ByteSpan payload) {
    ByteReader reader(payload);
    if ((reader.u8() >> kCountShift & 3) != 1) {
        av1::read_leb128(reader);
    }
    const uint8_t first = reader.u8();
    return reader.ok() ? std::optional(av1::obu_type(first)) : std::nullopt;
}

// The bytes of an OBU as they are sent: header without size field, then payload.
struct Element {
    std::array<uint8_t, 2> head{};
    size_t head_size = 1;
    ByteSpan payload;

    explicit Element(const av1::ObuView& obu) : payload(obu.payload) {
        head[0] = static_cast<uint8_t>(obu.header & ~av1::kObuHasSize);
        head[1] = obu.extension;
        head_size = obu.has_extension() ? 2 : 1;
    }

    size_t size() const { return head_size + payload.size(); }
};

// The packet that is being filled.
class Filler {
  public:
    Filler(PayloadSink& sink, size_t room, bool new_sequence)
        : sink_(sink), room_(room), new_sequence_(new_sequence) {}

    // `last`: of the temporal unit.
    void add(const Element& element, bool last) {
        size_t at = 0;
        while (true) {
            const size_t left = element.size() - at;
            const size_t space = room_ - used_;
            const size_t with_size = av1::leb128_size(left) + left;
            const bool one_more = count_ + 1 < kMaxCounted && !last && with_size < space;
            const size_t piece = std::min(left, space);
            put(element, at, piece, one_more);
            at += piece;
            if (at == element.size()) {
                if (!one_more) {
                    flush(false, last);
                }
                return;
            }
            flush(true, false);
        }
    }

  private:
    void put(const Element& element, size_t at, size_t size, bool sized) {
        Slot& slot = slots_[count_++];
        continues_ = continues_ || (count_ == 1 && at > 0);
        slot.size_field_size = sized ? av1::write_leb128(size, slot.size_field.data()) : 0;
        slot.head = element.head;
        slot.head_at = std::min(at, element.head_size);
        slot.head_size = std::min(element.head_size - slot.head_at, size);
        const size_t payload_at = at - slot.head_at;
        slot.payload = element.payload.subspan(payload_at, size - slot.head_size);
        used_ += slot.size_field_size + size;
    }

    void flush(bool goes_on, bool last) {
        const auto header =
            static_cast<uint8_t>((continues_ ? kContinuesBit : 0) | (goes_on ? kGoesOnBit : 0) |
                                 count_ << kCountShift | (new_sequence_ ? kNewSequenceBit : 0));
        std::array<ByteSpan, 1 + 3 * kMaxCounted> parts;
        size_t used = 0;
        parts[used++] = {&header, 1};
        for (const Slot& slot : std::span(slots_).first(count_)) {
            parts[used++] = ByteSpan(slot.size_field).first(slot.size_field_size);
            parts[used++] = ByteSpan(slot.head).subspan(slot.head_at, slot.head_size);
            parts[used++] = slot.payload;
        }
        sink_.on_payload(std::span(parts).first(used), last);
        count_ = 0;
        used_ = 0;
        continues_ = false;
        new_sequence_ = false;
    }

    struct Slot {
        std::array<uint8_t, av1::kMaxLeb128Size> size_field{};
        size_t size_field_size = 0;
        std::array<uint8_t, 2> head{};
        size_t head_at = 0;
        size_t head_size = 0;
        ByteSpan payload;
    };

    PayloadSink& sink_;
    size_t room_;  // of elements in a packet
    std::array<Slot, kMaxCounted> slots_;
    size_t count_ = 0;
    size_t used_ = 0;
    bool continues_ = false;
    bool new_sequence_;
};

// Calls visit(const Element&) for each OBU that is sent.
template <typename Visit>
void for_each_element(ByteSpan unit, Visit&& visit) {
    av1::ObuReader obus(unit);
    for (av1::ObuView obu; obus.next(obu);) {
        if (!is_superfluous(obu.type)) {
            visit(Element(obu));
        }
    }
}

}  // namespace

bool Av1Packetizer::set_config(ByteSpan record) {
    const std::optional<ByteSpan> obus = av1::parse_config(record);
    if (!obus || !av1::inspect_frame(*obus).whole) {
        return false;
    }
    config_obus_.assign(obus->begin(), obus->end());
    return true;
}

bool Av1Packetizer::packetize(ByteSpan frame, size_t max_payload, PayloadSink& sink) {
    av1::FrameInfo info = av1::inspect_frame(frame);
    if (!info.whole) {
        return false;
    }
    ByteSpan front;
    if (info.shown_key_frame && !info.sequence_header && !config_obus_.empty()) {
        front = config_obus_;
        info.key = true;
    }
    // What all elements take with a size each, the last one excepted.
    size_t total = 0;
    size_t count = 0;
    size_t size_field = 0;
    const auto measure = [&](const Element& element) {
        total += size_field + element.size();
        size_field = av1::leb128_size(element.size());
        count++;
    };
    for_each_element(front, measure);
    for_each_element(frame, measure);
    if (count == 0) {
        return false;
    }
    // Equal packets, the last one excepted; an OBU that leaves no room for a size field and one
    // byte more makes its packet up to three bytes shorter.
    const EqualParts cut(total, max_payload - kAggregationHeaderSize);
    Filler filler(sink, cut.size, info.key);
    size_t done = 0;
    const auto add = [&](const Element& element) { filler.add(element, ++done == count); };
    for_each_element(front, add);
    for_each_element(frame, add);
    return true;
}

bool Av1Depacketizer::begins_frame(ByteSpan payload) const {
    const uint8_t header = payload[0];
    if ((header & kContinuesBit) != 0 || payload.size() < 2) {
        return false;
    }
    if ((header & kNewSequenceBit) != 0) {
        return true;
    }
    const std::optional<ObuType> first = first_type(payload);
    return first && begins_unit(*first);
}

bool Av1Depacketizer::continues_picture(ByteSpan payload) const {
    return (payload[0] & kContinuesBit) != 0 || first_type(payload) == ObuType::kTileGroup;
}

bool Av1Depacketizer::add(ByteSpan payload) {
    const uint8_t header = payload[0];
    const size_t count = header >> kCountShift & 3;  // 0: every element has a size
    ByteReader reader(payload.subspan(1));
    bool continues = (header & kContinuesBit) != 0;
    if (reader.empty() || continues != in_obu_) {
        return false;
    }
    for (size_t i = 1; !reader.empty(); i++) {
        const size_t size =
            i == count ? reader.remaining() : static_cast<size_t>(av1::read_leb128(reader));
        const ByteSpan element = reader.take(size);
        const bool last = reader.empty();
        if (!reader.ok() || (count > 0 && last && i != count) ||
            !add_element(element, continues, last && (header & kGoesOnBit) != 0)) {
            return false;
        }
        continues = false;
    }
    return true;
}

bool Av1Depacketizer::add_element(ByteSpan element, bool continues, bool goes_on) {
    if (!continues) {
        obu_at_ = data().size();
    }
    in_obu_ = goes_on;
    return append(element) && (goes_on || finish_obu());
}

// Gives the OBU at the end of data() a size field, or takes it out.
bool Av1Depacketizer::finish_obu() {
    const auto begin = data().begin() + static_cast<std::ptrdiff_t>(obu_at_);
    const ByteSpan bytes = ByteSpan(data()).subspan(obu_at_);
    if (bytes.empty()) {
        return true;  // an empty element is allowed and means nothing
    }
    av1::ObuView obu;
    if (!av1::ObuReader(bytes).next(obu) || obu.whole.size() != bytes.size()) {
        return false;
    }
    if (is_superfluous(obu.type)) {
        data().resize(obu_at_);
        return true;
    }
    frame_ = frame_ || obu.type == ObuType::kFrame || obu.type == ObuType::kFrameHeader ||
             obu.type == ObuType::kTileGroup;
    if ((obu.header & av1::kObuHasSize) != 0) {
        return true;
    }
    std::array<uint8_t, kMaxSizeField> size;
    if (obu.payload.size() >> (7 * kMaxSizeField) != 0) {
        return false;
    }
    const size_t field = av1::write_leb128(obu.payload.size(), size.data());
    const std::ptrdiff_t head = obu.has_extension() ? 2 : 1;
    *begin |= av1::kObuHasSize;
    data().insert(begin + head, size.begin(), size.begin() + field);
    return data().size() <= kMaxFrameSize;
}

FrameAssembler::Completion Av1Depacketizer::complete(Frame& out) {
    if (in_obu_) {
        return Completion::kBroken;
    }
    if (!frame_) {
        return Completion::kNothing;
    }
    const av1::FrameInfo info = av1::inspect_frame(data());
    out.key = info.key;
    out.temporal_id = info.temporal_id;
    if (info.key) {
        Bytes config = av1::build_config(av1::find_sequence_header(data()));
        if (config != config_) {
            av1::ObuView obu;
            av1::ObuReader(ByteSpan(config).subspan(av1::kConfigFixedSize)).next(obu);
            const auto header = av1::parse_sequence_header(obu.payload);
            width_ = header ? header->width : 0;
            height_ = header ? header->height : 0;
            config_ = config;
            out.config = std::move(config);
        }
    }
    out.width = width_;
    out.height = height_;
    return Completion::kFrame;
}

void Av1Depacketizer::reset() {
    in_obu_ = false;
    frame_ = false;
}

}  // namespace weir::rtp
