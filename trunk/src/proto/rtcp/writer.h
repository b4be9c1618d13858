// Writes a compound of RTCP packets (RFC 3550 §6.1) into a caller's buffer. Nothing allocates.
//
// Each call appends one whole packet or, when there is no room for it, nothing and returns false.
// The buffer must have room for the trailer of SRTCP as well, which is the caller's to leave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "proto/rtcp/feedback.h"
#include "proto/rtcp/packet.h"
#include "proto/rtcp/report.h"
#include "proto/rtcp/transport_feedback.h"

namespace weir::rtcp {

// What a sender report says besides its report blocks.
struct SenderInfo {
    uint32_t ssrc = 0;
    NtpTime ntp_time = 0;
    uint32_t rtp_time = 0;
    uint32_t packets = 0;
    uint32_t octets = 0;
};

// One command of a FIR.
struct FullIntraRequest {
    uint32_t ssrc = 0;
    uint8_t sequence = 0;  // one more than in the request before
};

class CompoundWriter {
  public:
    explicit CompoundWriter(std::span<uint8_t> out) : out_(out) {}

    // At most kMaxCount blocks.
    bool sender_report(const SenderInfo& info, std::span<const ReportBlock> blocks);
    bool receiver_report(uint32_t ssrc, std::span<const ReportBlock> blocks);

    // One source with its CNAME of at most kMaxSdesText bytes.
    bool source_description(uint32_t ssrc, std::string_view cname);

    // One source, with a reason of at most kMaxSdesText bytes or none.
    bool bye(uint32_t ssrc, std::string_view reason = {});

    // `lost`: rising (wrapping) sequence numbers, at least one. As many as there is room for;
    // returns how many of them are in the packet.
    size_t nack(const FeedbackSources& sources, std::span<const uint16_t> lost);

    bool picture_loss(const FeedbackSources& sources);
    bool full_intra_request(uint32_t sender_ssrc, const FullIntraRequest& request);

    // REMB; at most 255 sources.
    bool bitrate_limit(uint32_t sender_ssrc,
                       uint64_t bits_per_second,
                       std::span<const uint32_t> sources);

    // As write_transport_feedback(); arrivals is 0 when there is no room.
    size_t transport_feedback(const FeedbackSources& sources,
                              uint8_t feedback_count,
                              std::span<const Arrival> arrivals,
                              uint16_t lost_before = 0);

    // What has been written so far.
    ByteSpan written() const { return out_.first(size_); }

    size_t size() const { return size_; }

    size_t room() const { return out_.size() - size_; }

  private:
    // Appends a header for `body_size` bytes, a multiple of 4; where the body goes, or nullptr.
    uint8_t* begin(PacketType type, size_t count, size_t body_size);

    std::span<uint8_t> out_;
    size_t size_ = 0;
};

}  // namespace weir::rtcp
