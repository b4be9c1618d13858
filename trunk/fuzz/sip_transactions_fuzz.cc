// A SIP user agent with its transactions and calls. The input is a list of steps: raw datagrams,
// requests and responses that fit what the agent has sent last, what the owner does, time, and
// failures of flows. Each call ends with one event and nothing after it, all that is sent can be
// read, and in the end nothing is left.
#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"
#include "proto/sip/user_agent.h"

#include "test/support/counting_random.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

namespace {

namespace sip = weir::sip;
using Kind = sip::CallEvent::Kind;

sip::UserAgentOptions small() {
    sip::UserAgentOptions out;
    out.max_calls = 8;
    out.transactions.max_transactions = 32;
    return out;
}

class Machine {
  public:
    void step(weir::ByteReader& reader) {
        switch (reader.u8() % 6) {
            case 0: feed(std::string(weir::as_text(reader.take(reader.u8())))); break;
            case 1: pass(weir::Millis(10 * reader.u16())); break;
            case 2: act(reader.u8(), reader.u8()); break;
            case 3: feed(request(reader.u8(), reader.u8(), reader.u8())); break;
            case 4: feed(response(reader.u8(), reader.u8())); break;
            default: agent_.on_flow_failed(now_, flow_); drain();
        }
    }

    void finish() {
        while (!live_.empty()) {
            WEIR_CHECK(agent_.hang_up(now_, *live_.begin()));
            drain();
        }
        pass(weir::Seconds(700));
        WEIR_CHECK(agent_.calls() == 0 && agent_.transactions().size() == 0);
        WEIR_CHECK(agent_.transactions().held_bytes() == 0 && !agent_.next_timeout());
    }

  private:
    void feed(const std::string& text) {
        agent_.on_parsed(now_, sip::parse_datagram(weir::as_bytes(text)), flow_);
        drain();
    }

    void pass(weir::Millis length) {
        const weir::MonoTime end = now_ + length;
        while (agent_.next_timeout() && *agent_.next_timeout() <= end) {
            now_ = std::max(now_, *agent_.next_timeout());
            agent_.handle_timeout(now_);
            drain();
        }
        now_ = end;
    }

    sip::CallId pick(size_t which) const {
        return live_.empty()
                   ? 0
                   : *std::next(live_.begin(), static_cast<ptrdiff_t>(which % live_.size()));
    }

    void act(uint8_t what, uint8_t which) {
        if (what % 10 == 0) {
            sip::CallTarget target;
            target.flow = flow_;
            target.uri = "sip:b@h";
            target.from = "sip:a@h";
            target.login = {"user", "password"};
            target.sdp = "v=0";
            if (const sip::CallId id = agent_.call(now_, target); id != 0) {
                live_.insert(id);
            }
        }
        const sip::CallId id = pick(which);
        switch (what % 10) {
            case 1: agent_.ring(now_, id, 180 + which % 4, which % 2 == 0 ? "v=0" : ""); break;
            case 2: agent_.accept(now_, id, "v=0"); break;
            case 3: agent_.reject(now_, id, 300 + which); break;
            case 4: agent_.hang_up(now_, id); break;
            case 5: agent_.offer(now_, id, which % 2 == 0 ? "v=0" : ""); break;
            case 6: agent_.answer_offer(now_, id, "v=0"); break;
            case 7: agent_.refuse_offer(now_, id, 400 + which); break;
            case 8: agent_.send_info(now_, id, "application/dtmf", "5"); break;
            default: agent_.respond(now_, asked_, 200 + which); break;
        }
        drain();
    }

    static std::string more(uint8_t flags, std::string& body) {
        body = (flags & 1U) != 0 ? "v=0" : "";
        std::string out = "Contact: <sip:x@192.0.2.1>\r\n";
        out += (flags & 1U) != 0 ? "Content-Type: application/sdp\r\n" : "";
        out += (flags & 2U) != 0 ? "Require: 100rel\r\nRSeq: 7\r\n" : "";
        out += (flags & 4U) != 0 ? "Session-Expires: 100\r\nSupported: timer\r\n" : "";
        out += (flags & 8U) != 0 ? "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n" : "";
        out += (flags & 16U) != 0 ? "Record-Route: <sip:p;lr>\r\nAllow: UPDATE\r\n" : "";
        return out;
    }

