// `user NAME [GROUP];`: a process that root started becomes somebody else before it serves anybody.
//
// Blocks: the databases of users and groups are files, or a directory service.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/error.h"
#include "config/config.h"

namespace weir::app {

// Whether become() can find user and group. Success where the directive has no effect.
Error check_user(const config::UserConfig& user);

// What an operator should know before the start: it stays root, or the directive has no effect;
// empty: nothing.
std::string user_warning(const config::UserConfig& user);

// Whom become() will make of this process; none: it stays who it is.
std::optional<uid_t> user_to_become(const config::UserConfig& user);

// Before the first thread is made, as threads take it over: no program that is started can become
// root again. Nothing where become() will do nothing.
void forbid_new_privileges(const config::UserConfig& user);

// For good, in all threads: groups, group, user; core files and debuggers stay possible. `own`:
// open files that this process keeps on writing, which are given to the user. Does nothing where
// root did not start it or nobody is named. After an error the process is in no state to go on.
Error become(const config::UserConfig& user, const std::vector<int>& own);

// Of these files those that this process cannot read any more.
std::vector<std::string> unreadable(const std::vector<std::string>& files);

// Of these files those that become() would make unreadable, found without becoming that user for
// good: for `weir -t`, which has one thread. Empty where become() would do nothing.
std::vector<std::string> unreadable_by(const config::UserConfig& user,
                                       const std::vector<std::string>& files);

}  // namespace weir::app
