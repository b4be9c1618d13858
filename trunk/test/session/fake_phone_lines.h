// Telephone lines that do what a test says, and remember what they were asked.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "net/phone_lines.h"

namespace weir::session {

class FakePhoneLines final : public net::PhoneLines {
  public:
    class Line final : public net::PhoneLine {
      public:
        Line(FakePhoneLines& lines, net::PhoneLineRequest request, net::PhoneLineObserver& observer)
            : lines_(lines), request_(std::move(request)), observer_(observer) {}

        Line(const Line&) = delete;
        Line& operator=(const Line&) = delete;

        ~Line() override {
            lines_.asked.emplace_back("close " + request_.user);
            std::erase(lines_.open_lines, this);
        }

        Error invite(std::string_view to, net::PhoneCodecNames codecs) override {
            return asked(fmt::format("invite {} [{}]", to, fmt::join(codecs, ",")));
        }

        Error accept(net::PhoneCodecNames codecs) override {
            return asked(fmt::format("accept [{}]", fmt::join(codecs, ",")));
        }

        Error reject(int status) override { return asked(fmt::format("reject {}", status)); }

        Error hang_up() override { return asked("hang up"); }

        Error hold(bool on) override { return asked(on ? "hold" : "resume"); }

        Error send_digits(std::string_view digits) override {
            return asked(fmt::format("digits {}", digits));
        }

        net::PhoneLineObserver& observer() { return observer_; }

        const net::PhoneLineRequest& request() const { return request_; }

      private:
        Error asked(std::string what) {
            lines_.asked.push_back(std::move(what));
            return lines_.refuses.empty() ? Error()
                                          : make_error(ErrorCode::kBusy, "{}", lines_.refuses);
        }

        FakePhoneLines& lines_;
        net::PhoneLineRequest request_;
        net::PhoneLineObserver& observer_;
    };

    bool allows(std::string_view domain) const override { return domain == "example.com"; }

    Result<std::unique_ptr<net::PhoneLine>> open(const net::PhoneLineRequest& request,
                                                 net::PhoneLineObserver& observer) override {
        auto line = std::make_unique<Line>(*this, request, observer);
        open_lines.push_back(line.get());
        return std::unique_ptr<net::PhoneLine>(std::move(line));
    }

    bool keeps(const stream::StreamKey& key) const override {
        for (const Line* line : open_lines) {
            if (line->request().local == key || line->request().remote == key) {
                return true;
            }
        }
        return false;
    }

    std::vector<std::string> asked;
    std::vector<Line*> open_lines;
    std::string refuses;  // every command, with these words
};

}  // namespace weir::session