    // Of a peer within the dialog of what was sent last, or outside of all.
    std::string request(uint8_t method, uint8_t flags, uint8_t number) {
        constexpr std::array<std::string_view, 12> kMethods = {
            "INVITE", "ACK",      "BYE",  "CANCEL", "OPTIONS", "PRACK",
            "UPDATE", "REGISTER", "INFO", "REFER",  "INVITE",  "ACK"};
        const std::string_view name = kMethods[method % kMethods.size()];
        std::string from = "<sip:x@h>;tag=1";
        std::string to = "<sip:us@h>";
        std::string call_id = fmt::format("c{}", flags >> 6U);
        if ((flags & 32U) != 0) {
            const auto& message = last_;
            const bool ours = std::holds_alternative<sip::Request>(message);
            std::visit(
                [&](const auto& each) {
                    from = each.header(ours ? "To" : "From");
                    to = each.header(ours ? "From" : "To");
                    call_id = each.header("Call-ID");
                },
                message);
        }
        std::string body;
        const std::string rest = more(flags, body);
        return fmt::format(
            "{} sip:us@h SIP/2.0\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK{}\r\nFrom: {}\r\nTo: {}\r\n"
            "Call-ID: {}\r\nCSeq: {} {}\r\nRAck: {} 1 INVITE\r\n{}\r\n{}",
            name, number % 16, from, to, call_id, number % 8, name, number, rest, body);
    }

    std::string response(uint8_t status, uint8_t flags) {
        constexpr std::array<int, 12> kStatuses = {100, 180, 183, 200, 202, 302,
                                                   401, 407, 422, 481, 486, 491};
        std::string body;
        std::string text = more(flags, body);
        sip::Response out = sip::make_response(last_request_, kStatuses[status % kStatuses.size()],
                                               {}, fmt::format("t{}", flags >> 6U));
        std::string head = sip::write(out);
        head.insert(head.find("Content-Length"), text);
        return head.replace(head.find("Content-Length"), std::string::npos, "\r\n" + body);
    }

    void drain() {
        while (const auto each = agent_.poll_transmit()) {
            sip::Parsed parsed = sip::parse_datagram(weir::as_bytes(each->bytes));
            WEIR_CHECK(parsed.kind == sip::Parsed::Kind::kMessage);
            last_ = parsed.message;
            if (const auto* const own = std::get_if<sip::Request>(&parsed.message);
                own != nullptr && own->method != sip::Method::kAck) {
                last_request_ = *own;
            }
        }
        while (const auto event = agent_.poll_event()) {
            if (event->kind == Kind::kInvited) {
                WEIR_CHECK(live_.insert(event->call).second);
            } else if (event->kind == Kind::kRequest) {
                asked_ = event->transaction;
            } else if (event->call != 0) {
                WEIR_CHECK(live_.contains(event->call));
                const bool last = event->kind == Kind::kFailed || event->kind == Kind::kCancelled ||
                                  event->kind == Kind::kEnded;
                live_.erase(last ? event->call : 0);
            }
        }
    }

    weir::test::CountingRandom random_;
    sip::UserAgent agent_{small(), random_};
    weir::MonoTime now_{weir::Seconds(100)};
    sip::Flow flow_{sip::Transport::kUdp, 1, *weir::NetAddress::parse("192.0.2.1:5060"),
                    *weir::NetAddress::parse("203.0.113.1:5060")};
    std::set<sip::CallId> live_;
    sip::TransactionId asked_ = 0;
    sip::Message last_;
    sip::Request last_request_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    weir::ByteReader reader(weir::ByteSpan(data, std::min<size_t>(size, 4096)));
    Machine machine;
    while (!reader.empty()) {
        machine.step(reader);
    }
    machine.finish();
    return 0;
}
