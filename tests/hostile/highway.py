"""HighwayHash-64, by which Riegeli files say that a chunk is whole. Standard library only."""
MASK = (1 << 64) - 1
INIT0 = (0xDBE6D5D5FE4CCE2F, 0xA4093822299F31D0, 0x13198A2E03707344, 0x243F6A8885A308D3)
INIT1 = (0x3BD39E10CB0EF593, 0xC0ACF169B5F18A8C, 0xBE5466CF34E90C6C, 0x452821E638D01377)
# "Riegeli/", "records\n", twice.
KEY = (0x2F696C6567656952, 0x0A7364726F636572, 0x2F696C6567656952, 0x0A7364726F636572)


def rotated(word):
    return ((word >> 32) | (word << 32)) & MASK


class Hash:
    def __init__(self):
        self.mul0, self.mul1 = list(INIT0), list(INIT1)
        self.v0 = [m ^ k for m, k in zip(INIT0, KEY)]
        self.v1 = [m ^ rotated(k) for m, k in zip(INIT1, KEY)]

    def update(self, lanes):
        v0, v1, mul0, mul1 = self.v0, self.v1, self.mul0, self.mul1
        for i in range(4):
            v1[i] = (v1[i] + mul0[i] + lanes[i]) & MASK
            mul0[i] ^= ((v1[i] & 0xFFFFFFFF) * (v0[i] >> 32)) & MASK
            v0[i] = (v0[i] + mul1[i]) & MASK
            mul1[i] ^= ((v0[i] & 0xFFFFFFFF) * (v1[i] >> 32)) & MASK
        zipper(v1[1], v1[0], v0)
        zipper(v1[3], v1[2], v0, 2)
        zipper(v0[1], v0[0], v1)
        zipper(v0[3], v0[2], v1, 2)

    def remainder(self, rest):
        size = len(rest)
        for i in range(4):
            self.v0[i] = (self.v0[i] + (size << 32) + size) & MASK
        for i in range(4):
            low, high = self.v1[i] & 0xFFFFFFFF, self.v1[i] >> 32
            turn = lambda half: ((half << size) | (half >> (32 - size))) & 0xFFFFFFFF if size else half  # noqa: E731
            self.v1[i] = turn(low) | turn(high) << 32
        packet = bytearray(32)
        whole, tail = size & ~3, size & 3
        packet[:whole] = rest[:whole]
        if size & 16:
            packet[28:32] = rest[size - 4 : size]
        elif tail:
            packet[16] = rest[whole]
            packet[17] = rest[whole + (tail >> 1)]
            packet[18] = rest[whole + tail - 1]
        self.update(words(packet, 0))

    def end(self):
        for _ in range(4):
            v0 = self.v0
            self.update([rotated(v0[2]), rotated(v0[3]), rotated(v0[0]), rotated(v0[1])])
        return (self.v0[0] + self.v1[0] + self.mul0[0] + self.mul1[0]) & MASK


def zipper(v1, v0, into, at=0):
    low = (
        ((v0 & 0xFF000000) | (v1 & 0xFF00000000)) >> 24
        | ((v0 & 0xFF0000000000) | (v1 & 0xFF000000000000)) >> 16
        | (v0 & 0xFF0000)
        | (v0 & 0xFF00) << 32
        | (v1 & 0xFF00000000000000) >> 8
        | (v0 << 56)
    ) & MASK
    high = (
        ((v1 & 0xFF000000) | (v0 & 0xFF00000000)) >> 24
        | (v1 & 0xFF0000)
        | (v1 & 0xFF0000000000) >> 16
        | (v1 & 0xFF00) << 24
        | (v0 & 0xFF000000000000) >> 8
        | (v1 & 0xFF) << 48
        | (v0 & 0xFF00000000000000)
    ) & MASK
    into[at] = (into[at] + low) & MASK
    into[at + 1] = (into[at + 1] + high) & MASK


def words(data, at):
    return [int.from_bytes(data[at + 8 * i : at + 8 * i + 8], "little") for i in range(4)]


def highway(data):
    """The hash of some bytes."""
    state = Hash()
    whole = len(data) & ~31
    for at in range(0, whole, 32):
        state.update(words(data, at))
    if len(data) & 31:
        state.remainder(data[whole:])
    return state.end()
