#include "net/hooks.h"

#include "net/client.h"

namespace weir::net {
namespace {

class NoHooks final : public Hooks {
  public:
    bool wants(HookAction, const stream::StreamKey&) const override { return false; }

    Result<HookTicket> ask(const Client&, const HookRequestView&, io::TcpStream*) override {
        return HookTicket();
    }
};

}  // namespace

std::string_view to_string(HookAction action) {
    switch (action) {
        case HookAction::kConnect: return "on_connect";
        case HookAction::kClose: return "on_close";
        case HookAction::kPublish: return "on_publish";
        case HookAction::kUnpublish: return "on_unpublish";
        case HookAction::kPlay: return "on_play";
        case HookAction::kStop: return "on_stop";
        case HookAction::kCall: return "on_call";
        case HookAction::kCallEnd: return "on_call_end";
        case HookAction::kRecord: return "on_record";
        case HookAction::kDvr: return "on_dvr";
        case HookAction::kHls: return "on_hls";
    }
    return "unknown";
}

Hooks& no_hooks() {
    static NoHooks none;
    return none;
}

}  // namespace weir::net
