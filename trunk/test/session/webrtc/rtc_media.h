// Media of the tests of RTP, under the names of this layer.
#pragma once

#include "test/support/rtp_media.h"

namespace weir::session {

using test::BodyKind;
using test::FrameReader;
using test::h264_nal;
using test::Picture;
using test::RtpSource;
using test::tag_body;
using test::TestPublisher;

}  // namespace weir::session
