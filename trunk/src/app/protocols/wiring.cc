#include "app/protocols/wiring.h"

#include "app/protocols/exec_protocol.h"
#include "app/protocols/flv_protocol.h"
#include "app/protocols/hls_protocol.h"
#include "app/protocols/record_protocol.h"
#include "app/protocols/relay_protocol.h"
#include "app/protocols/rtc_protocol.h"
#include "app/protocols/rtmp_protocol.h"
#include "app/protocols/rtsp_protocol.h"
#include "app/protocols/sip_protocol.h"
#include "app/protocols/srt_protocol.h"
#include "app/protocols/still_protocol.h"
#include "app/protocols/ts_protocol.h"

namespace weir::app {

void wire_protocols(const ProtocolContext& context, ProtocolSet& protocols) {
    protocols.add(std::make_unique<RtmpProtocol>(context));
    protocols.add(std::make_unique<FlvProtocol>(context));
    protocols.add(std::make_unique<RelayProtocol>(context));
    protocols.add(std::make_unique<HlsProtocol>(context));  // "/app/x.hls/1.ts" is its own
    protocols.add(std::make_unique<TsProtocol>(context));
    protocols.add(std::make_unique<RtcProtocol>(context));
    protocols.add(std::make_unique<RtspProtocol>(context));
    protocols.add(std::make_unique<SrtProtocol>(context));
    protocols.add(std::make_unique<SipProtocol>(context));
    protocols.add(std::make_unique<ExecProtocol>(context));
    protocols.add(std::make_unique<RecordProtocol>(context));
    protocols.add(std::make_unique<StillProtocol>(context));
}

Error apply_environment(config::Config& config, const config::Environment& environment) {
    return RtcProtocol::apply_environment(config, environment);
}

}  // namespace weir::app
