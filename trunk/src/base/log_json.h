// A finished log line ("time level [id] message key=value ...") as one JSON object.
//
//   {"time":"2026-11-21T07:34:05.123Z","level":"info","id":"r1234567","message":"closed",
//    "role":"player","stream":"live/a","bytes":1234,"reason":"peer_closed"}
//
// The pairs become members: the first run of "key=value" words, unless a word before it ends with a
// colon: behind a colon stands text that others wrote. What is no pair is the message, so nothing
// is lost. Values are strings, without quotes that were around them and with the escapes of
// log::escaped() undone; plain numbers of up to 15 digits are numbers. A key that is taken already
// (time, level, id, message, or an earlier pair) stays in the message. Any bytes give valid JSON:
// what is not UTF-8 becomes U+FFFD.
#pragma once

#include <string>
#include <string_view>

namespace weir::log {

// Pairs that one line may have; more stay in the message.
inline constexpr size_t kMaxJsonFields = 32;

// Appends the object, without a newline.
void append_json(std::string& out, std::string_view line);

// Appends the line as text: control characters, which would fake another line, as \xNN.
void append_text(std::string& out, std::string_view line);

// Appends `text` as a JSON string with its quotes.
void append_json_string(std::string& out, std::string_view text);

}  // namespace weir::log
