// The table of payload formats: which class cuts and which one puts together a codec's frames.
#include "proto/rtp/depacketizer.h"
#include "proto/rtp/packetizer.h"
#include "proto/rtp/payload_aac.h"
#include "proto/rtp/payload_adu.h"
#include "proto/rtp/payload_audio.h"
#include "proto/rtp/payload_av1.h"
#include "proto/rtp/payload_h264.h"
#include "proto/rtp/payload_hevc.h"
#include "proto/rtp/payload_latm.h"
#include "proto/rtp/payload_mp3.h"
#include "proto/rtp/payload_vp8.h"
#include "proto/rtp/payload_vp9.h"

namespace weir::rtp {

using media::Codec;

std::unique_ptr<Packetizer> make_packetizer(Codec codec) {
    switch (codec) {
        case Codec::kH264: return std::make_unique<H264Packetizer>();
        case Codec::kHevc: return std::make_unique<HevcPacketizer>();
        case Codec::kAv1: return std::make_unique<Av1Packetizer>();
        case Codec::kVp8: return std::make_unique<Vp8Packetizer>();
        case Codec::kVp9: return std::make_unique<Vp9Packetizer>();
        case Codec::kAac: return std::make_unique<AacPacketizer>();
        case Codec::kMp3: return std::make_unique<Mp3Packetizer>();
        case Codec::kOpus:
        case Codec::kG711A:
        case Codec::kG711U:
        case Codec::kG722:
        case Codec::kSpeex: return std::make_unique<AudioPacketizer>();
        default: return nullptr;
    }
}

std::unique_ptr<Depacketizer> make_depacketizer(Codec codec,
                                                size_t reserved_front,
                                                const PayloadParameters& parameters) {
    switch (codec) {
        case Codec::kH264:
            return std::make_unique<H264Depacketizer>(reserved_front, parameters.recovery_points);
        case Codec::kHevc: return std::make_unique<HevcDepacketizer>(reserved_front, parameters);
        case Codec::kAv1: return std::make_unique<Av1Depacketizer>(reserved_front);
        case Codec::kVp8: return std::make_unique<Vp8Depacketizer>(reserved_front);
        case Codec::kVp9: return std::make_unique<Vp9Depacketizer>(reserved_front);
        case Codec::kAac:
            if (parameters.audio == AudioFraming::kLatm) {
                return std::make_unique<LatmDepacketizer>(parameters, reserved_front);
            }
            return std::make_unique<AacDepacketizer>(parameters, reserved_front);
        case Codec::kMp3:
            if (parameters.audio == AudioFraming::kAdu) {
                return std::make_unique<AduDepacketizer>(parameters, reserved_front);
            }
            return std::make_unique<Mp3Depacketizer>(parameters, reserved_front);
        case Codec::kOpus:
        case Codec::kG711A:
        case Codec::kG711U:
        case Codec::kG722:
        case Codec::kSpeex: return std::make_unique<AudioDepacketizer>(reserved_front);
        default: return nullptr;
    }
}

}  // namespace weir::rtp
