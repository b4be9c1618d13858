// The state of a dialog (RFC 3261 §12) at either end: who, over which way, and the numbers of the
// requests. It makes requests within the dialog and checks those of the peer. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/sip/core_headers.h"
#include "proto/sip/flow.h"
#include "proto/sip/message.h"

namespace weir::sip {

inline constexpr size_t kMaxRoutes = 16;

class Dialog {
  public:
    // As the one who was called. `local_tag`: of its answers; `contact`: "<sip:...>" of ours.
    // nullopt: Contact or Record-Route is missing or malformed, and the request gets 400.
    static std::optional<Dialog> as_callee(const Request& request,
                                           const CoreHeaders& core,
                                           std::string_view local_tag,
                                           std::string contact,
                                           const Flow& flow);

    // As the one who calls: from a response above 100 that has a tag.
    static std::optional<Dialog> as_caller(const Response& response,
                                           const CoreHeaders& core,
                                           std::string contact,
                                           const Flow& flow);

    // A request of ours with the next number: Request-URI, Route, From, To, Call-ID, CSeq, Contact.
    Request make_request(Method method);

    // The ACK of the 2xx to our INVITE of that number.
    Request make_ack(uint32_t invite_number) const;

    // Whether a request of the peer is newer than the last one (§12.2.2); its number is kept.
    // False: answer with 500.
    bool on_request(const CoreHeaders& core);

    // INVITE and UPDATE, and their 2xx, may name another contact (§12.2.1.2). A malformed one is
    // ignored.
    void refresh_target(const MessageBase& message);

    const std::string& call_id() const { return call_id_; }

    std::string_view local_tag() const { return local_.tag(); }

    std::string_view remote_tag() const { return remote_.tag(); }

    const std::string& remote_target() const { return target_; }

    const std::string& contact() const { return contact_; }

    // Where requests go: see requests_flow().
    const Flow& flow() const { return flow_; }

    void set_local_number(uint32_t number) { local_number_ = number; }

    uint32_t local_number() const { return local_number_; }

  private:
    void choose_flow(const Flow& arrived);
    void put_target(Request& request) const;

    std::string call_id_;
    NameAddr local_;
    NameAddr remote_;
    std::string contact_;
    std::string target_;            // of the peer: URI of its Contact
    std::vector<NameAddr> routes_;  // the nearest first
    Flow arrived_;                  // the peer's messages come from there
    Flow flow_;
    uint32_t local_number_ = 0;
    std::optional<uint32_t> remote_number_;
};

// "<sip:user@host:port;transport=tcp>" with the local address of the flow.
std::string make_contact(std::string_view user, const Flow& flow);

// Where a request to `target` goes after a message of the peer came on `arrived`.
//
// Deviation: names are not looked up, the flow is used as it is; so is a connection. A contact with
// a private address, from a peer that has another one, is behind a NAT: then the flow, too.
Flow requests_flow(const Flow& arrived, std::string_view target);

}  // namespace weir::sip
