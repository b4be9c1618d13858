#include "app/run/added_sources.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/access/strict_json.h"
#include "base/safe_open.h"
#include "config/source_specs.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "io/own_fd.h"
#include "net/api/answer.h"

namespace weir::app {
namespace {

constexpr int kMaxDepth = 8;
constexpr mode_t kOwnerOnly = 0600;
constexpr int64_t kMaxLingerMs = 3'600'000;
constexpr std::array<std::string_view, 4> kTransports = {"auto", "tcp", "udp", "multicast"};

Error wrong(std::string_view field, std::string_view expected) {
    return make_error(ErrorCode::kMalformed, "'{}': expected {}", field, expected);
}

Error take_text(const nlohmann::json& json, const std::string& field, std::string& out) {
    if (!json.is_string() || json.get_ref<const std::string&>().empty()) {
        return wrong(field, "a text");
    }
    out = json.get<std::string>();
    return {};
}

Error take_flag(const nlohmann::json& json, const std::string& field, std::optional<bool>& out) {
    if (!json.is_boolean()) {
        return wrong(field, "true or false");
    }
    out = json.get<bool>();
    return {};
}

// The fields, as they come.
struct Fields {
    std::string vhost = std::string(stream::kDefaultVhost);
    std::string app;
    std::string name;
    config::SourceConfig source;

    Error take(const std::string& field, const nlohmann::json& json) {
        if (field == "vhost") {
            return take_text(json, field, vhost);
        }
        if (field == "app") {
            return take_text(json, field, app);
        }
        if (field == "name") {
            return take_text(json, field, name);
        }
        if (field == "url") {
            return take_url(json);
        }
        if (field == "on_demand") {
            return take_flag(json, field, source.on_demand);
        }
        if (field == "tls_verify") {
            return take_flag(json, field, source.tls_verify);
        }
        if (field == "linger_ms") {
            if (!json.is_number_integer() || json < 0 || json > kMaxLingerMs) {
                return wrong(field, fmt::format("a number from 0 to {}", kMaxLingerMs));
            }
            source.linger = Millis(json.get<int64_t>());
            return {};
        }
        if (field == "transport") {
            return take_transport(json);
        }
        return make_error(ErrorCode::kMalformed,
                          "'{}' is no field of a source; expected vhost, app, name, url, "
                          "on_demand, linger_ms, transport, tls_verify",
                          field);
    }

    Error take_url(const nlohmann::json& json) {
        std::string text;
        WEIR_TRY(take_text(json, "url", text));
        Result<net::SourceUrl> url = net::SourceUrl::parse(text);
        if (!url.ok()) {
            return url.take_error().with_context("'url'");
        }
        source.url = std::move(*url);
        return {};
    }

    Error take_transport(const nlohmann::json& json) {
        for (size_t i = 0; i < kTransports.size(); i++) {
            if (json.is_string() && json.get_ref<const std::string&>() == kTransports[i]) {
                source.transport = static_cast<net::SourceTransport>(i);
                return {};
            }
        }
        return wrong("transport", "auto, tcp, udp or multicast");
    }
};

net::Json json_of(const net::SourceSpec& spec) {
    net::Json json = {{"vhost", spec.key.vhost},     {"app", spec.key.app},
                      {"name", spec.key.name},       {"url", spec.url.full()},
                      {"on_demand", spec.on_demand}, {"linger_ms", spec.linger.count()}};
    if (spec.url.is_rtsp()) {
        json["transport"] = kTransports[static_cast<size_t>(spec.transport)];
    }
    if (spec.url.tls()) {
        json["tls_verify"] = spec.tls_verify;
    }
    return json;
}

Error failed_write(const std::string& path, int fd) {
    const int why = errno;
    if (fd >= 0) {
        ::close(fd);
        ::unlink(path.c_str());
    }
    return make_error(ErrorCode::kSystem, "sources_file: {} cannot be written: {}; {}", path,
                      std::strerror(why), why_not_opened(why));
}

// Whole or not at all.
Error write_whole(const std::string& path, std::string_view text) {
    const std::string fresh = path + ".new";
    const int fd = open_to_write(fresh, O_WRONLY, kOwnerOnly);
    if (fd < 0 || ::fchmod(fd, kOwnerOnly) != 0 || ::ftruncate(fd, 0) != 0) {
        return failed_write(fresh, fd);
    }
    while (!text.empty()) {
        const ssize_t written = ::write(fd, text.data(), text.size());
        if (written < 0 && errno != EINTR) {
            return failed_write(fresh, fd);
        }
        text.remove_prefix(written > 0 ? static_cast<size_t>(written) : 0);
    }
    if (::fsync(fd) != 0 || ::rename(fresh.c_str(), path.c_str()) != 0) {
        return failed_write(fresh, fd);
    }
    ::close(fd);
    return {};
}

using SourceMap = std::map<stream::StreamKey, net::SourceSpec>;

// A file that is not there holds none.
Result<SourceMap> read_file(const std::string& path) {
    SourceMap all;
    std::error_code failed;
    const uintmax_t bytes = std::filesystem::file_size(path, failed);
    if (failed == std::errc::no_such_file_or_directory) {
        return all;
    }
    std::ifstream file(path, std::ios::binary);
    if (failed || !file) {
        return make_error(ErrorCode::kSystem, "sources_file: {} cannot be read: {}", path,
                          failed ? failed.message() : std::strerror(errno));
    }
    std::string text(std::min<uintmax_t>(bytes, AddedSources::kMaxFileBytes), ' ');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    const auto json = parse_strict_object(text, kMaxDepth);
    if (bytes > AddedSources::kMaxFileBytes || !json || !json->contains("sources") ||
        !(*json)["sources"].is_array() || (*json)["sources"].size() > AddedSources::kMost) {
        return make_error(ErrorCode::kMalformed,
                          "sources_file: {} is no list of sources; expected {{\"sources\": [...]}} "
                          "as the server writes it; move it away to begin without any",
                          path);
    }
    size_t number = 0;
    for (const nlohmann::json& each : (*json)["sources"]) {
        number++;
        Result<net::SourceSpec> spec = read_source(each);
        if (!spec.ok()) {
            return spec.take_error().with_context(
                fmt::format("sources_file: {}, source {}", path, number));
        }
        stream::StreamKey key = spec->key;
        all.insert_or_assign(std::move(key), std::move(*spec));
    }
    return all;
}

std::string text_of(const SourceMap& all) {
    net::Json list = net::Json::array();
    for (const auto& [key, spec] : all) {
        list.push_back(json_of(spec));
    }
    return net::Json{{"sources", std::move(list)}}.dump(2, ' ', false,
                                                        net::Json::error_handler_t::replace) +
           "\n";
}

// Own ones instead of those that the file has, beside those of the other processes. kBusy: one of
// them writes just now.
Error write_shared(const std::string& path,
                   const SourceMap& own,
                   const AddedSources::IsOwn& is_own) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    // Its lock is let go of with the descriptor, however the process ends.
    const io::OwnFd lock(
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock) {
        return failed_write(path, -1);
    }
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
        return errno == EWOULDBLOCK ? make_error(ErrorCode::kBusy, "others write sources_file")
                                    : failed_write(path, -1);
    }
    WEIR_TRY_ASSIGN(SourceMap all, read_file(path));
    std::erase_if(all, [&is_own](const auto& each) { return is_own(each.first); });
    all.insert(own.begin(), own.end());
    if (all.size() > AddedSources::kMost) {
        return make_error(ErrorCode::kFull, "there are {} sources already", AddedSources::kMost);
    }
    return write_whole(path, text_of(all));
}

}  // namespace

