// HookTicket: what hook servers have allowed. Its end is told exactly once: by end(), or when it is
// destroyed.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "net/end_class.h"

namespace weir::net {

class Client;

class HookTicket {
  public:
    // What is told at the end; made by whoever implements Hooks.
    class Record {
      public:
        Record() = default;
        Record(const Record&) = delete;
        Record& operator=(const Record&) = delete;
        virtual ~Record() = default;  // tells the end, if nobody has

        virtual void end(const Client& client, EndClass why, std::string_view detail) = 0;
    };

    HookTicket() = default;  // of nothing

    explicit HookTicket(std::unique_ptr<Record> record) : record_(std::move(record)) {}

    HookTicket(HookTicket&&) noexcept = default;
    HookTicket& operator=(HookTicket&&) noexcept = default;
    HookTicket(const HookTicket&) = delete;
    HookTicket& operator=(const HookTicket&) = delete;
    ~HookTicket() = default;

    // Never yields. The first call counts.
    void end(const Client& client, EndClass why, std::string_view detail) {
        if (const std::unique_ptr<Record> record = std::move(record_)) {
            record->end(client, why, detail);
        }
    }

    explicit operator bool() const { return record_ != nullptr; }

  private:
    std::unique_ptr<Record> record_;
};

}  // namespace weir::net
