// record { }: which streams are written to disk, and how.
#include "config/directive_tables.h"
#include "config/value_words.h"

namespace weir::config {
namespace {

// The shortest split: a file is cut at a key frame, and names have whole seconds.
constexpr uint64_t kMinSplit = 5 * kSecond;
constexpr uint64_t kMaxSplit = 720 * kHour;
constexpr uint64_t kMaxSize = 1024 * kGiga;

const Directive kRecordDirectives[] = {
    {.name = "record",
     .contexts = kStreamContexts,
     .opens = kRecordContext,
     .doc = "Recording of streams into files, by itself or on demand by POST /api/v1/recordings."},
    {.name = "enabled",
     .contexts = kRecordContext,
     .type = ValueType::kFlag,
     .default_text = "off",
     .effect = Effect::kNewConnections,
     .doc = "on records each stream from its publish on. off records what the API asks for.",
     .apply = [](const Target& t, const Value& v) { t.vhost.record.enabled = v.number != 0; }},
    {.name = "path",
     .contexts = kRecordContext,
     .type = ValueType::kPath,
     .effect = Effect::kNewConnections,
     .example = "/var/lib/weir",
     .doc = "The folder of the recordings. It must exist; folders within it are made. One server "
            "uses a folder at a time.",
     .apply = [](const Target& t, const Value& v) { t.vhost.record.path = v.text; }},
    {.name = "format",
     .contexts = kRecordContext,
     .type = ValueType::kChoice,
     .default_text = "mp4",
     .choices = "mp4|flv|ts",
     .effect = Effect::kNewConnections,
     .doc = "mp4: fragmented MP4, which plays while it grows.",
     .apply =
         [](const Target& t, const Value& v) {
             t.vhost.record.format = static_cast<RecordContainer>(v.number);
         }},
    {.name = "name",
     .contexts = kRecordContext,
     .type = ValueType::kRecordName,
     .default_text = "\"{vhost}/{app}/{stream}/{time}\"",
     .effect = Effect::kNewConnections,
     .doc = "Names of files within the folder, without their ends. A file that has the name of "
            "another gets a number. Characters that are not plain become %XX.",
     .apply = [](const Target& t, const Value& v) { t.vhost.record.name = v.text; }},
    {.name = "fragment",
     .contexts = kRecordContext,
     .type = ValueType::kDuration,
     .default_text = "2s",
     .min = 200,
     .max = 30 * kSecond,
     .unit = kSecond,
     .effect = Effect::kNewConnections,
     .doc = "So much is gathered before it is written: what a crash costs.",
     .apply = [](const Target& t, const Value& v) { t.vhost.record.fragment = millis(v); }},
    {.name = "split",
     .contexts = kRecordContext,
     .type = ValueType::kDuration,
     .default_text = "0",
     .min = kMinSplit,
     .max = kMaxSplit,
     .unit = kSecond,
     .special = "0",
     .effect = Effect::kNewConnections,
     .doc = "A file that is so long ends at the next key frame, and another one begins. 0: files "
            "have any length.",
     .apply = [](const Target& t, const Value& v) { t.vhost.record.split = millis(v); }},
    {.name = "split_size",
     .contexts = kRecordContext,
     .type = ValueType::kSize,
     .default_text = "0",
     .min = kMega,
     .max = kMaxSize,
     .special = "0",
     .effect = Effect::kNewConnections,
     .doc = "A file ends at the key frame before it would be larger. 0: files have any size.",
     .apply = [](const Target& t, const Value& v) { t.vhost.record.split_size = v.number; }},
    {.name = "split_midnight",
     .contexts = kRecordContext,
     .type = ValueType::kFlag,
     .default_text = "off",
     .effect = Effect::kNewConnections,
     .doc = "A file ends at the first key frame of a day, in the server's time zone.",
     .apply = [](const Target& t,
                 const Value& v) { t.vhost.record.split_midnight = v.number != 0; }},
    {.name = "keep",
     .contexts = kRecordContext,
     .type = ValueType::kKeep,
     .example = "7d 500g",
     .doc = "How long finished recordings of this vhost or application are kept (d, h, min), how "
            "many bytes of them (g, mb), or both; the oldest go first. Without it nothing is "
            "removed. A bare m is refused: it could be minutes or megabytes.",
     .apply =
         [](const Target& t, const Value& v) {
             RecordConfig& record = t.vhost.record;
             record.keep = Millis(0);
             record.keep_bytes = 0;
             for (const std::string& word : v.words) {
                 const KeepWord keep = parse_keep_word(word).value_or(KeepWord());
                 record.keep += Millis(static_cast<Millis::rep>(keep.ms));
                 record.keep_bytes += keep.bytes;
             }
         }},
    {.name = "min_free",
     .contexts = kRecordContext,
     .type = ValueType::kSize,
     .default_text = "0",
     .min = kMega,
     .max = kMaxSize,
     .special = "0",
     .doc = "While the file system has less room, the oldest recordings of the folder go; where "
            "there are none, recording waits. 0: it may get full.",
     .apply = [](const Target& t, const Value& v) { t.vhost.record.min_free = v.number; }},
    {.name = "playback",
     .contexts = kRecordContext,
     .type = ValueType::kFlag,
     .default_text = "off",
     .doc = "on: recordings are played at /vod/, by HTTP, RTMP and RTSP, by whoever may play their "
            "stream.",
     .apply = [](const Target& t, const Value& v) { t.vhost.record.play = v.number != 0; }},
};

}  // namespace

std::span<const Directive> record_directives() {
    return kRecordDirectives;
}

}  // namespace weir::config
