// SIP, as app/ knows it.
#pragma once

#include <memory>

#include "app/protocols/sip_calls_api.h"
#include "app/protocols/sip_phone_book.h"
#include "app/protocols/wiring.h"
#include "app/run/listener_service.h"
#include "session/phone/phone_server.h"
#include "session/sip/sip_server.h"

namespace weir::diagnosis {
class MemoryReport;
}

namespace weir::net {
class Exposition;
}

namespace weir::app {

class SipProtocol final : public Protocol {
  public:
    explicit SipProtocol(const ProtocolContext& context);
    ~SipProtocol() override;

    std::string_view name() const override { return "sip"; }

    std::span<const Transport> transports() const override;

    void add_routes(net::HttpRouter& open, net::HttpRouter& api) override;
    std::vector<ListenerService> listeners() override;
    Error prepare(const config::Config& next, io::WorkerPool& workers) override;
    void reconfigure(const config::Config& config) override;

    void start_drain() override { server_.stop_accepting(); }

    Error stop(io::Deadline deadline) override { return server_.stop(deadline); }

    void add_features(net::Json& features) const override;
    void add_page_facts(net::Json& head) const override;
    net::Json summary() const override;
    void add_metrics(net::Exposition& text) const override;
    void add_memory(diagnosis::MemoryReport& report) const override;

  private:
    void offer_lines();
    void add_secure_metrics(net::Exposition& text) const;
    void set_phones(const config::Config& config);

    session::SipServer server_;
    SipPhoneBook phone_book_{server_};
    session::PhoneServer phone_page_;
    SipCallsApi calls_api_;
    net::PhoneLinesPlace* phones_;        // null: nobody asks for lines
    session::SipServerOptions prepared_;  // of the newest prepare()
    bool serving_ = false;                // options are in force
    bool enabled_;
    bool has_phone_page_ = false;
};

}  // namespace weir::app
