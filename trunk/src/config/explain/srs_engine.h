// transcode { engine { } } of SRS as the words of a command of ffmpeg. Pure. Private to
// `weir --explain`.
#pragma once

#include <string>
#include <vector>

#include "base/config_parser.h"

namespace weir::config {

// `engine`: what stands in its block. Input and output are words as they are.
std::vector<std::string> srs_engine_words(const std::string& program,
                                          const std::vector<Statement>& engine,
                                          const std::string& input,
                                          const std::string& output);

// Whether the engine changes audio or video.
bool srs_engine_transcodes(const std::vector<Statement>& engine);

}  // namespace weir::config
