// What several processes answer to one request of the API, as one answer. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/api/answer.h"

namespace weir::app {

// One process's answer.
struct ProcessAnswer {
    uint32_t process = 0;
    net::Json json;
};

// A page of a list: the objects of all of them, one process behind the other, each with its
// "process", from `start` on, `count` at most; "total" is that of all. Every answer must be a list
// from 0 on with at least start + count objects, where there are so many. `name`: of the member
// with the list.
net::Json merge_lists(const std::vector<ProcessAnswer>& answers,
                      std::string_view name,
                      uint64_t start,
                      uint64_t count);

// The same of recordings, in the order of one process: those that run, then the finished ones of
// each folder, the newest first.
net::Json merge_recordings(const std::vector<ProcessAnswer>& answers,
                           uint64_t start,
                           uint64_t count);

// Numbers are summed up, but for those that say when or which (kOfOne); objects of lists with the
// same id are one; of everything else it is the first one's.
net::Json merge_sums(const std::vector<ProcessAnswer>& answers);

// One process's answer to a reload; 503 without a body where there was none.
struct ReloadAnswer {
    uint32_t process = 0;
    int status = 0;
    net::Json json;
};

// 200 where all have the new configuration: what the first one says, and `processes` with what each
// did. Else the status of the first one that has not, `error` with which is which, and the errors
// of all. At least one answer.
ReloadAnswer merge_reloads(const std::vector<ReloadAnswer>& answers);

// /metrics: each sample gets the label `process`; what is said of a metric stands once.
std::string merge_metrics(const std::vector<std::pair<uint32_t, std::string>>& texts);

}  // namespace weir::app
