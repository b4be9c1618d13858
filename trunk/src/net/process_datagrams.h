// ProcessDatagrams: several processes of one machine receive on the same UDP port (`single_port`),
// and the kernel spreads peers that it does not know over them. What came to another process than
// the one whose session it is for is passed on by this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/net_address.h"

namespace weir::net {

// Where a datagram came: from `peer` to `local` (without port; none where the socket is bound to
// one address), through the socket that is bound to `bound`.
struct ProcessPath {
    NetAddress bound;
    NetAddress local;
    NetAddress peer;
};

class ProcessDatagrams {
  public:
    // Who gets what other processes pass here. May not yield.
    class Taker {
      public:
        // The bytes are good, and may be changed, during the call only.
        virtual void on_passed(const ProcessPath& path, std::span<uint8_t> datagram) = 0;

        // That peer has proven to be one of a session in that process.
        virtual void on_claimed(const ProcessPath& path, uint32_t process) = 0;

        // All that came at once was told.
        virtual void on_passed_end() = 0;

      protected:
        ~Taker() = default;
    };

    // Which process this is, and how many there are.
    virtual uint32_t own() const = 0;
    virtual uint32_t count() const = 0;

    // nullptr: nobody; what comes is dropped.
    virtual void set_taker(Taker* taker) = 0;

    // None of these yields. What is passed and claimed goes out with flush(), or before.
    virtual void pass(uint32_t process,
                      const ProcessPath& path,
                      std::span<const uint8_t> bytes) = 0;

    // Tells all others.
    virtual void claim(const ProcessPath& path) = 0;

    virtual void flush() = 0;

    // Datagrams that other processes did not take, since the start: they have gone, or have much to
    // do.
    virtual uint64_t lost() const = 0;

  protected:
    ~ProcessDatagrams() = default;
};

}  // namespace weir::net
