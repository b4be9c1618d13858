#include "media/language.h"

#include <algorithm>

#include "base/strings.h"
#include "base/utf8.h"

namespace weir::media {
namespace {

struct Language {
    std::string_view tag;       // ISO 639-1
    std::string_view code;      // ISO 639-2/T
    std::string_view old_code;  // ISO 639-2/B, where it differs; broadcasts use either
    std::string_view name;
};

// https://www.loc.gov/standards/iso639-2/: those with a code of two letters that television and
// conferences have. Others keep their three letters, which is a tag as well.
constexpr Language kLanguages[] = {
    {"af", "afr", "", "Afrikaans"},
    {"am", "amh", "", "Amharic"},
    {"ar", "ara", "", "Arabic"},
    {"az", "aze", "", "Azerbaijani"},
    {"be", "bel", "", "Belarusian"},
    {"bg", "bul", "", "Bulgarian"},
    {"bn", "ben", "", "Bengali"},
    {"br", "bre", "", "Breton"},
    {"bs", "bos", "", "Bosnian"},
    {"ca", "cat", "", "Catalan"},
    {"cs", "ces", "cze", "Czech"},
    {"cy", "cym", "wel", "Welsh"},
    {"da", "dan", "", "Danish"},
    {"de", "deu", "ger", "German"},
    {"el", "ell", "gre", "Greek"},
    {"en", "eng", "", "English"},
    {"es", "spa", "", "Spanish"},
    {"et", "est", "", "Estonian"},
    {"eu", "eus", "baq", "Basque"},
    {"fa", "fas", "per", "Persian"},
    {"fi", "fin", "", "Finnish"},
    {"fr", "fra", "fre", "French"},
    {"fy", "fry", "", "West Frisian"},
    {"ga", "gle", "", "Irish"},
    {"gd", "gla", "", "Gaelic"},
    {"gl", "glg", "", "Galician"},
    {"gu", "guj", "", "Gujarati"},
    {"he", "heb", "", "Hebrew"},
    {"hi", "hin", "", "Hindi"},
    {"hr", "hrv", "", "Croatian"},
    {"hu", "hun", "", "Hungarian"},
    {"hy", "hye", "arm", "Armenian"},
    {"id", "ind", "", "Indonesian"},
    {"is", "isl", "ice", "Icelandic"},
    {"it", "ita", "", "Italian"},
    {"ja", "jpn", "", "Japanese"},
    {"ka", "kat", "geo", "Georgian"},
    {"kk", "kaz", "", "Kazakh"},
    {"km", "khm", "", "Khmer"},
    {"kn", "kan", "", "Kannada"},
    {"ko", "kor", "", "Korean"},
    {"ku", "kur", "", "Kurdish"},
    {"ky", "kir", "", "Kyrgyz"},
    {"la", "lat", "", "Latin"},
    {"lb", "ltz", "", "Luxembourgish"},
    {"lo", "lao", "", "Lao"},
    {"lt", "lit", "", "Lithuanian"},
    {"lv", "lav", "", "Latvian"},
    {"mi", "mri", "mao", "Maori"},
    {"mk", "mkd", "mac", "Macedonian"},
    {"ml", "mal", "", "Malayalam"},
    {"mn", "mon", "", "Mongolian"},
    {"mr", "mar", "", "Marathi"},
    {"ms", "msa", "may", "Malay"},
    {"mt", "mlt", "", "Maltese"},
    {"my", "mya", "bur", "Burmese"},
    {"nb", "nob", "", "Norwegian Bokmål"},
    {"ne", "nep", "", "Nepali"},
    {"nl", "nld", "dut", "Dutch"},
    {"nn", "nno", "", "Norwegian Nynorsk"},
    {"no", "nor", "", "Norwegian"},
    {"pa", "pan", "", "Punjabi"},
    {"pl", "pol", "", "Polish"},
    {"ps", "pus", "", "Pashto"},
    {"pt", "por", "", "Portuguese"},
    {"rm", "roh", "", "Romansh"},
    {"ro", "ron", "rum", "Romanian"},
    {"ru", "rus", "", "Russian"},
    {"se", "sme", "", "Northern Sami"},
    {"si", "sin", "", "Sinhala"},
    {"sk", "slk", "slo", "Slovak"},
    {"sl", "slv", "", "Slovenian"},
    {"so", "som", "", "Somali"},
    {"sq", "sqi", "alb", "Albanian"},
    {"sr", "srp", "", "Serbian"},
    {"sv", "swe", "", "Swedish"},
    {"sw", "swa", "", "Swahili"},
    {"ta", "tam", "", "Tamil"},
    {"te", "tel", "", "Telugu"},
    {"th", "tha", "", "Thai"},
    {"tl", "tgl", "", "Tagalog"},
    {"tr", "tur", "", "Turkish"},
    {"uk", "ukr", "", "Ukrainian"},
    {"ur", "urd", "", "Urdu"},
    {"uz", "uzb", "", "Uzbek"},
    {"vi", "vie", "", "Vietnamese"},
    {"xh", "xho", "", "Xhosa"},
    {"yi", "yid", "", "Yiddish"},
    {"zh", "zho", "chi", "Chinese"},
    {"zu", "zul", "", "Zulu"},
};

// Codes of ISO 639-2 that name no language: undetermined, several, none, and uncoded.
constexpr std::string_view kNone[] = {"und", "mul", "zxx", "mis"};

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_tag(std::string_view text) {
    const std::string_view primary = text.substr(0, text.find('-'));
    return text.size() <= kMaxLanguageTag && primary.size() >= 2 && primary.size() <= 3 &&
           std::ranges::all_of(primary, is_letter) && !text.ends_with('-') &&
           std::ranges::all_of(
               text, [](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-'; });
}

const Language* find(std::string_view primary) {
    const auto* const found = std::ranges::find_if(kLanguages, [primary](const Language& each) {
        return each.tag == primary || each.code == primary ||
               (!each.old_code.empty() && each.old_code == primary);
    });
    return found == std::end(kLanguages) ? nullptr : found;
}

}  // namespace

std::string language_tag(std::string_view said) {
    if (!is_tag(said)) {
        return {};
    }
    const size_t end = std::min(said.find('-'), said.size());
    const std::string primary = to_lower(said.substr(0, end));
    if (std::ranges::find(kNone, primary) != std::end(kNone)) {
        return {};
    }
    const Language* const known = find(primary);
    return std::string(known != nullptr ? known->tag : std::string_view(primary)) +
           std::string(said.substr(end));
}

std::array<char, 3> language_code(std::string_view tag) {
    const std::string primary = to_lower(tag.substr(0, tag.find('-')));
    const Language* const known = find(primary);
    const std::string_view code = known != nullptr ? known->code : std::string_view(primary);
    if (code.size() != 3 || !std::ranges::all_of(code, is_letter)) {
        return {'u', 'n', 'd'};
    }
    return {code[0], code[1], code[2]};
}

std::string track_name(std::string_view said) {
    constexpr size_t kMaxBytes = 64;
    std::string name;
    while (!said.empty()) {
        const size_t size = std::max<size_t>(utf8_size(said), 1);
        const std::string_view character = said.substr(0, size);
        said.remove_prefix(size);
        if (name.size() + size > kMaxBytes) {
            break;
        }
        if (utf8_size(character) == size && is_plain_character(character) && character != "\"") {
            name += character;
        }
    }
    return name;
}

std::string_view language_name(std::string_view tag) {
    const Language* const known = find(to_lower(tag.substr(0, tag.find('-'))));
    return known != nullptr && tag.find('-') == std::string_view::npos ? known->name
                                                                       : std::string_view();
}

}  // namespace weir::media
