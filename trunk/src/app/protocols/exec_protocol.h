// Programs beside streams (exec_push).
#pragma once

#include "app/protocols/protocol.h"
#include "app/protocols/wiring.h"
#include "net/api/exposition.h"
#include "net/source/sources.h"
#include "session/exec/exec_push.h"

namespace weir::app {

class ExecProtocol final : public Protocol {
  public:
    explicit ExecProtocol(const ProtocolContext&) {}

    std::string_view name() const override { return "exec"; }

    std::span<const Transport> transports() const override { return {}; }

    void add_sources(net::Sources& sources) override {
        sources.add(net::SourceRole::kForward, "exec", push_);
    }

    Error prepare(const config::Config&, io::WorkerPool& workers) override {
        push_.use(workers);
        return {};
    }

    void add_metrics(net::Exposition& text) const override {
        text.single("weir_exec_programs", "gauge", "Programs of exec_push that run.",
                    push_.running());
    }

  private:
    session::ExecPush push_;
};

}  // namespace weir::app
