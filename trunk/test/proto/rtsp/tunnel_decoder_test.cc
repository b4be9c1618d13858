#include "proto/rtsp/tunnel_decoder.h"

#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/hmac.h"

namespace weir::rtsp {
namespace {

// nullopt: an error. The same for pieces of any size.
std::optional<std::string> decoded(std::string_view text) {
    std::optional<std::string> whole;
    for (size_t piece = text.size() + 1; piece > 0; piece--) {
        TunnelDecoder decoder;
        Bytes out;
        bool ok = true;
        for (size_t at = 0; at < text.size(); at += piece) {
            ok = decoder.feed(as_bytes(text.substr(at, piece)), out);
        }
        const std::optional<std::string> result =
            ok ? std::optional(std::string(as_text(out))) : std::nullopt;
        EXPECT_TRUE(piece > text.size() || result == whole) << text << " by " << piece;
        whole = result;
    }
    return whole;
}

TEST(RtspTunnelDecoderTest, DecodesWhereverTheTextIsCut) {
    EXPECT_EQ(decoded(""), "");
    EXPECT_EQ(decoded("Zm9v"), "foo");
    EXPECT_EQ(decoded("Zm9vYg=="), "foob");
    EXPECT_EQ(decoded("Zm9vYmE="), "fooba");
    EXPECT_EQ(decoded("++//"), "\xFB\xEF\xFF");
    std::string all;
    for (int i = 0; i < 256; i++) {
        all += static_cast<char>(i);
    }
    EXPECT_EQ(decoded(base64(as_bytes(all))), all);
}

TEST(RtspTunnelDecoderTest, GoesOnAfterPaddingAndLineEnds) {
    EXPECT_EQ(decoded("Zg==Zm8=\r\nZm9v\n Zg\t=\r\n="), "ffofoof");
}

TEST(RtspTunnelDecoderTest, WaitsForTheRestOfAGroup) {
    EXPECT_EQ(decoded("Zm9vY"), "foo");
    EXPECT_EQ(decoded("Zm9vYg="), "foo");
}

TEST(RtspTunnelDecoderTest, RefusesWhatIsNoBase64) {
    for (const std::string_view text :
         {"=", "Z=", "Z===", "Zg=v", "Zm9v=", "Zm9-", "Zm9_", "$", "Zm9v\x01", "Z\x80"}) {
        EXPECT_EQ(decoded(text), std::nullopt) << text;
    }
}

TEST(RtspTunnelDecoderTest, TakesNothingAfterAnError) {
    TunnelDecoder decoder;
    Bytes out;
    EXPECT_FALSE(decoder.feed(as_bytes("Zm9v!Zm9v"), out));
    EXPECT_FALSE(decoder.feed(as_bytes("Zm9v"), out));
    EXPECT_EQ(as_text(out), "foo");
}

}  // namespace
}  // namespace weir::rtsp
