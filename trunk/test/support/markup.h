// A strict reader of markup for tests: every element is closed, attributes are quoted and not
// repeated, and '<' and '&' stand nowhere else.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weir::test {

class Markup {
  public:
    // What is wrong first stands in error(); empty when the text is well-formed.
    explicit Markup(std::string_view text) : text_(text) {
        while (error_.empty() && at_ < text_.size()) {
            text_[at_] == '<' ? tag() : plain();
        }
        if (error_.empty() && !open_.empty()) {
            error_ = "not closed: " + open_.back();
        }
    }

    const std::string& error() const { return error_; }

    // How many elements of that name there are.
    size_t count(const std::string& name) const {
        auto found = count_.find(name);
        return found == count_.end() ? 0 : found->second;
    }

    // Values of this attribute, of any element.
    std::vector<std::string> values(const std::string& attribute) const {
        auto found = values_.find(attribute);
        return found == values_.end() ? std::vector<std::string>() : found->second;
    }

  private:
    void fail(const std::string& what) {
        error_ = what + " at " + std::string(text_.substr(at_, 60));
        at_ = text_.size();
    }

    void check_text(std::string_view part) {
        for (size_t i = 0; i < part.size(); i++) {
            size_t end = part.find(';', i);
            if (part[i] == '<' ||
                (part[i] == '&' && (end == std::string_view::npos || end > i + 6))) {
                return fail("bare '" + std::string(1, part[i]) + "'");
            }
        }
    }

    void plain() {
        size_t end = std::min(text_.find('<', at_), text_.size());
        if (open_.empty() || open_.back() != "style") {
            check_text(text_.substr(at_, end - at_));
        }
        at_ = std::max(at_, end);
    }

    void tag() {
        size_t end = text_.find('>', at_);
        if (end == std::string_view::npos) {
            return fail("tag without end");
        }
        std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
        if (inside == "!DOCTYPE html") {
            at_ = end + 1;
        } else if (inside.starts_with("/")) {
            if (open_.empty() || open_.back() != inside.substr(1)) {
                return fail("closes what is not open");
            }
            open_.pop_back();
            at_ = end + 1;
        } else {
            open(inside, end);
        }
    }

    void open(std::string_view inside, size_t end) {
        bool closed = inside.ends_with("/");
        if (closed) {
            inside.remove_suffix(1);
        }
        size_t space = std::min(inside.find(' '), inside.size());
        std::string name(inside.substr(0, space));
        inside.remove_prefix(space);
        std::set<std::string> seen;
        while (!inside.empty()) {
            size_t quote = inside.find("=\"");
            size_t last = quote == std::string_view::npos ? quote : inside.find('"', quote + 2);
            if (inside[0] != ' ' || last == std::string_view::npos) {
                return fail("attribute of " + name);
            }
            std::string attribute(inside.substr(1, quote - 1));
            std::string_view value = inside.substr(quote + 2, last - quote - 2);
            if (!seen.insert(attribute).second) {
                return fail("repeated " + attribute);
            }
            check_text(value);
            values_[attribute].emplace_back(value);
            inside.remove_prefix(last + 1);
        }
        count_[name]++;
        if (!closed) {
            open_.push_back(name);
        }
        at_ = std::max(at_, end + 1);
    }

    std::string_view text_;
    size_t at_ = 0;
    std::vector<std::string> open_;
    std::map<std::string, size_t> count_;
    std::map<std::string, std::vector<std::string>> values_;
    std::string error_;
};

}  // namespace weir::test
