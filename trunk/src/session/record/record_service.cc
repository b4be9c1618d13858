#include "session/record/record_service.h"

#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/random.h"
#include "io/deadline.h"
#include "session/record/record_folder.h"

namespace weir::session {
namespace {

constexpr size_t kIdLength = 8;

// As file_id() writes it; nothing: it is none.
std::optional<uint64_t> parse_id(std::string_view id) {
    uint64_t value = 0;
    const char* const end = id.data() + id.size();
    const auto [stop, error] = std::from_chars(id.data(), end, value, 16);
    return id.size() == 16 && stop == end && error == std::errc() ? std::optional(value)
                                                                  : std::nullopt;
}

}  // namespace

RecordService::RecordService(stream::Registry& registry,
                             RecordRules& rules,
                             MakeDisk make_disk,
                             io::MakeWorkers make_workers)
    : registry_(registry),
      rules_(rules),
      make_disk_(std::move(make_disk)),
      make_workers_(std::move(make_workers)) {
    if (!make_disk_) {
        make_disk_ = [](const std::string& path) { return std::make_unique<RecordFolder>(path); };
    }
    registry_.observers().add(*this);
}

RecordService::~RecordService() {
    registry_.observers().remove(*this);
    recordings_.clear();
    stores_.clear();
}

RecordStore* RecordService::store_of(const std::string& path) {
    const auto found = stores_.find(path);
    if (found != stores_.end()) {
        return found->second.get();
    }
    if (stores_.size() >= kMaxStores) {
        log::error("record: {} folders are in use already; {} needs a restart", kMaxStores,
                   log::token(path));
        return nullptr;
    }
    auto made = RecordStore::create(path, make_disk_(path), rules_, stats_, make_workers_);
    if (!made.ok()) {
        log::error("record: no thread to write into {}: {}", log::token(path),
                   made.error().message());
        return nullptr;
    }
    RecordStore& store = *(stores_[path] = std::move(*made));
    store.set_on_idle([this] { idle_.notify_all(); });
    store.set_on_looked([this] { looked_.notify_all(); });
    return &store;
}

void RecordService::use_folder(const std::string& path) {
    (void)store_of(path);
}

// ---- what is recorded ----

Error RecordService::begin(stream::Stream& stream, const RecordOptions& options) {
    RecordStore* const store = options.path.empty() ? nullptr : store_of(options.path);
    if (store == nullptr) {
        return make_error(ErrorCode::kUnsupported,
                          "no folder is configured for its recordings: record {{ path DIR; }}");
    }
    recordings_[stream.key()] = std::make_unique<Recording>(
        stream, options, *store, budget_, stats_, random_id(system_random(), kIdLength));
    return {};
}

void RecordService::on_publish(stream::Stream& stream) {
    if (stopping_ || recordings_.contains(stream.key()) || stream.relayed()) {
        return;
    }
    const RecordOptions options = rules_.record_options(stream.key());
    if (!options.enabled && !wishes_.contains(stream.key())) {
        return;
    }
    if (Error error = begin(stream, options)) {
        log::error("record stream={}: {}", log::token(stream.key().to_string()), error.message());
    }
}

void RecordService::on_unpublish(stream::Stream& stream, stream::PublishEnd) {
    const auto found = recordings_.find(stream.key());
    if (found != recordings_.end()) {
        found->second->end("unpublish");
        recordings_.erase(found);
    }
}

Error RecordService::start(const stream::StreamKey& key) {
    if (stopping_) {
        return make_error(ErrorCode::kInterrupted, "the server is stopping");
    }
    if (recordings_.contains(key)) {
        return make_error(ErrorCode::kBusy, "it is recorded already");
    }
    const RecordOptions options = rules_.record_options(key);
    if (options.path.empty()) {
        return make_error(ErrorCode::kUnsupported,
                          "no folder is configured for its recordings: record {{ path DIR; }}");
    }
    if (wishes_.size() >= kMaxWishes && !wishes_.contains(key)) {
        return make_error(ErrorCode::kFull, "{} streams are to be recorded by the API already",
                          kMaxWishes);
    }
    stream::Stream* const stream = registry_.find(key);
    if (stream != nullptr && stream->live() && rules_.records_here(key)) {
        if (Error error = begin(*stream, options)) {
            return error;
        }
    }
    wishes_[key] = true;
    return {};
}

Error RecordService::stop_recording(const stream::StreamKey& key) {
    const bool wished = wishes_.erase(key) > 0;
    const auto found = recordings_.find(key);
    if (found == recordings_.end()) {
        return wished ? Error() : make_error(ErrorCode::kNotFound, "that stream is not recorded");
    }
    found->second->end("api");
    recordings_.erase(found);
    return {};
}

Error RecordService::stop_recording(std::string_view id) {
    const Recording* const recording = find(id);
    if (recording == nullptr) {
        return make_error(ErrorCode::kNotFound, "no recording with that id is running");
    }
    const stream::StreamKey key = recording->key();
    return stop_recording(key);
}

// ---- lists ----

const Recording* RecordService::find(std::string_view id) const {
    for (const auto& [key, recording] : recordings_) {
        if (recording->id() == id) {
            return recording.get();
        }
    }
    return nullptr;
}

const Recording* RecordService::find(const stream::StreamKey& key) const {
    const auto found = recordings_.find(key);
    return found == recordings_.end() ? nullptr : found->second.get();
}

std::string RecordService::file_id(const RecordedFile& file) {
    return fmt::format("{:016x}", session::file_id(file.folder, file.file));
}

const RecordedFile* RecordService::find_file(std::string_view id) const {
    const std::optional<uint64_t> value = parse_id(id);
    for (const auto& [path, store] : stores_) {
        const RecordedFile* const found = value ? store->find(*value) : nullptr;
        if (found != nullptr && !found->elsewhere) {
            return found;
        }
    }
    return nullptr;
}

const RecordedFile* RecordService::find_file_named(std::string_view file) const {
    for (const auto& [path, store] : stores_) {
        const RecordedFile* const found = store->find(session::file_id(path, file));
        if (found != nullptr && found->file == file) {
            return found;
        }
    }
    return nullptr;
}

Error RecordService::remove(std::string_view id) {
    const std::optional<uint64_t> value = parse_id(id);
    for (const auto& [path, store] : stores_) {
        if (value && store->remove(*value)) {
            return {};
        }
    }
    return make_error(ErrorCode::kNotFound, "no finished recording has that id");
}

// ---- life ----

void RecordService::tick() {
    for (const auto& [path, store] : stores_) {
        store->tick();
    }
}

void RecordService::look_around() {
    const io::Deadline deadline = io::Deadline::after(kLookWait);
    for (const auto& [path, store] : stores_) {  // a store stays
        const uint64_t look = store->look_around();
        while (store->looks() < look) {
            if (looked_.wait_until(deadline)) {
                return;
            }
        }
    }
}

void RecordService::look_soon() {
    for (const auto& [path, store] : stores_) {
        store->look_soon();
    }
}

size_t RecordService::growing() const {
    size_t count = 0;
    for (const auto& [path, store] : stores_) {
        count += store->growing();
    }
    return count;
}

Error RecordService::stop(io::Deadline deadline) {
    stopping_ = true;
    for (const auto& [key, recording] : recordings_) {
        recording->end("stop");
    }
    recordings_.clear();
    while (growing() > 0) {
        const Error error = idle_.wait_even_interrupted(deadline);
        if (error && growing() > 0) {
            return make_error(ErrorCode::kTimeout,
                              "{} recordings are not finished: the disk is too slow; the next "
                              "start repairs them",
                              growing());
        }
    }
    return {};
}

}  // namespace weir::session
