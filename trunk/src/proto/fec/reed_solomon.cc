// Invariants: factors_ are the values of Lagrange's basis polynomials of the first points at the
// points behind them, so each square part of them can be inverted.
#include "proto/fec/reed_solomon.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace weir::fec {
namespace {

constexpr unsigned kPolynomial = 0x11D;
constexpr size_t kOrder = 255;  // of the multiplicative group
constexpr uint8_t kVersion = 0x80;
constexpr uint8_t kVersionBits = 0xC0;

struct Field {
    std::array<uint8_t, 2 * kOrder>
        powers{};                           // twice, so that sums of two logarithms need no modulo
    std::array<uint8_t, 256> logarithms{};  // that of 0 is never used

    constexpr Field() {
        unsigned value = 1;
        for (size_t i = 0; i < kOrder; i++) {
            powers[i] = powers[i + kOrder] = static_cast<uint8_t>(value);
            logarithms[value] = static_cast<uint8_t>(i);
            value <<= 1U;
            value ^= (value & 0x100U) != 0 ? kPolynomial : 0U;
        }
    }

    constexpr uint8_t multiply(uint8_t a, uint8_t b) const {
        return a == 0 || b == 0 ? uint8_t{0} : powers[size_t{logarithms[a]} + logarithms[b]];
    }

    // Of what is not 0.
    constexpr uint8_t invert(uint8_t a) const { return powers[kOrder - logarithms[a]]; }
};

constexpr Field kField;

uint8_t point(CodePoints points, size_t number) {
    return points == CodePoints::kIntegers ? static_cast<uint8_t>(number) : kField.powers[number];
}

// to ^= factor x bytes.
void add_multiple(uint8_t factor, ByteSpan bytes, std::span<uint8_t> to) {
    if (factor == 0) {
        return;
    }
    std::array<uint8_t, 256> products;
    for (size_t i = 0; i < products.size(); i++) {
        products[i] = kField.multiply(factor, static_cast<uint8_t>(i));
    }
    for (size_t i = 0; i < bytes.size(); i++) {
        to[i] ^= products[bytes[i]];
    }
}

void multiply_all(uint8_t factor, std::span<uint8_t> bytes) {
    for (uint8_t& each : bytes) {
        each = kField.multiply(factor, each);
    }
}

}  // namespace

std::optional<BlockParityView> BlockParityView::parse(ByteSpan datagram) {
    if (datagram.size() <= kRtpHeader + kHeader || (datagram[0] & kVersionBits) != kVersion ||
        (datagram[0] & ~kVersionBits) != 0) {
        return std::nullopt;
    }
    BlockParityView view;
    ByteReader reader(datagram.subspan(kRtpHeader));
    view.first = reader.u16();
    const auto last = reader.u16();
    const size_t data = size_t{static_cast<uint16_t>(last - view.first)} + 1;
    view.parities = reader.u8();
    view.index = reader.u8();
    const size_t bytes = reader.u16();
    const size_t packet = reader.u16();
    reader.skip(2);
    if (bytes != reader.remaining() || packet > bytes || packet <= kRtpHeader ||
        packet > kMaxDatagram) {
        return std::nullopt;
    }
    if (view.parities == 0 || view.parities > kMaxParities || view.index >= view.parities ||
        data + view.parities > kMaxPackets) {
        return std::nullopt;
    }
    view.data = static_cast<uint8_t>(data);
    view.body = reader.take(packet);
    return view;
}

Bytes BlockParityView::write(uint16_t sequence, uint8_t payload_type) const {
    Bytes packet;
    packet.reserve(kRtpHeader + kHeader + body.size());
    const auto bytes = static_cast<uint16_t>(body.size());
    ByteWriter writer(packet);
    writer.u8(kVersion).u8(payload_type).u16(sequence).u32(0).u32(0);
    writer.u16(first).u16(static_cast<uint16_t>(first + data - 1));
    writer.u8(parities).u8(index).u16(bytes).u16(bytes).u16(0);
    packet.insert(packet.end(), body.begin(), body.end());
    return packet;
}

ReedSolomon::ReedSolomon(CodePoints points, uint8_t data, uint8_t parities)
    : points_(points), data_(data), parities_(parities), factors_(size_t{data} * parities) {
    WEIR_CHECK(data > 0 && parities > 0 && parities <= BlockParityView::kMaxParities &&
               size_t{data} + parities <= BlockParityView::kMaxPackets);
    // At the point q, the polynomial that is 1 at p(j) and 0 at the other first points is
    // the product of all (q - p) / (q - p(j)), divided by that of all (p(j) - p). Minus is XOR.
    std::vector<uint8_t> below(data_);
    for (size_t j = 0; j < data_; j++) {
        uint8_t product = 1;
        for (size_t i = 0; i < data_; i++) {
            if (i != j) {
                product = kField.multiply(product, point(points, i) ^ point(points, j));
            }
        }
        below[j] = product;
    }
    for (uint8_t row = 0; row < parities_; row++) {
        const uint8_t at = point(points, size_t{data_} + row);
        uint8_t above = 1;
        for (size_t i = 0; i < data_; i++) {
            above = kField.multiply(above, at ^ point(points, i));
        }
        for (size_t j = 0; j < data_; j++) {
            const uint8_t all = kField.multiply(below[j], at ^ point(points, j));
            factors_[size_t{row} * data_ + j] = kField.multiply(above, kField.invert(all));
        }
    }
}

void ReedSolomon::add(uint8_t parity, uint8_t packet, ByteSpan bytes, std::span<uint8_t> to) const {
    add_multiple(factor(parity, packet), bytes, to);
}

// Gauss and Jordan, with the matrix of the factors and the bytes side by side.
void ReedSolomon::solve(const Erasures& erasures, std::span<Bytes> rest) const {
    const size_t count = erasures.packets.size();
    WEIR_CHECK(erasures.parities.size() == count && rest.size() == count);
    std::vector<std::vector<uint8_t>> matrix(count, std::vector<uint8_t>(count));
    for (size_t row = 0; row < count; row++) {
        for (size_t column = 0; column < count; column++) {
            matrix[row][column] = factor(erasures.parities[row], erasures.packets[column]);
        }
    }
    for (size_t step = 0; step < count; step++) {
        size_t pivot = step;
        while (matrix[pivot][step] == 0) {
            pivot++;
            WEIR_CHECK(pivot < count);
        }
        std::swap(matrix[step], matrix[pivot]);
        std::swap(rest[step], rest[pivot]);
        const uint8_t inverse = kField.invert(matrix[step][step]);
        multiply_all(inverse, matrix[step]);
        multiply_all(inverse, rest[step]);
        for (size_t row = 0; row < count; row++) {
            const uint8_t multiple = matrix[row][step];
            if (row != step && multiple != 0) {
                add_multiple(multiple, matrix[step], matrix[row]);
                add_multiple(multiple, rest[step], rest[row]);
            }
        }
    }
}

}  // namespace weir::fec
