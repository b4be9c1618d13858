#include "app/access/access_data.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <set>
#include <utility>

#include <sys/stat.h>

#include "base/file.h"
#include "base/strings.h"
#include "config/directives.h"
#include "config/value_words.h"

namespace weir::app {
namespace {

constexpr size_t kMaxSecretFile = 64 * 1024;
constexpr size_t kMaxSecretsOfFile = 1024;
constexpr size_t kMinClusterSecret = 16;

SecretFile seen(const std::string& path) {
    SecretFile file{path};

    struct stat facts {};

    if (stat(path.c_str(), &facts) == 0) {
        constexpr int64_t kNanoseconds = 1'000'000'000;
        file.changed_ns = facts.st_mtim.tv_sec * kNanoseconds + facts.st_mtim.tv_nsec;
        file.size = static_cast<uint64_t>(facts.st_size);
        file.inode = facts.st_ino;
    }
    return file;
}

class Loader {
  public:
    Result<std::shared_ptr<const AccessData>> load(const config::Config& config) {
        auto data = std::make_shared<AccessData>();
        for (const config::VhostConfig& vhost : config.vhosts) {
            WEIR_TRY(load_section(vhost, *data));
            for (const config::VhostConfig& application : vhost.applications) {
                WEIR_TRY(load_section(application, *data));
            }
        }
        WEIR_TRY(load_api(config.http_api.access, data->api));
        WEIR_TRY(load_cluster(config.cluster, data->cluster));
        for (auto& [path, file] : files_) {
            data->files.push_back(std::move(file.facts));
        }
        return std::shared_ptr<const AccessData>(std::move(data));
    }

  private:
    Error load_section(const config::VhostConfig& vhost, AccessData& data) {
        if (Error wrong = load_vhost(vhost, data.vhosts[vhost.section()])) {
            return std::move(wrong).with_context(vhost.title());
        }
        return {};
    }

    struct Read {
        SecretFile facts;
        std::string text;
    };

    // Several vhosts inherit the same files: each is read once.
    Result<const Read*> read(const std::string& path, size_t most) {
        if (const auto known = files_.find(path); known != files_.end()) {
            return &known->second;
        }
        Read read{seen(path), std::string(most + 1, '\0')};
        WEIR_TRY_ASSIGN(const FilePointer file, open_regular_file(path));
        read.text.resize(std::fread(read.text.data(), 1, read.text.size(), file.get()));
        if (std::ferror(file.get()) != 0) {
            return Error::from_errno(errno, path + ": cannot be read");
        }
        if (read.text.size() > most) {
            return make_error(ErrorCode::kLimit, "{}: more than {} bytes", path, most);
        }
        return &files_.emplace(path, std::move(read)).first->second;
    }

    // One per line; empty lines do not count.
    Error add(const config::SecretSource& source, std::vector<std::string>& out) {
        if (!source.is_file) {
            out.push_back(source.text);
            return {};
        }
        WEIR_TRY_ASSIGN(const Read* const file, read(source.text, kMaxSecretFile));
        const size_t before = out.size();
        for (std::string_view line : split(file->text, '\n')) {
            if (line.ends_with('\r')) {
                line.remove_suffix(1);
            }
            if (line.empty()) {
                continue;
            }
            if (!config::is_secret_text(line) || out.size() - before == kMaxSecretsOfFile) {
                return make_error(ErrorCode::kMalformed,
                                  "{}: expected at most {} lines of text, each a secret of at most "
                                  "{} bytes",
                                  source.text, kMaxSecretsOfFile, config::kMaxSecret);
            }
            out.emplace_back(line);
        }
        if (out.size() == before) {
            return make_error(ErrorCode::kMalformed, "{}: there is no secret in it", source.text);
        }
        return {};
    }

    Error add_all(std::string_view directive,
                  const std::vector<config::SecretSource>& sources,
                  std::vector<std::string>& out) {
        for (const config::SecretSource& source : sources) {
            if (Error wrong = add(source, out)) {
                return std::move(wrong).with_context(directive);
            }
        }
        return {};
    }

    Error load_hook_secret(const config::SecretSource& source, std::string& out) {
        if (source.text.empty()) {
            return {};
        }
        std::vector<std::string> lines;
        WEIR_TRY(add_all("http_hooks secret", {source}, lines));
        if (lines.front().size() < config::kMinSharedSecret) {
            return make_error(ErrorCode::kMalformed,
                              "http_hooks secret: {}: its first line has {} characters, expected "
                              "at least {}",
                              source.text, lines.front().size(), config::kMinSharedSecret);
        }
        out = std::move(lines.front());
        return {};
    }

