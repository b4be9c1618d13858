// What a server says to the RTSP client: whatever it is, each event is one that can come, and what
// the client sends stays bounded. The first byte: publish or play, the size of the pieces, whether
// time passes between them.
#include <algorithm>

#include "base/check.h"
#include "proto/rtsp/client_session.h"

#include "test/support/counting_random.h"

namespace rtsp = weir::rtsp;

static std::vector<rtsp::ClientTrack> tracks() {
    rtsp::Transport tcp;
    tcp.tcp = true;
    tcp.interleaved = rtsp::ChannelPair{0, 1};
    rtsp::Transport udp;
    udp.client_port = rtsp::PortPair{5000, 5001};
    return {{"trackID=0", {udp, tcp}}, {"trackID=1", {udp, tcp}}};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) {
        return 0;
    }
    const bool publishes = (data[0] & 1U) != 0;
    const size_t piece = size_t{data[0]} / 4 + 1;
    weir::test::CountingRandom random;
    rtsp::ClientOptions options;
    options.url = rtsp::Url::parse("rtsp://user:password@camera/live").value();
    options.allow_basic = (data[0] & 2U) != 0;
    rtsp::ClientSession session(options, random);
    publishes ? session.publish("v=0", tracks()) : session.play();
    weir::MonoTime now{weir::Seconds(1)};
    const weir::ByteSpan input(data + 1, size - 1);
    for (size_t at = 0; at < input.size(); at += piece) {
        weir::ByteSpan rest = input.subspan(at, std::min(piece, input.size() - at));
        for (;;) {
            const rtsp::ClientEvent event = session.next(now, rest);
            if (event == rtsp::ClientEvent::kError) {
                return 0;
            }
            if (event == rtsp::ClientEvent::kNeedMore) {
                WEIR_CHECK(rest.empty());
                break;
            }
            if (event == rtsp::ClientEvent::kDescribed) {
                session.set_up(tracks(), session.description());
            } else if (event == rtsp::ClientEvent::kFrame) {
                session.channel_use(session.frame().channel);
            } else if (event == rtsp::ClientEvent::kStarted && !session.pause()) {
                session.teardown();
            } else if (event == rtsp::ClientEvent::kPaused) {
                session.resume();
            }
        }
        now += weir::Seconds(10);
        session.handle_timeout(now);
        WEIR_CHECK(session.take_output().size() <= 2 * rtsp::kMaxClientOutput);
    }
    return 0;
}
