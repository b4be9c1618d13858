#include "app/processes/answer_merge.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/strings.h"

namespace weir::app {
namespace {

// Of one process, of the machine, or a time: no sum.
constexpr std::array<std::string_view, 12> kOfOne = {
    "code",     "pid",        "ppid",   "now_ms", "time_ms",       "period_ms",
    "uptime_s", "srs_uptime", "system", "cpus",   "mem_ram_kbyte", "version"};

void add(net::Json& to, const net::Json& more);

void add_member(net::Json& to, const std::string& name, const net::Json& more) {
    if (!to.contains(name)) {
        to[name] = more;
    } else if (std::ranges::find(kOfOne, name) == kOfOne.end()) {
        add(to[name], more);
    }
}

void add_to_list(net::Json& to, const net::Json& more) {
    for (const net::Json& each : more) {
        const auto same = std::ranges::find_if(to, [&](const net::Json& other) {
            return each.is_object() && other.is_object() && each.contains("id") &&
                   other.contains("id") && each["id"] == other["id"];
        });
        if (same != to.end()) {
            add(*same, each);
        } else if (each.is_object()) {
            to.push_back(each);
        }
    }
}

void add(net::Json& to, const net::Json& more) {
    if (to.is_object() && more.is_object()) {
        for (const auto& [name, value] : more.items()) {
            add_member(to, name, value);
        }
    } else if (to.is_array() && more.is_array()) {
        add_to_list(to, more);
    } else if (to.is_number_integer() && more.is_number_integer()) {
        to = to.get<int64_t>() + more.get<int64_t>();
    } else if (to.is_number() && more.is_number()) {
        to = to.get<double>() + more.get<double>();
    }
}

// "name{a="b"} 1" to "name{process="2",a="b"} 1".
std::string with_process(std::string_view line, uint32_t process) {
    const size_t end = line.find_first_of("{ ");
    if (end == std::string_view::npos) {
        return std::string(line);
    }
    const bool labels = line[end] == '{';
    return fmt::format("{}{{process=\"{}\"{}{}", line.substr(0, end), process, labels ? "," : "}",
                       line.substr(end + (labels ? 1 : 0)));
}

}  // namespace

net::Json merge_lists(const std::vector<ProcessAnswer>& answers,
                      std::string_view name,
                      uint64_t start,
                      uint64_t count) {
    const std::string key(name);
    net::Json merged = answers.front().json;
    merged[key] = net::Json::array();
    uint64_t total = 0;
    uint64_t index = 0;
    for (const ProcessAnswer& answer : answers) {
        if (!answer.json.contains(key) || !answer.json[key].is_array()) {
            continue;
        }
        const net::Json& list = answer.json[key];
        for (const net::Json& each : list) {
            if (index >= start && index - start < count && each.is_object()) {
                net::Json copy = each;
                copy["process"] = answer.process;
                merged[key].push_back(std::move(copy));
            }
            index++;
        }
        const bool counted = answer.json.contains("total") && answer.json["total"].is_number();
        const uint64_t of_this = counted ? answer.json["total"].get<uint64_t>() : list.size();
        index +=
            of_this - std::min<uint64_t>(of_this, list.size());  // those that were not asked for
        total += of_this;
    }
    if (merged.contains("total")) {
        merged["total"] = total;
    }
    return merged;
}

net::Json merge_recordings(const std::vector<ProcessAnswer>& answers,
                           uint64_t start,
                           uint64_t count) {
    struct Row {
        std::string folder;  // empty: it runs
        int64_t ended_ms = 0;
        net::Json json;
    };

    const std::string key = "recordings";
    std::vector<Row> rows;
    uint64_t total = 0;
    for (const ProcessAnswer& answer : answers) {
        const net::Json list = answer.json.value(key, net::Json::array());
        for (const net::Json& each : list) {
            if (!each.is_object()) {
                continue;
            }
            Row row;
            row.json = each;
            row.json["process"] = answer.process;
            if (each.value("state", "") == "finished") {
                row.folder = each.value("folder", "");
                row.ended_ms = each.value("ended_ms", int64_t{0});
            }
            rows.push_back(std::move(row));
        }
        total += answer.json.value("total", uint64_t{0});
    }
    std::ranges::stable_sort(rows, [](const Row& a, const Row& b) {
        return std::tie(a.folder, b.ended_ms) < std::tie(b.folder, a.ended_ms);
    });
    net::Json merged = answers.front().json;
    merged[key] = net::Json::array();
    for (uint64_t i = start; i < rows.size() && i - start < count; i++) {
        merged[key].push_back(std::move(rows[i].json));
    }
    merged["total"] = total;
    return merged;
}

net::Json merge_sums(const std::vector<ProcessAnswer>& answers) {
    net::Json merged = answers.front().json;
    for (size_t i = 1; i < answers.size(); i++) {
        add(merged, answers[i].json);
    }
    return merged;
}

ReloadAnswer merge_reloads(const std::vector<ReloadAnswer>& answers) {
    constexpr int kDone = 200;
    ReloadAnswer merged;
    std::string done;
    std::string kept;
    std::string silent;
    net::Json processes = net::Json::array();
    net::Json errors = net::Json::array();
    for (const ReloadAnswer& each : answers) {
        const bool failed = each.status != kDone;
        std::string& list = !failed ? done : each.json.is_object() ? kept : silent;
        list += fmt::format("{}{}", list.empty() ? "" : ", ", each.process);
        processes.push_back({{"process", each.process}, {"code", failed ? each.status : 0}});
        if (failed && each.json.is_object()) {
            for (const net::Json& error : each.json.value("errors", net::Json::array())) {
                if (std::ranges::find(errors, error) == errors.end()) {
                    errors.push_back(error);
                }
            }
        }
        const bool leads = merged.status == 0 || (merged.status == kDone && failed);
        if (each.json.is_object() && (leads || !merged.json.is_object())) {
            merged.json = each.json;
        }
        merged.status = leads ? each.status : merged.status;
    }
    if (!merged.json.is_object()) {
        merged.json = net::Json::object();
    }
    merged.json["processes"] = std::move(processes);
    if (merged.status == kDone) {
        return merged;
    }
    merged.json.erase("data");
    merged.json["code"] = merged.status;
    merged.json["errors"] = std::move(errors);
    if (done.empty() && silent.empty()) {
        return merged;  // "nothing was changed"
    }
    std::string error;
    for (const auto& [what, list] :
         {std::pair("with the new configuration", &done), std::pair("with the old one", &kept),
          std::pair("that did not answer", &silent)}) {
        if (!list->empty()) {
            error += fmt::format("{}processes {}: {}", error.empty() ? "" : "; ", what, *list);
        }
    }
    merged.json["error"] = error;
    return merged;
}

std::string merge_metrics(const std::vector<std::pair<uint32_t, std::string>>& texts) {
    struct Metric {
        std::string comments;
        std::string samples;
    };

    std::vector<std::string> order;
    std::map<std::string, Metric, std::less<>> metrics;
    for (const auto& [process, text] : texts) {
        std::string name;
        bool is_new = false;
        for (const std::string_view line : split(text, '\n')) {
            if (line.starts_with("# ")) {
                const std::vector<std::string_view> words = split(line, ' ', 4);
                if (words.size() > 2 && words[2] != name) {
                    name = words[2];
                    is_new = !metrics.contains(name);
                    if (is_new) {
                        order.push_back(name);
                    }
                }
                if (is_new) {
                    metrics[name].comments += std::string(line) + "\n";
                }
            } else if (!line.empty()) {
                metrics[name].samples += with_process(line, process) + "\n";
            }
        }
    }
    std::string merged;
    for (const std::string& name : order) {
        merged += metrics[name].comments + metrics[name].samples;
    }
    return merged;
}

}  // namespace weir::app
