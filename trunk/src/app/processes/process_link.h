// ProcessLink: a process's side of the connection to its supervisor: its listeners come from there,
// and it hears which process has which stream.
//
// When the supervisor has gone, the process ends, too (SIGTERM to itself): nobody would begin it
// anew, and a new supervisor wants its ports.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/processes/connection_exchange.h"
#include "app/processes/datagram_exchange.h"
#include "app/processes/message_socket.h"
#include "app/processes/process_seat.h"
#include "app/processes/stream_owners.h"
#include "base/hmac.h"
#include "base/object_count.h"
#include "io/folder_seat.h"
#include "io/reactor.h"
#include "io/signal.h"

namespace weir::io {
class TcpListener;
class UdpSocket;
}  // namespace weir::io

namespace weir::app {

class ProcessLink final : private io::EventHandler, private Counted<ProcessLink> {
  public:
    static constexpr ObjectName kObjectName{"process_link", "processes"};
    // For an answer of the supervisor, which has nothing to do that takes long.
    static constexpr Millis kAnswerWait{5'000};
    static constexpr size_t kMaxQuestions = 10'000;
    // Words to the supervisor that wait; more, and it must be dead.
    static constexpr size_t kMaxUnsaid = 100'000;

    struct Observer {
        // A stream has another owner, or none any more (epoch 0), and which one it had. Must not
        // yield.
        std::function<void(
            const stream::StreamKey&, const StreamOwner& owner, const StreamOwner& before)>
            on_owner = {};
        // A claim was granted after whoever asked had given up waiting. Must not yield.
        std::function<void(const stream::StreamKey&, uint64_t epoch)> on_late_claim = {};
        // Some names have another home now. Must not yield.
        std::function<void()> on_homes = {};
    };

    // Yields, until the supervisor has said who this is. Takes the descriptor. kTimeout, kClosed,
    // kSystem.
    static Result<std::unique_ptr<ProcessLink>> create(const SeatArgument& seat);
    ~ProcessLink();  // nobody may wait for an answer
    ProcessLink(const ProcessLink&) = delete;
    ProcessLink& operator=(const ProcessLink&) = delete;

    const ProcessSeat& seat() const { return seat_; }

    // What all processes of this supervisor have, and nobody else: one for each purpose. None tells
    // anything of another one.
    Sha256Digest secret(std::string_view purpose) const;

    // The same in hexadecimal, for files that others may read.
    std::string mark() const;

    // A name of the abstract namespace, where that process can be reached. Every user of the
    // machine sees such names, and could take one that is free: so it is another one each time that
    // the process is started, and nobody can tell it before.
    std::string address_of(uint32_t process, std::string_view purpose) const;

    // How connections go to other processes and come from them.
    ConnectionExchange& exchange() { return *exchange_; }

    // The same of datagrams.
    DatagramExchange& datagrams() { return *datagrams_; }

    void set_observer(Observer observer) { observer_ = std::move(observer); }

    // Yields. A listener for that address. Errors as of TcpListener::listen(), and kTimeout.
    Result<std::unique_ptr<io::TcpListener>> listen(const std::string& address);

    // Yields. A UDP socket of a port that all processes have. Errors as of UdpSocket::bind(), and
    // kTimeout.
    Result<std::unique_ptr<io::UdpSocket>> open_udp(const std::string& address,
                                                    const io::UdpOptions& options);

    // Never yields: it listens at these addresses alone.
    void keep(std::vector<std::string> addresses);

    // Never yields. The server is there.
    void ready();

    // Never yields. All processes are to drain.
    void drain();

    // Never yields. Each second: how this process is.
    void beat(const ProcessFigures& own);

    // Yields. The epoch of the claim; 0: another process has the stream. kTimeout, kFull, kClosed.
    Result<uint64_t> claim(const stream::StreamKey& key, bool takeover);

    // Never yields.
    void release(const stream::StreamKey& key, uint64_t epoch);

    StreamOwner find(const stream::StreamKey& key) const;

    // The process that brings a stream which nobody publishes: it follows from the name. Of one
    // that does not come up the next one takes the place.
    uint32_t home_of(const stream::StreamKey& key) const;

    // 0 to 1; of one that is not there 1.
    double busy_of(uint32_t process) const;

    // As the supervisor said last; of one that is not there the default.
    ProcessFigures figures_of(uint32_t process) const;

  private:
    struct Question {
        bool answered = false;
        MessageSocket::Received answer;
        io::Signal signal;
    };

    ProcessLink(const SeatArgument& seat, io::OwnFd control);

    void on_ready(uint8_t ready) override;
    void read();
    void take(MessageSocket::Received received);
    void take_owner(const ProcessMessage& message);
    void note_peers(std::vector<ProcessFigures> peers);
    void lose();
    Result<MessageSocket::Received> ask(const std::string& verb, std::vector<std::string> words);
    Result<io::OwnFd> ask_for_socket(const std::string& address);
    void tell(ProcessMessage message);
    void say_more();

    ProcessSeat seat_;
    MessageSocket socket_;
    io::Registration registration_;
    std::unique_ptr<ConnectionExchange> exchange_;
    std::unique_ptr<DatagramExchange> datagrams_;
    Observer observer_;
    std::string token_;
    io::Signal seated_;
    bool lost_ = false;
    uint64_t last_id_ = 0;
    std::map<uint64_t, Question*> questions_;            // on the stacks of those who wait
    std::map<uint64_t, stream::StreamKey> late_claims_;  // asked, and nobody waits any more
    std::deque<ProcessMessage> unsaid_;
    std::map<stream::StreamKey, StreamOwner> owners_;
    std::vector<ProcessFigures> peers_;
    std::vector<std::string> names_;  // of their addresses
};

// For folders into which all processes write. `link` null: there is one process.
io::FolderSeat folder_seat(const ProcessLink* link);

}  // namespace weir::app