    Error load_vhost(const config::VhostConfig& vhost, VhostSecrets& out) {
        const config::AccessConfig& config = vhost.access;
        WEIR_TRY(load_hook_secret(vhost.http_hooks.secret, out.hook_secret));
        WEIR_TRY(add_all("publish_key", config.publish_keys, out.publish_keys));
        WEIR_TRY(add_all("play_key", config.play_keys, out.play_keys));
        for (const config::LoginConfig& user : config.publish_users) {
            out.publish_users.push_back({user.name, {}});
            WEIR_TRY(add_all("publish_user", {user.password}, out.publish_users.back().passwords));
        }
        std::vector<std::string> secrets;
        WEIR_TRY(add_all("jwt_secret", config.jwt_secrets, secrets));
        for (const std::string& secret : secrets) {
            if (Error wrong = add_jwt_secret(out.jwt_keys, secret)) {
                return std::move(wrong).with_context("jwt_secret");
            }
        }
        for (const std::string& path : config.jwks_files) {
            Result<const Read*> file = read(path, kMaxJwksBytes);
            if (!file.ok()) {
                return file.take_error().with_context("jwks_file");
            }
            if (Error wrong = add_jwks(out.jwt_keys, (*file)->text)) {
                return std::move(wrong).with_context("jwks_file " + path);
            }
        }
        return {};
    }

    Error load_api(const config::ApiAccessConfig& config, std::vector<ApiSecrets>& out) {
        for (const config::ApiTokenConfig& token : config.tokens) {
            out.push_back({token.role, {}, {}});
            WEIR_TRY(add_all("http_api token", {token.token}, out.back().secrets));
        }
        for (const config::ApiUserConfig& user : config.users) {
            out.push_back({user.role, user.login.name, {}});
            WEIR_TRY(add_all("http_api user", {user.login.password}, out.back().secrets));
        }
        return {};
    }

    // The first line of each.
    Error load_cluster(const config::ClusterConfig& config, ClusterSecrets& out) {
        std::vector<std::string> lines;
        if (!config.registry_password.text.empty()) {
            WEIR_TRY(add_all("cluster registry_password", {config.registry_password}, lines));
            out.registry_password = std::move(lines.front());
            lines.clear();
        }
        if (config.secret.text.empty()) {
            return {};
        }
        WEIR_TRY(add_all("cluster secret", {config.secret}, lines));
        if (lines.front().size() < kMinClusterSecret) {
            return make_error(ErrorCode::kMalformed,
                              "cluster secret: {}: its first line has {} characters, expected at "
                              "least {}",
                              config.secret.text, lines.front().size(), kMinClusterSecret);
        }
        out.secret = std::move(lines.front());
        return {};
    }

    std::map<std::string, Read> files_;
};

}  // namespace

bool SecretFile::has_changed() const {
    const SecretFile now = seen(path);
    return now.changed_ns != changed_ns || now.size != size || now.inode != inode;
}

const VhostSecrets* AccessData::find(std::string_view section) const {
    const auto found = vhosts.find(section);
    return found == vhosts.end() ? nullptr : &found->second;
}

bool AccessData::is_stale() const {
    return std::ranges::any_of(files, &SecretFile::has_changed);
}

Result<std::shared_ptr<const AccessData>> AccessData::load(const config::Config& config) {
    return Loader().load(config);
}

std::vector<std::string> secret_files(const config::Config& config) {
    std::set<std::string> files;
    const auto add = [&](const config::SecretSource& source) {
        if (source.is_file) {
            files.insert(source.text);
        }
    };
    const auto add_section = [&](const config::VhostConfig& section) {
        const config::AccessConfig& access = section.access;
        add(section.http_hooks.secret);
        for (const auto* list : {&access.publish_keys, &access.play_keys, &access.jwt_secrets}) {
            std::ranges::for_each(*list, add);
        }
        for (const config::LoginConfig& user : access.publish_users) {
            add(user.password);
        }
        files.insert(access.jwks_files.begin(), access.jwks_files.end());
    };
    for (const config::VhostConfig& vhost : config.vhosts) {
        add_section(vhost);
        std::ranges::for_each(vhost.applications, add_section);
    }
    for (const config::ApiTokenConfig& token : config.http_api.access.tokens) {
        add(token.token);
    }
    for (const config::ApiUserConfig& user : config.http_api.access.users) {
        add(user.login.password);
    }
    add(config.cluster.registry_password);
    add(config.cluster.secret);
    return {files.begin(), files.end()};
}

}  // namespace weir::app
