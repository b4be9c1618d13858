#include "config/explain/srs_engine.h"

#include <string_view>

#include "config/explain/translate.h"

namespace weir::config {
namespace {

using Words = std::vector<std::string>;
using Statements = std::vector<Statement>;

void add(Words& words, const char* option, const std::string& value) {
    if (!value.empty() && value != "0") {
        words.emplace_back(option);
        words.push_back(value);
    }
}

// A block of options: "t 100;" is "-t 100".
void add_block(Words& words, const Statements& engine, std::string_view name) {
    const Statement* block = child_of(engine, name);
    if (block == nullptr) {
        return;
    }
    for (const Statement& option : block->block) {
        words.push_back("-" + option.name.text);
        for (const Token& value : option.arguments) {
            words.push_back(value.text);
        }
    }
}

void add_video(Words& words, const Statements& engine) {
    const std::string codec = word_of(engine, "vcodec");
    if (codec == "vn") {
        words.emplace_back("-vn");
        return;
    }
    add(words, "-c:v", codec);
    if (codec.empty() || codec == "copy") {
        return;
    }
    if (const std::string rate = word_of(engine, "vbitrate"); !rate.empty() && rate != "0") {
        add(words, "-b:v", rate + "k");
    }
    add(words, "-r", word_of(engine, "vfps"));
    const std::string width = word_of(engine, "vwidth");
    const std::string height = word_of(engine, "vheight");
    if (!width.empty() && !height.empty() && width != "0" && height != "0") {
        add(words, "-s", width + "x" + height);
    }
    add(words, "-threads", word_of(engine, "vthreads"));
    add(words, "-profile:v", word_of(engine, "vprofile"));
    add(words, "-preset", word_of(engine, "vpreset"));
    add_block(words, engine, "vparams");
}

void add_audio(Words& words, const Statements& engine) {
    const std::string codec = word_of(engine, "acodec");
    if (codec == "an") {
        words.emplace_back("-an");
        return;
    }
    add(words, "-c:a", codec);
    if (codec.empty() || codec == "copy") {
        return;
    }
    if (const std::string rate = word_of(engine, "abitrate"); !rate.empty() && rate != "0") {
        add(words, "-b:a", rate + "k");
    }
    add(words, "-ar", word_of(engine, "asample_rate"));
    add(words, "-ac", word_of(engine, "achannels"));
    add_block(words, engine, "aparams");
}

}  // namespace

Words srs_engine_words(const std::string& program,
                       const Statements& engine,
                       const std::string& input,
                       const std::string& output) {
    Words words = {program};
    add_block(words, engine, "perfile");
    const std::string from = word_of(engine, "iformat");
    add(words, "-f", from == "off" ? "" : from);
    add(words, "-i", input);
    add_block(words, engine, "vfilter");
    add_video(words, engine);
    add_audio(words, engine);
    const std::string to = word_of(engine, "oformat", "flv");
    add(words, "-f", to == "off" ? "" : to);
    words.emplace_back("-y");
    words.push_back(output);
    return words;
}

bool srs_engine_transcodes(const Statements& engine) {
    const std::string video = word_of(engine, "vcodec", "copy");
    const std::string audio = word_of(engine, "acodec", "copy");
    return (video != "copy" && video != "vn") || (audio != "copy" && audio != "an");
}

}  // namespace weir::config