Result<net::SourceSpec> read_source(const nlohmann::json& json) {
    if (!json.is_object()) {
        return make_error(ErrorCode::kMalformed, "expected an object");
    }
    Fields fields;
    for (const auto& [field, value] : json.items()) {
        WEIR_TRY(fields.take(field, value));
    }
    for (const auto& [field, value] :
         {std::pair("app", &fields.app), std::pair("name", &fields.name),
          std::pair("url", &fields.source.url.host)}) {
        if (value->empty()) {
            return make_error(ErrorCode::kMalformed, "'{}' is missing", field);
        }
    }
    config::VhostConfig top;
    top.name = fields.vhost;
    fields.source.stream = fmt::format("{}/{}", fields.app, fields.name);
    if (const std::string why = config::complete_source(top, fields.source); !why.empty()) {
        return make_error(ErrorCode::kMalformed, "{}", why);
    }
    net::SourceSpec spec = config::named_source(fields.vhost, fields.source);
    spec.by_api = true;
    return spec;
}

Error AddedSources::load(const std::string& path, IsOwn is_own) {
    path_ = path;
    is_own_ = std::move(is_own);
    if (path.empty()) {
        return {};
    }
    WEIR_TRY_ASSIGN(all_, read_file(path));
    std::erase_if(all_, [this](const auto& each) { return is_own_ && !is_own_(each.first); });
    return {};
}

Error AddedSources::add(net::SourceSpec spec) {
    const stream::StreamKey key = spec.key;
    if (all_.contains(key)) {
        return make_error(ErrorCode::kBusy, "the stream has a source already");
    }
    if (all_.size() >= kMost) {
        return make_error(ErrorCode::kFull, "there are {} sources already", kMost);
    }
    all_.emplace(key, std::move(spec));
    if (Error failed = save()) {
        all_.erase(key);
        return failed;
    }
    return {};
}

Error AddedSources::remove(const stream::StreamKey& key) {
    auto taken = all_.extract(key);
    if (taken.empty()) {
        return make_error(ErrorCode::kNotFound, "the stream has no source of the API");
    }
    if (Error failed = save()) {
        all_.insert(std::move(taken));
        return failed;
    }
    return {};
}

// One after the other: each writes what is so at its time.
Error AddedSources::save() {
    if (path_.empty()) {
        return {};
    }
    const io::Deadline deadline = io::Deadline::after(kSaveWait);
    while (saving_) {
        WEIR_TRY(saved_.wait_until(deadline));
    }
    saving_ = true;
    const SourceMap own = all_;
    Error failed = write(own);
    while (failed.code() == ErrorCode::kBusy) {
        failed = deadline.passed() ? make_error(ErrorCode::kTimeout,
                                                "sources_file: another process writes {}", path_)
                                   : io::sleep_for(kLockRetry);
        if (!failed) {
            failed = write(own);
        }
    }
    saving_ = false;
    saved_.notify_all();
    return failed;
}

// Yields.
Error AddedSources::write(const std::map<stream::StreamKey, net::SourceSpec>& own) {
    Error failed;
    Error refused = workers_->run([&] {
        failed = is_own_ ? write_shared(path_, own, is_own_) : write_whole(path_, text_of(own));
    });
    return refused ? std::move(refused) : std::move(failed);
}

}  // namespace weir::app
