// The secrets of a configuration, read: what AccessConfig names, with the contents of its files.
// Made as a whole, then never changed; a change of a file makes a new one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/access/jwt_keys.h"
#include "config/config.h"

namespace weir::app {

struct UserSecrets {
    std::string name;
    std::vector<std::string> passwords;
};

struct VhostSecrets {
    std::vector<std::string> publish_keys;
    std::vector<std::string> play_keys;
    std::vector<UserSecrets> publish_users;
    JwtKeys jwt_keys;
    std::string hook_secret;  // signs what is sent to hook servers; empty: nothing does
};

struct ApiSecrets {
    config::ApiRole role = config::ApiRole::kRead;
    std::string user;  // empty: a bearer token
    std::vector<std::string> secrets;
};

// A file that was read, as it was then.
struct SecretFile {
    std::string path;
    int64_t changed_ns = 0;
    uint64_t size = 0;
    uint64_t inode = 0;

    // Blocks on disk. Whether it is another one now; also when it is gone.
    bool has_changed() const;
};

struct ClusterSecrets {
    std::string registry_password;  // empty: none, or that of the URL
    std::string secret;             // empty: none
};

struct AccessData {
    std::map<std::string, VhostSecrets, std::less<>> vhosts;  // by VhostConfig::section()
    std::vector<ApiSecrets> api;
    ClusterSecrets cluster;
    std::vector<SecretFile> files;

    // `section`: VhostConfig::section().
    const VhostSecrets* find(std::string_view section) const;

    // Blocks on disk.
    bool is_stale() const;

    // Blocks on disk: at start, or on a worker. The error names the directive and the file, never
    // what is in it. A file with no secret in it is an error: it would lock everybody out, or let
    // everybody in who shows nothing.
    static Result<std::shared_ptr<const AccessData>> load(const config::Config& config);
};

// The files that load() reads, each once.
std::vector<std::string> secret_files(const config::Config& config);

}  // namespace weir::app
