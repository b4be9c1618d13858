// RTCP (RFC 3550 §6): the packets of a compound, one by one. Reduced size packets (RFC 5506) are
// compounds of any packets in any order here; nothing is required to come first.
//
//     0               1               2               3
//    +---+-+---------+---------------+-------------------------------+
//    |V=2|P| count   | packet type   | length in words of 4, minus 1 |
//    |   | | or format               |                               |
//    +---+-+---------+---------------+-------------------------------+
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace weir::rtcp {

inline constexpr size_t kHeaderSize = 4;
inline constexpr size_t kMaxCount = 31;  // report blocks, SDES chunks, BYE sources in one packet

enum class PacketType : uint8_t {
    kSenderReport = 200,
    kReceiverReport = 201,
    kSourceDescription = 202,
    kBye = 203,
    kApplication = 204,
    kTransportFeedback = 205,  // RTPFB, RFC 4585 §6.2
    kPayloadFeedback = 206,    // PSFB, RFC 4585 §6.3
    kExtendedReport = 207,
};

// Formats of the two kinds of feedback.
inline constexpr uint8_t kGenericNack = 1;  // RTPFB, RFC 4585 §6.2.1
inline constexpr uint8_t kTransportWideFeedback =
    15;                                          // RTPFB, draft-holmer-rmcat-transport-wide-cc
inline constexpr uint8_t kPictureLoss = 1;       // PSFB, RFC 4585 §6.3.1
inline constexpr uint8_t kFullIntraRequest = 4;  // PSFB, RFC 5104 §4.3.1
inline constexpr uint8_t kApplicationLayerFeedback = 15;  // PSFB, RFC 4585 §6.4; REMB

// One packet of a compound; the compound must outlive it. Types that are none of PacketType occur
// and are to be ignored.
struct PacketView {
    PacketType type = PacketType::kApplication;
    uint8_t count = 0;  // of report blocks, chunks or sources; the format in feedback
    ByteSpan body;      // behind the four bytes of the header, without padding

    bool is_feedback(PacketType feedback_type, uint8_t format) const {
        return type == feedback_type && count == format;
    }
};

// Reads the packets of a compound in turn:
//     for (CompoundReader reader(bytes); reader.next(packet);) { ... }
// It ends at the first packet with a wrong version, length or padding; what came before it counts,
// and ok() is false then.
class CompoundReader {
  public:
    explicit CompoundReader(ByteSpan compound) : reader_(compound) {}

    bool next(PacketView& out);

    bool ok() const { return reader_.ok(); }

  private:
    ByteReader reader_;
};

}  // namespace weir::rtcp
