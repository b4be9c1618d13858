// SipSignals: the signalling of many phones: one user agent, on one UDP socket or one TCP
// connection, as behind a PBX. The owner's clock calls look().
#pragma once

#include <memory>
#include <string>

#include "io/deadline.h"
#include "io/tcp.h"
#include "io/udp.h"
#include "proto/sip/stream_reader.h"
#include "proto/sip/user_agent.h"

namespace weir::load {

class SipSignalsOwner {
  public:
    // Never yields.
    virtual void on_sip(sip::CallEvent event) = 0;

  protected:
    ~SipSignalsOwner() = default;
};

class SipSignals final : private io::EventHandler {
  public:
    explicit SipSignals(SipSignalsOwner& owner);
    ~SipSignals();
    SipSignals(const SipSignals&) = delete;
    SipSignals& operator=(const SipSignals&) = delete;

    // `local`: with the port to be bound. kBusy, kSystem.
    Error bind(const NetAddress& local);

    // Yields. Over TCP instead. kTimeout, kSystem.
    Error connect(const io::SocketAddress& server, io::Deadline deadline);

    // What goes to `remote`; over TCP to where the connection leads.
    sip::Flow flow_to(const NetAddress& remote) const;

    NetAddress local() const { return local_; }

    // `act(agent, now)`, then all that comes of it is sent and told.
    template <typename Act>
    auto with_agent(Act&& act) {
        const auto done = act(agent_, MonoClock::now());
        work();
        return done;
    }

    sip::UserAgent& agent() { return agent_; }

    // What is due.
    void look(MonoTime now);

    // The connection has gone.
    bool broken() const { return broken_; }

    uint64_t sent() const { return sent_; }

    uint64_t received() const { return received_; }

    uint64_t malformed() const { return malformed_; }

    // That the kernel did not take.
    uint64_t unsent() const { return unsent_; }

  private:
    void on_ready(uint8_t ready) override;
    void read_datagrams();
    void read_stream();
    void feed(sip::Parsed parsed, const sip::Flow& flow);
    void work();
    void send(const sip::Transmit& out);
    void flush();

    SipSignalsOwner& owner_;
    sip::UserAgent agent_;
    NetAddress local_;
    std::unique_ptr<io::UdpSocket> socket_;
    std::unique_ptr<io::TcpStream> stream_;
    NetAddress server_;  // of the connection
    sip::StreamReader reader_;
    std::string output_;
    bool broken_ = false;
    bool working_ = false;
    bool more_ = false;  // datagrams than one turn takes
    uint64_t sent_ = 0;
    uint64_t received_ = 0;
    uint64_t malformed_ = 0;
    uint64_t unsent_ = 0;
};

}  // namespace weir::load
