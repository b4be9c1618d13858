#include "proto/ice/tcp_framing.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace weir::ice {
namespace {

using Status = FrameReader::Status;

Bytes datagram(size_t size, uint8_t first) {
    Bytes bytes(size);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = static_cast<uint8_t>(first + i);
    }
    return bytes;
}

void append_frame(Bytes& stream, const Bytes& datagram) {
    uint8_t header[kFrameHeaderBytes];
    write_frame_header(header, datagram.size());
    ByteWriter(stream).bytes(header).bytes(datagram);
}

// What comes out when the input comes in pieces of this size; ends at an error.
std::vector<Bytes> read_all(ByteSpan stream, size_t piece, FrameReader& reader) {
    std::vector<Bytes> datagrams;
    for (size_t at = 0; at < stream.size(); at += piece) {
        ByteSpan bytes = stream.subspan(at, std::min(piece, stream.size() - at));
        while (!bytes.empty()) {
            size_t consumed = reader.feed(bytes);
            bytes = bytes.subspan(consumed);
            ByteSpan view;
            Status status = reader.next(view);
            if (status == Status::kDatagram) {
                datagrams.emplace_back(view.begin(), view.end());
            } else if (status == Status::kError || consumed == 0) {
                return datagrams;
            }
        }
    }
    return datagrams;
}

TEST(IceTcpFramingTest, GivesTheSameDatagramsHoweverTheInputIsCut) {
    std::vector<Bytes> datagrams = {datagram(1, 9), datagram(300, 1), datagram(4096, 2),
                                    datagram(20, 3), datagram(1200, 4)};
    Bytes stream;
    for (const Bytes& each : datagrams) {
        append_frame(stream, each);
        append_frame(stream, {});  // an empty frame says nothing
    }
    for (size_t piece :
         {size_t{1}, size_t{2}, size_t{3}, size_t{7}, size_t{100}, size_t{1000}, stream.size()}) {
        FrameReader reader;
        EXPECT_EQ(read_all(stream, piece, reader), datagrams) << piece;
        ByteSpan view;
        EXPECT_EQ(reader.next(view), Status::kNeedMore);
    }
}

TEST(IceTcpFramingTest, WritesTheLengthInNetworkOrder) {
    Bytes stream;
    append_frame(stream, datagram(300, 0));
    EXPECT_EQ(stream[0], 0x01);
    EXPECT_EQ(stream[1], 0x2C);
}

TEST(IceTcpFramingTest, DoesNotCopyADatagramThatIsWhole) {
    Bytes stream;
    append_frame(stream, datagram(100, 0));
    FrameReader reader;
    EXPECT_EQ(reader.feed(stream), stream.size());
    ByteSpan view;
    ASSERT_EQ(reader.next(view), Status::kDatagram);
    EXPECT_EQ(view.data(), stream.data() + 2);
    EXPECT_EQ(reader.partial_bytes(), 0U);
}

TEST(IceTcpFramingTest, ConsumesNothingWhileADatagramWaits) {
    Bytes stream;
    append_frame(stream, datagram(10, 0));
    append_frame(stream, datagram(10, 1));
    FrameReader reader;
    EXPECT_EQ(reader.feed(stream), 12U);
    EXPECT_EQ(reader.feed(ByteSpan(stream).subspan(12)), 0U);
    ByteSpan view;
    EXPECT_EQ(reader.next(view), Status::kDatagram);
    EXPECT_EQ(reader.next(view), Status::kNeedMore);
    EXPECT_EQ(reader.feed(ByteSpan(stream).subspan(12)), 12U);
}

TEST(IceTcpFramingTest, NeedsMoreAtEachTruncatedLength) {
    Bytes stream;
    append_frame(stream, datagram(10, 0));
    for (size_t size = 0; size < stream.size(); size++) {
        FrameReader reader;
        EXPECT_EQ(reader.feed(ByteSpan(stream).first(size)), size);
        ByteSpan view;
        EXPECT_EQ(reader.next(view), Status::kNeedMore) << size;
    }
}

TEST(IceTcpFramingTest, RefusesAFrameOverTheLimitAtItsHeader) {
    for (size_t piece : {size_t{1}, size_t{100}}) {
        Bytes stream;
        append_frame(stream, datagram(50, 0));
        append_frame(stream, datagram(51, 0));
        append_frame(stream, datagram(1, 0));
        FrameReader reader(50);
        EXPECT_EQ(read_all(stream, piece, reader).size(), 1U);
        ByteSpan view;
        EXPECT_EQ(reader.next(view), Status::kError);
        EXPECT_EQ(reader.feed(stream), 0U) << "stays there";
        EXPECT_LE(reader.partial_bytes(), 50U);
    }
    FrameReader http;
    http.feed(as_bytes("GET / HTTP/1.1\r\n"));
    ByteSpan view;
    EXPECT_EQ(http.next(view), Status::kError);
}

}  // namespace
}  // namespace weir::ice
