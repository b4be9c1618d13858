#include "app/run/run_as.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <grp.h>
#include <pwd.h>

#include "base/log.h"
#include "base/safe_open.h"

namespace weir::app {
namespace {

constexpr size_t kEntryBytes = 64 * 1024;  // of one user or group, with the members of the group

struct Account {
    uid_t uid = 0;
    gid_t gid = 0;
};

bool is_root() {
    return geteuid() == 0;
}

Result<Account> find_account(const config::UserConfig& user) {
    std::vector<char> memory(kEntryBytes);
    passwd entry{};
    passwd* found = nullptr;
    int why = getpwnam_r(user.name.c_str(), &entry, memory.data(), memory.size(), &found);
    if (found == nullptr) {
        return make_error(ErrorCode::kNotFound, "user {}: {}", log::escaped(user.name),
                          why == 0 ? "there is no such user" : std::strerror(why));
    }
    Account account{entry.pw_uid, entry.pw_gid};
    if (user.group.empty()) {
        return account;
    }
    group group_entry{};
    group* found_group = nullptr;
    why = getgrnam_r(user.group.c_str(), &group_entry, memory.data(), memory.size(), &found_group);
    if (found_group == nullptr) {
        return make_error(ErrorCode::kNotFound, "user {} {}: {}", log::escaped(user.name),
                          log::escaped(user.group),
                          why == 0 ? "there is no such group" : std::strerror(why));
    }
    account.gid = group_entry.gr_gid;
    return account;
}

Error failed(const config::UserConfig& user, const char* call) {
    const int why = errno;
    return Error::from_errno(
        why, fmt::format("cannot become user {} ({}); that needs CAP_SETUID and CAP_SETGID",
                         log::escaped(user.name), call));
}

}  // namespace

Error check_user(const config::UserConfig& user) {
    if (user.name.empty() || !is_root()) {
        return {};
    }
    return find_account(user).take_error();
}

std::optional<uid_t> user_to_become(const config::UserConfig& user) {
    if (user.name.empty() || !is_root()) {
        return std::nullopt;
    }
    const Result<Account> account = find_account(user);
    return account.ok() && account->uid != 0 ? std::optional(account->uid) : std::nullopt;
}

std::string user_warning(const config::UserConfig& user) {
    if (user.name.empty()) {
        return is_root() ? "runs as root, and whoever finds a hole in it is root too: add \"user "
                           "NAME;\" to the configuration, or start it as another user"
                         : "";
    }
    if (is_root()) {
        return "";
    }
    std::vector<char> memory(kEntryBytes);
    passwd entry{};
    passwd* found = nullptr;
    (void)getpwnam_r(user.name.c_str(), &entry, memory.data(), memory.size(), &found);
    return found != nullptr && entry.pw_uid == geteuid()
               ? ""
               : fmt::format(
                     "user {} has no effect: only a process that root started can become "
                     "another user",
                     log::escaped(user.name));
}

void forbid_new_privileges(const config::UserConfig& user) {
    if (!user.name.empty() && is_root()) {
        (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    }
}

Error become(const config::UserConfig& user, const std::vector<int>& own) {
    if (user.name.empty() || !is_root()) {
        return {};
    }
    WEIR_TRY_ASSIGN(const Account account, find_account(user));
    if (account.uid == 0) {
        return {};  // said by the operator
    }
    for (const int file : own) {
        if (give_away(file, account.uid, account.gid) != 0) {
            log::warn("user {}: log_file or pid cannot be given to it: {}", log::escaped(user.name),
                      std::strerror(errno));
        }
    }
    // glibc does each of these in all threads.
    if (initgroups(user.name.c_str(), account.gid) != 0) {
        return failed(user, "initgroups");
    }
    if (setresgid(account.gid, account.gid, account.gid) != 0) {
        return failed(user, "setgid");
    }
    if (setresuid(account.uid, account.uid, account.uid) != 0) {
        return failed(user, "setuid");
    }
    if (setuid(0) == 0) {
        return make_error(ErrorCode::kSystem, "user {}: root could be had again",
                          log::escaped(user.name));
    }
    (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // the change of user has forbidden core files
    log::info("runs as user={} uid={} gid={}", log::token(user.name), account.uid, account.gid);
    return {};
}

std::vector<std::string> unreadable(const std::vector<std::string>& files) {
    std::vector<std::string> out;
    for (const std::string& path : files) {
        if (faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0 && errno == EACCES) {
            out.push_back(path);
        }
    }
    return out;
}

std::vector<std::string> unreadable_by(const config::UserConfig& user,
                                       const std::vector<std::string>& files) {
    if (user.name.empty() || !is_root()) {
        return {};
    }
    const Result<Account> account = find_account(user);
    const int count = getgroups(0, nullptr);
    if (!account.ok() || account->uid == 0 || count < 0) {
        return {};
    }
    std::vector<gid_t> groups(static_cast<size_t>(count));
    const gid_t group = getegid();
    if (getgroups(count, groups.data()) != count) {
        return {};
    }
    std::vector<std::string> out;
    if (initgroups(user.name.c_str(), account->gid) == 0 && setegid(account->gid) == 0 &&
        seteuid(account->uid) == 0) {
        out = unreadable(files);
    }
    if (seteuid(0) != 0 || setegid(group) != 0 || setgroups(groups.size(), groups.data()) != 0) {
        log::warn("user {}: root could not be had again after a look at its files",
                  log::escaped(user.name));
    }
    return out;
}

}  // namespace weir::app
