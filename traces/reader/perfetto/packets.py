"""The packets of a Perfetto file, one after another as the bytes come: memory is bounded by the largest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

# Field 1 of the file's message, length-delimited.
_TAG = 0x0A
# No varint of 64 bits is longer.
_MOST_VARINT_BYTES = 10
# Perfetto's own limit for one packet is far below.
_MOST_PACKET_BYTES = 64 << 20


def begins(head: bytes) -> bool:
    """Whether the first bytes of a file are those of a packet: its tag, a length, and the tag of a field.

    Args:
        head: As much of the beginning as there is.
    """
    if head[:1] != bytes((_TAG,)):
        return False
    found = _varint(head, 1)
    if found is None:
        return False
    length, at = found
    if not 0 < length <= _MOST_PACKET_BYTES or at >= len(head):
        return False
    # JSON and XPlane protobufs may begin with the same byte; the first has no control characters, of which a packet is full.
    packet = head[at : at + length]
    controls = any(byte < 9 or 13 < byte < 32 for byte in head[1 : at + 24])
    return controls and packet[0] & 7 in (0, 1, 2, 5) and packet[0] >> 3 > 0


def packets(blocks: Iterable[bytes]) -> Iterator[bytes | None]:
    """The packets; None in the end where the last one is not complete, or where something else follows.

    Args:
        blocks: The file's bytes.
    """
    data = bytearray()
    place = 0
    for block in blocks:
        del data[:place]
        place = 0
        data += block
        while (found := _packet(data, place)) is not None:
            begin, place = found
            if begin < 0:
                yield None
                return
            yield bytes(data[begin:place])
    if place < len(data):
        yield None


def _packet(data: bytearray, place: int) -> tuple[int, int] | None:
    """Where the packet at a place begins and ends; None where more bytes are needed; a negative beginning where it is none."""
    if place >= len(data):
        return None
    if data[place] != _TAG:
        return -1, place
    found = _varint(data, place + 1)
    if found is None:
        return (-1, place) if len(data) - place > _MOST_VARINT_BYTES else None
    length, begin = found
    if length > _MOST_PACKET_BYTES:
        return -1, place
    return (begin, begin + length) if begin + length <= len(data) else None


def _varint(data: bytes | bytearray, at: int) -> tuple[int, int] | None:
    """A number and the place behind it; None where it does not end."""
    value = 0
    for index in range(_MOST_VARINT_BYTES):
        if at + index >= len(data):
            return None
        value |= (data[at + index] & 0x7F) << (7 * index)
        if data[at + index] < 0x80:
            return value, at + index + 1
    return None
