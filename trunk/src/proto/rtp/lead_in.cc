#include "proto/rtp/lead_in.h"

#include <bitset>
#include <initializer_list>
#include <optional>
#include <type_traits>

#include "media/avc.h"
#include "media/bit_writer.h"
#include "media/hevc.h"

namespace weir::rtp {
namespace {

namespace avc = media::avc;
namespace hevc = media::hevc;
using media::BitWriter;

constexpr uint8_t kStapA = 0x78;         // RFC 6184 §5.7, with the nal_ref_idc of the PPS
constexpr uint8_t kAvcPpsHeader = 0x68;  // nal_ref_idc 3
constexpr uint8_t kAvcSliceHeader = 0x01;
constexpr uint8_t kAvcEndOfSequence = 0x0A;
constexpr uint32_t kProfileBaseline = 66;

constexpr uint8_t kTemporalIdPlus1 = 1;
constexpr uint8_t kAggregation = 48;  // RFC 7798 §4.4.2
constexpr uint8_t kRaslN = 8;
constexpr uint8_t kHevcEndOfSequence = 36;
constexpr uint32_t kIntraSlice = 2;
constexpr uint32_t kAvcPpsIds = avc::kMaxPps + 1;
constexpr uint32_t kHevcPpsIds = 64;

// The highest number below kCount that no PPS of the configuration has; kCount: each has one.
template <uint32_t kCount, typename Config>
uint32_t free_pps_id(const Config& config) {
    std::bitset<kCount> used;
    config.for_each_parameter_set([&](ByteSpan nal) {
        std::optional<uint32_t> id;
        if constexpr (std::is_same_v<Config, avc::ConfigView>) {
            const auto ids = avc::parse_pps_ids(nal);
            id = ids ? std::optional(ids->id) : std::nullopt;
        } else if (!nal.empty() && hevc::nal_type(nal[0]) == hevc::NalType::kPps) {
            id = hevc::parameter_set_id(nal);
        }
        if (id && *id < kCount) {
            used.set(*id);
        }
    });
    uint32_t id = kCount;
    while (id > 0 && used.test(id - 1)) {
        id--;
    }
    return id > 0 ? id - 1 : kCount;
}

Bytes aggregate(std::initializer_list<uint8_t> header, std::initializer_list<ByteSpan> units) {
    Bytes payload(header);
    for (const ByteSpan unit : units) {
        ByteWriter(payload).u16(static_cast<uint16_t>(unit.size())).bytes(unit);
    }
    return payload;
}

// ---- H.264 ----

// An SPS that does not say may be that of a stream with reordering, where its profile and its
// picture order allow that.
bool is_reordered(const avc::Sps& sps) {
    const bool possible = sps.poc_type != 2 && sps.profile_idc != kProfileBaseline;
    return sps.max_reorder_frames.value_or(possible ? 1 : 0) > 0;
}

// H.264 §7.3.2.2: CAVLC, one slice group, redundant_pic_cnt in the slices, nothing else.
Bytes avc_pps(uint32_t id, uint32_t sps_id) {
    BitWriter w;
    w.ue(id).ue(sps_id);
    w.flag(false).flag(false);             // entropy coding, order of bottom fields
    w.ue(0).ue(0).ue(0);                   // slice groups - 1, references of l0 and l1 - 1
    w.flag(false).bits(2, 0);              // weighted prediction
    w.se(0).se(0).se(0);                   // QP, QS and chroma QP
    w.flag(false).flag(false).flag(true);  // deblocking, constrained intra, redundant_pic_cnt
    return w.nal({kAvcPpsHeader});
}

// H.264 §7.3.3 and §7.3.4: a P slice of one skipped macroblock, redundant_pic_cnt 1.
Bytes avc_slice(uint32_t pps_id, const avc::Sps& sps) {
    BitWriter w;
    w.ue(0).ue(5).ue(pps_id);  // first_mb_in_slice; all slices of the picture are P
    w.bits(sps.separate_planes ? 2 : 0, 0).bits(sps.frame_num_bits, 0);
    w.bits(sps.interlaced ? 1 : 0, 0);  // field_pic_flag
    w.bits(sps.poc_lsb_bits, 0);
    if (sps.poc_deltas) {
        w.se(0);
    }
    w.ue(1);                    // redundant_pic_cnt
    w.flag(false).flag(false);  // the number of references is the PPS's; no other order of them
    w.se(0);                    // slice_qp_delta
    w.ue(1);                    // mb_skip_run
    return w.nal({kAvcSliceHeader});
}

Bytes make_avc(ByteSpan record) {
    const auto config = avc::ConfigView::parse(record);
    const auto sps = config ? avc::parse_sps(config->sps()) : std::nullopt;
    if (!sps || !is_reordered(*sps)) {
        return {};
    }
    const uint32_t pps_id = free_pps_id<kAvcPpsIds>(*config);
    if (pps_id == kAvcPpsIds) {
        return {};
    }
    return aggregate({kStapA},
                     {avc_pps(pps_id, sps->id), avc_slice(pps_id, *sps), Bytes{kAvcEndOfSequence}});
}

// ---- HEVC ----

Bytes nal_header(uint8_t type) {
    return {static_cast<uint8_t>(type << 1), kTemporalIdPlus1};
}

// H.265 §7.3.2.3.1: every tool is off, so that a slice has no fields for one; but slices say
// whether their picture is shown.
Bytes hevc_pps(uint32_t id, uint32_t sps_id) {
    BitWriter w;
    w.ue(id).ue(sps_id);
    w.bits(7, 0x20);  // dependent slices, output_flag_present, extra bits, sign hiding, CABAC init
    w.ue(0).ue(0).se(0);  // references of l0 and l1 - 1, init_qp
    w.bits(3, 0);         // constrained intra, transform skip, QP per block
    w.se(0).se(0);        // QP of Cb and Cr
    w.bits(10, 0);        // QP in slices ... scaling lists, modification of lists
    w.ue(0);              // log2_parallel_merge_level - 2
    w.bits(2, 0);         // slice header extension, PPS extension
    return w.nal(nal_header(static_cast<uint8_t>(hevc::NalType::kPps)));
}

// H.265 §7.3.6.1: an I slice without references, and a byte in place of its data.
Bytes hevc_slice(uint32_t pps_id, const hevc::SliceFields& sps) {
    BitWriter w;
    w.flag(true).ue(pps_id).ue(kIntraSlice);  // first_slice_segment_in_pic_flag
    w.flag(false);                            // pic_output_flag
    w.bits(sps.colour_plane ? 2 : 0, 0).bits(sps.poc_lsb_bits, 0);
    w.flag(false).bits(sps.short_term_sets > 0 ? 1 : 0, 0);  // a set of its own, not predicted
    w.ue(0).ue(0);                                           // of no pictures
    if (sps.long_term) {
        if (sps.long_term_pictures > 0) {
            w.ue(0);
        }
        w.ue(0);
    }
    w.bits(sps.temporal_motion ? 1 : 0, 0);
    if (sps.sample_adaptive_offset) {
        w.bits(sps.chroma ? 2 : 1, 0);
    }
    w.se(0);  // slice_qp_delta
    w.byte_align();
    return w.nal(nal_header(kRaslN));
}

Bytes make_hevc(ByteSpan record) {
    const auto config = hevc::ConfigView::parse(record);
    const ByteSpan unit = config ? config->sps() : ByteSpan();
    const auto sps = hevc::parse_sps(unit);
    const auto fields = hevc::parse_slice_fields(unit);
    if (!sps || !fields || sps->max_reorder_pictures == 0) {
        return {};
    }
    const uint32_t pps_id = free_pps_id<kHevcPpsIds>(*config);
    if (pps_id == kHevcPpsIds) {
        return {};
    }
    // The end of sequence is in front of the slice: behind it, ffmpeg's parser would put it into
    // the access unit of the key frame, and so into files.
    return aggregate(
        {kAggregation << 1, kTemporalIdPlus1},
        {hevc_pps(pps_id, sps->id), nal_header(kHevcEndOfSequence), hevc_slice(pps_id, *fields)});
}

}  // namespace

Bytes make_lead_in(media::Codec codec, ByteSpan config) {
    switch (codec) {
        case media::Codec::kH264: return make_avc(config);
        case media::Codec::kHevc: return make_hevc(config);
        default: return {};
    }
}

}  // namespace weir::rtp
