// ListenerSet: everything that this process listens on, and how it changes while it runs.
//
// A change has two steps. prepare() opens what is new, all of it or nothing, and touches no
// listener that is there; commit() puts the new ones into service, hands over those whose port now
// belongs to another server, and takes away the rest. Connections go on, whatever becomes of the
// listener through which they came; a UDP port stays open until its last WebRTC session has ended.
//
// One exception: a new address that includes an old one of the same port, or the other way round
// (1935 to 127.0.0.1:1935), cannot be opened beside it. Then the old one is closed first, and
// opened again if that does not help: for an instant nobody listens.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/config.h"
#include "io/tcp.h"
#include "io/udp.h"
#include "net/acceptors.h"
#include "session/webrtc/rtc_server.h"

namespace weir::app {

enum class ListenerKind : uint8_t { kRtmp, kHttp, kApi, kRtcUdp, kRtcTcp };

struct WantedListener {
    ListenerKind kind = ListenerKind::kRtmp;
    config::ListenAddress address;
};

// All that the configuration asks for, in the order in which it is opened.
std::vector<WantedListener> wanted_listeners(const config::Config& config);

struct ListenFailure {
    config::ListenAddress address;
    Error error;
};

class ListenerSet {
  public:
    // What serves the TCP listeners of one kind.
    struct Service {
        std::string_view scheme;  // for the log: "rtmp"
        std::string_view path;    // of an address that one can click: "/live/livestream"
        net::Acceptors* acceptors = nullptr;
        // Takes it into service; empty: acceptors->serve(). For options of the address.
        std::function<Error(std::unique_ptr<io::TcpListener>, const config::ListenAddress&)> serve =
            {};
    };

    explicit ListenerSet(session::RtcServer& rtc) : rtc_(rtc) {}

    // Once for each TCP kind; acceptors must outlive this object's last commit().
    void add(ListenerKind kind, Service service) { services_[kind] = std::move(service); }

    // Yields. Opens what is wanted and not there. Empty: commit() or abandon() is next. Otherwise
    // nothing has changed.
    std::vector<ListenFailure> prepare(const std::vector<WantedListener>& wanted);

    // Yields. Puts what was prepared into force. kSystem: no coroutine could be had for some, which
    // is not served.
    Error commit();

    // Gives up what was prepared.
    void abandon();

    // For the log and tests: "rtmp 127.0.0.1:1935".
    std::vector<std::string> list() const;

  private:
    struct Entry {
        ListenerKind kind;
        config::ListenAddress address;
        const io::TcpListener* tcp = nullptr;  // of its service
        const io::UdpSocket* udp = nullptr;    // of rtc_
        bool going = false;
    };

    // What one wanted listener becomes.
    struct Step {
        WantedListener wanted;
        Entry* from = nullptr;  // of entries_: kept, or handed on
        std::unique_ptr<io::TcpListener> tcp;
        std::unique_ptr<io::UdpSocket> udp;
        const io::UdpSocket* revived = nullptr;
        bool postponed = false;  // an old listener is in its way
    };

    void match(const std::vector<WantedListener>& wanted);
    Error open(Step& step);
    // Yields.
    Error open_udp(Step& step, const io::SocketAddress& address);
    Result<io::SocketAddress> address_of(const WantedListener& wanted) const;
    bool overlaps_going(const Step& step) const;
    Error open_in_place(Step& step);
    void reopen(Entry& entry);
    Error serve(const WantedListener& wanted, std::unique_ptr<io::TcpListener> tcp, Entry& entry);
    Error take(Step& step, std::vector<std::unique_ptr<Entry>>& next);
    void close(const Entry& entry);
    std::string text(const Entry& entry) const;

    session::RtcServer& rtc_;
    std::map<ListenerKind, Service> services_;
    std::vector<std::unique_ptr<Entry>> entries_;
    std::vector<Step> steps_;  // between prepare() and commit()
};

}  // namespace weir::app
