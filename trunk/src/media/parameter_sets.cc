#include "media/parameter_sets.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "media/avc.h"
#include "media/hevc.h"

namespace weir::media {
namespace {

// H.264 §7.4.1: zero bytes behind a unit are none of it; there are encoders that leave them there.
ByteSpan without_trailing_zeros(ByteSpan nal) {
    while (!nal.empty() && nal.back() == 0) {
        nal = nal.first(nal.size() - 1);
    }
    return nal;
}

}  // namespace

bool ParameterSets::identify(ByteSpan nal, Set& out) const {
    if (nal.empty() || nal.size() > kMaxSetSize) {
        return false;
    }
    const bool h264 = codec_ == Codec::kH264;
    const std::optional<uint32_t> id =
        h264 ? avc::parameter_set_id(nal) : hevc::parameter_set_id(nal);
    out.type = h264 ? static_cast<uint8_t>(avc::nal_type(nal[0]))
                    : static_cast<uint8_t>(hevc::nal_type(nal[0]));
    out.id = id.value_or(0);
    return id.has_value();
}

void ParameterSets::begin(Codec codec) {
    if (codec_ != codec) {
        set_config(codec, {});
    }
}

void ParameterSets::set_config(Codec codec, ByteSpan record) {
    codec_ = codec;
    sets_.clear();
    const auto take_it = [this](ByteSpan nal) { (void)take(nal); };
    if (codec == Codec::kH264) {
        if (const auto config = avc::ConfigView::parse(record)) {
            config->for_each_parameter_set(take_it);
        }
    } else if (const auto config = hevc::ConfigView::parse(record)) {
        config->for_each_parameter_set(take_it);
    }
    std::ranges::reverse(sets_);  // as they stand there
}

// There are encoders that raise the number of their sets with each key picture.
bool ParameterSets::renames(const Set& set) const {
    const auto has_same_picture = [&](const Set& other) {
        if (other.type != set.type || other.id == set.id) {
            return false;
        }
        if (codec_ == Codec::kH264) {
            const auto a = avc::parse_sps(other.nal);
            const auto b = avc::parse_sps(set.nal);
            return a && b && a->profile_idc == b->profile_idc && a->level_idc == b->level_idc &&
                   a->width == b->width && a->height == b->height;
        }
        const auto a = hevc::parse_sps(other.nal);
        const auto b = hevc::parse_sps(set.nal);
        return a && b && a->profile_tier_level == b->profile_tier_level && a->width == b->width &&
               a->height == b->height;
    };
    return std::ranges::any_of(sets_, has_same_picture);
}

ParameterSets::Taken ParameterSets::take(ByteSpan nal) {
    nal = without_trailing_zeros(nal);
    const auto is_same = [nal](const Set& set) { return std::ranges::equal(set.nal, nal); };
    if (std::ranges::any_of(sets_, is_same)) {
        return Taken::kKnown;
    }
    Set set;
    if (!identify(nal, set)) {
        return Taken::kRefused;
    }
    set.nal.assign(nal.begin(), nal.end());
    const bool h264 = codec_ == Codec::kH264;
    const auto pps = static_cast<uint8_t>(h264 ? static_cast<uint8_t>(avc::NalType::kPps)
                                               : static_cast<uint8_t>(hevc::NalType::kPps));
    const auto sps = static_cast<uint8_t>(h264 ? static_cast<uint8_t>(avc::NalType::kSps)
                                               : static_cast<uint8_t>(hevc::NalType::kSps));
    const bool small = set.type == pps || (set.type == sps && renames(set));
    const uint8_t type = set.type;
    std::erase_if(sets_,
                  [&set](const Set& each) { return each.type == set.type && each.id == set.id; });
    sets_.insert(sets_.begin(), std::move(set));
    if (std::ranges::count(sets_, type, &Set::type) > std::ptrdiff_t{kMaxSets}) {
        const auto oldest = std::ranges::find(sets_.rbegin(), sets_.rend(), type, &Set::type);
        sets_.erase(std::prev(oldest.base()));
    }
    return small ? Taken::kPicture : Taken::kSequence;
}

std::vector<ByteSpan> ParameterSets::of_type(uint8_t type) const {
    std::vector<ByteSpan> found;
    for (const Set& set : sets_) {
        if (set.type == type) {
            found.emplace_back(set.nal);
        }
    }
    return found;
}

Bytes ParameterSets::build() const {
    const auto sets = [this](auto type) { return of_type(static_cast<uint8_t>(type)); };
    if (codec_ == Codec::kH264) {
        return avc::build_config(sets(avc::NalType::kSps), sets(avc::NalType::kPps));
    }
    return hevc::build_config(sets(hevc::NalType::kVps), sets(hevc::NalType::kSps),
                              sets(hevc::NalType::kPps));
}

}  // namespace weir::media
