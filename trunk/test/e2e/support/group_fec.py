"""Reed-Solomon parities of RTP packets, as IPTV networks send them beside a group."""

import struct

POLYNOMIAL = 0x11D


def powers():
    value, out = 1, []
    for _ in range(255):
        out.append(value)
        value <<= 1
        value ^= POLYNOMIAL if value & 0x100 else 0
    return out


POWERS = powers()
LOGARITHMS = {value: at for at, value in enumerate(POWERS)}


def multiply(a, b):
    return POWERS[(LOGARITHMS[a] + LOGARITHMS[b]) % 255] if a and b else 0


class Code:
    """`data` packets that follow each other, and `parities` more. `points`: "integers" or "powers", as networks differ."""

    def __init__(self, data, parities, points):
        self.data, self.parities = data, parities
        places = list(range(255)) if points == "integers" else POWERS
        self.tables = [[self.table(self.factor(places, row, column)) for column in range(data)] for row in range(parities)]

    def factor(self, places, row, column):
        """The value of Lagrange's basis polynomial of that column at the point of that row."""
        at, value = places[self.data + row], 1
        for other in range(self.data):
            if other != column:
                value = multiply(value, at ^ places[other])
                value = multiply(value, POWERS[-LOGARITHMS[places[column] ^ places[other]] % 255])
        return value

    @staticmethod
    def table(factor):
        return bytes(multiply(factor, value) for value in range(256))

    def packets(self, media, first_number):
        """The parity packets of a whole block."""
        size = max(map(len, media))
        first = int.from_bytes(media[0][2:4], "big")
        for row, tables in enumerate(self.tables):
            total = 0
            for table, packet in zip(tables, media, strict=True):
                total ^= int.from_bytes(packet.ljust(size, b"\0").translate(table), "big")
            header = struct.pack(">BBHII", 0x80, 127, (first_number + row) & 0xFFFF, 0, 0)
            says = struct.pack(">HHBBHHH", first, (first + self.data - 1) & 0xFFFF, self.parities, row, size, size, 0)
            yield header + says + total.to_bytes(size, "big")
