// One SRT connection, as the coroutine that owns it sees it: it hands on what comes, tells the
// newest figures to the API, and wakes the coroutine when something ends it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/object_count.h"
#include "io/signal.h"
#include "io/srt/srt_engine.h"
#include "net/client_probe.h"
#include "net/client_table.h"
#include "net/link_facts.h"

namespace weir::io {
class Deadline;
class SocketAddress;
}  // namespace weir::io

namespace weir::session {

class SrtLink final : public io::SrtPeer, public net::ClientProbe, private Counted<SrtLink> {
  public:
    static constexpr ObjectName kObjectName{"srt_link", "srt"};
    static constexpr size_t kMaxHeld = 256u << 10;  // bytes that come before set_receiver()

    // `engine` must outlive this.
    explicit SrtLink(io::SrtEngine& engine) : engine_(engine) {}

    ~SrtLink();  // closes the connection
    SrtLink(const SrtLink&) = delete;
    SrtLink& operator=(const SrtLink&) = delete;

    // A connection that came in.
    void take(const io::SrtNewcomer& newcomer);

    // Yields. Calls `to`, also again after it has failed; kTimeout, kDenied, kClosed, kInterrupted.
    Error connect(const io::SocketAddress& to, const io::SrtOptions& options);

    io::SrtId id() const { return id_; }

    bool encrypted() const { return encrypted_; }

    // Where what comes goes from now on; what has come is given at once. Must not yield. nullptr:
    // it is counted and let go.
    void set_receiver(std::function<void(ByteSpan)> receiver);

    // Who is asked and counted for; null: nobody. Told of the bytes that libsrt took and gave.
    void set_client(net::Client* client);

    // Asked once a second, after new figures.
    void set_on_sample(std::function<void()> on_sample) { on_sample_ = std::move(on_sample); }

    // Bytes have come that nobody has got yet, or had no room.
    bool has_held() const { return !held_.empty(); }

    // The owner is woken, and wait() gives this; the first one counts.
    void end(net::EndClass why, std::string detail);

    bool ended() const { return ended_.has_value(); }

    // Yields. Until it has ended (success), or something has come that was not asked for, or
    // kTimeout, kInterrupted.
    Error wait(io::Deadline deadline);

    struct End {
        net::EndClass why = net::EndClass::kPeerClosed;
        std::string detail;
        ErrorCode code = ErrorCode::kClosed;
    };

    // Once ended().
    const End& how() const { return *ended_; }

    const io::SrtStats& stats() const { return stats_; }

    // net::ClientProbe
    std::optional<net::LinkFacts> link_facts() const override;
    std::optional<net::LagFacts> lag_facts() const override;

    std::optional<net::SrtFacts> srt_facts() const override;

  private:
    void on_srt_connected(bool encrypted) override;
    void on_srt_data(ByteSpan data) override;
    void on_srt_stats(const io::SrtStats& stats) override;
    void on_srt_end(Error why) override;
    void notify();

    io::SrtEngine& engine_;
    io::SrtId id_ = 0;
    bool connected_ = false;
    bool encrypted_ = false;
    bool receives_ = false;  // set_receiver() was called
    std::string remote_;
    std::function<void(ByteSpan)> receiver_;
    std::function<void()> on_sample_;
    Bytes held_;
    net::Client* client_ = nullptr;
    io::SrtStats stats_;
    io::SrtStats counted_;  // of which the client knows
    std::optional<End> ended_;
    io::Signal changed_;
};

}  // namespace weir::session
