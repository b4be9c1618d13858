// Names of languages: what protocols say (ISO 639-2 in transport streams and MP4, BCP 47 in SDP,
// HLS and DASH), as one of both; and names of tracks. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace weir::media {

inline constexpr size_t kMaxLanguageTag = 35;  // RFC 5646 §4.4.1

// A tag of BCP 47 of what a publisher says: ISO 639-1, 639-2 or a tag: "eng" is "en", as RFC 5646
// §2.2.1 wants the shortest code, "ger" and "deu" are "de", "pt-BR" stays. Empty: it names no
// language ("und", "mul", "zxx", and whatever is none).
std::string language_tag(std::string_view said);

// The language of a tag as MP4 has it, ISO 639-2/T: "en" and "en-GB" are "eng". "und": none of that
// kind.
std::array<char, 3> language_code(std::string_view tag);

// "English", for people; empty: it has no name here, and people get the tag.
std::string_view language_name(std::string_view tag);

// A name that a publisher gives a track, as playlists can have it (RFC 8216 §4.2): whole plain
// characters, no quotation marks, 64 bytes at most.
std::string track_name(std::string_view said);

}  // namespace weir::media
