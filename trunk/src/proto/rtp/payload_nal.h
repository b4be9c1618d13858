// What the payload formats of H.264 (RFC 6184) and HEVC (RFC 7798) share: cutting of frames of NAL
// units into single, aggregation and fragmentation packets, and putting them together again. The
// two differ in the size of the NAL header and in how the three kinds of packets are marked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "proto/rtp/depacketizer.h"
#include "proto/rtp/packetizer.h"

namespace weir::rtp {

inline constexpr size_t kNalLengthSize = 4;  // of frames that come out of a depacketizer

// Parameter sets of a source that are kept; what goes beyond is a broken or hostile source.
inline constexpr size_t kMaxParameterSets = 16;  // of each kind
inline constexpr size_t kMaxParameterSetSize = 1024;

class NalPacketizer : public Packetizer {
  public:
    bool packetize(ByteSpan frame, size_t max_payload, PayloadSink& sink) final;

  protected:
    static constexpr size_t kMaxNalHeader = 2;

    struct FrameKind {
        bool key = false;
        bool parameter_sets = false;
        bool whole = false;
    };

    explicit NalPacketizer(size_t header_size) : header_size_(header_size) {}

    // Forgets what the configuration before said.
    void begin_config(size_t length_size);
    void add_parameter_set(ByteSpan nal);

    virtual FrameKind inspect(ByteSpan frame, size_t length_size) const = 0;

    // NAL units that mean nothing between a depacketizer and a decoder.
    virtual bool is_superfluous(ByteSpan nal) const = 0;

    // Adds what one NAL unit means for the header of the aggregation packet that it is put into;
    // `first` begins a header.
    virtual void mark_aggregation(ByteSpan nal, bool first, uint8_t* header) const = 0;

    // Writes the header of a fragment, header_size + 1 bytes.
    virtual void write_fragment_header(ByteSpan nal, bool start, bool end, uint8_t* out) const = 0;

  private:
    struct Output;

    void put(Output& out, ByteSpan nal, bool last) const;
    void put_fragments(Output& out, ByteSpan nal, bool last) const;
    void flush(Output& out, bool last) const;

    size_t header_size_;
    size_t length_size_ = kNalLengthSize;
    Bytes parameter_sets_;  // lengths of four bytes and NAL units
};

class NalDepacketizer : public FrameAssembler {
  public:
    bool add_parameter_set(ByteSpan nal) final;

  protected:
    struct ParameterSet {
        uint8_t type = 0;
        uint32_t id = 0;
        Bytes nal;
    };

    using FrameAssembler::FrameAssembler;

    // One whole NAL unit: kept as a parameter set, left out, or appended to the frame.
    bool add_nal(ByteSpan nal);

    // The units of an aggregation packet behind its header: sizes of two bytes and NAL units.
    // `between`: bytes before the size of each unit but the first (of HEVC's decoding order).
    bool add_aggregated(ByteSpan units, size_t between = 0);

    // A decoding order number that a packet names. False when it goes back: units in another order
    // than that of decoding are refused.
    bool take_order(uint16_t number);

    // A fragment: `header` is that of the whole unit, needed at its start only.
    bool add_fragment(ByteSpan header, ByteSpan piece, bool start, bool end);

    enum class NalUse : uint8_t { kKeep, kParameterSet, kLeaveOut };

    virtual NalUse use_of(ByteSpan nal) const = 0;

    // Type and id of a parameter set; false when it cannot be read.
    virtual bool identify(ByteSpan nal, ParameterSet& out) const = 0;

    // Notes what a unit that goes into the frame says of it.
    virtual void note(ByteSpan nal) = 0;

    // The parameter sets of a type, in the order of their arrival.
    std::vector<ByteSpan> parameter_sets(uint8_t type) const;

    bool has_parameter_sets() const { return !sets_.empty(); }

    // Whether sets have come, or changed, since config_given().
    bool config_changed() const { return config_changed_; }

    void config_given() {
        config_changed_ = false;
        configured_ = true;
    }

    // A configuration was given: before that no frame is of use to anybody.
    bool is_configured() const { return configured_; }

    // A bit (1 << (type % 32)) for each kind of set that came with the frame being put together.
    uint32_t kinds_in_frame() const { return kinds_in_frame_; }

    bool in_fragment() const { return in_fragment_; }

    void reset() override;

  private:
    bool keep(ByteSpan nal);

    std::vector<ParameterSet> sets_;  // bounded by kMaxParameterSets
    size_t fragment_at_ = 0;          // where the length of the unit in pieces stands in data()
    uint32_t kinds_in_frame_ = 0;
    uint16_t order_ = 0;  // the newest decoding order number
    bool ordered_ = false;
    bool in_fragment_ = false;
    bool config_changed_ = false;
    bool configured_ = false;
};

}  // namespace weir::rtp
