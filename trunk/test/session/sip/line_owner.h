// Whoever has a line: remembers what it is told.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "net/phone_lines.h"

namespace weir::session {

class LineOwner final : public net::PhoneLineObserver {
  public:
    void on_line_ready() override { told.emplace_back("ready"); }

    void on_line_failed(std::string_view reason) override {
        told.push_back("failed " + std::string(reason));
    }

    void on_ringing(std::string_view reason) override {
        told.push_back("ringing " + std::string(reason));
    }

    void on_rejected(std::string_view reason) override {
        told.push_back("rejected " + std::string(reason));
    }

    void on_invited(std::string_view from, std::string_view to) override {
        called = to;
        told.push_back("invited by " + std::string(from));
    }

    void on_cancelled(std::string_view from, std::string_view) override {
        told.push_back("cancelled by " + std::string(from));
    }

    void on_accepted(std::string_view audio, std::string_view video) override {
        told.push_back(fmt::format("accepted {}/{}", audio, video));
    }

    void on_ended() override { told.emplace_back("ended"); }

    void on_held(bool held) override { told.emplace_back(held ? "held" : "resumed"); }

    void on_digit(char digit) override { told.push_back(std::string("digit ") + digit); }

    std::vector<std::string> told;
    std::string called;  // by whoever has invited it last
    std::unique_ptr<net::PhoneLine> line;
};

}  // namespace weir::session
