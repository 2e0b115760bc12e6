"""Put into a good file what would fill memory, run forever, or end the whole conversion.

    python3 hostile-file.py <what> <file>
"""

import gzip
import json
import pickle
import struct
import sys

what, file = sys.argv[1:3]
with open(file, "rb") as opened:
    content = opened.read()


def replaced(old, new):
    """The pickle with other bytes in an array of its numbers, which are kept as text."""
    old, new = ("X" + struct.pack("<I", len(text)).decode("latin1") + text for text in map(as_utf8, (old, new)))
    assert content.count(old.encode("latin1")) == 1
    return content.replace(old.encode("latin1"), new.encode("latin1"))


def as_utf8(raw):
    return raw.decode("latin1").encode("utf-8").decode("latin1")


NODES = [(2, 1, 1, 10.0), (-1, -1, -2, -2.0), (-1, -1, -2, -2.0)]


def packed(nodes):
    return b"".join(struct.pack("<qqqd", *node) for node in nodes)


def in_place_of(value, pushed):
    assert content.count(value) == 1
    return content.replace(value, pushed)


if what == "meeting":
    changed = replaced(packed(NODES), packed([(1, 1, 1, 10.0), (2, 2, 1, 10.0), (0, 0, 1, 10.0)]))
elif what == "records":
    # As many records as fill memory, of no bytes each.
    changed = in_place_of(b"K K\x01K\x10", b"K\x00K\x01K\x10")
elif what == "laughs":
    # Lists that hold the one before twice: 2^60 items when written out.
    lists = b"]r" + struct.pack("<I", 1000)
    for at in range(60):
        one = b"j" + struct.pack("<I", 1000 + at)
        lists += b"0](" + one + one + b"er" + struct.pack("<I", 1001 + at)
    changed = in_place_of(b"X\x0d\x00\x00\x00squared_error", lists)
elif what == "circle":
    itself = b"]r" + struct.pack("<I", 1000) + b"j" + struct.pack("<I", 1000) + b"a"
    changed = in_place_of(b"G" + struct.pack(">d", 0.1), itself)
elif what == "bomb":
    changed = gzip.compress(bytes(300 << 20), 1)
elif what == "nan-tree":
    changed = replaced(struct.pack("<3d", 0.5, 7.0, -3.0), struct.pack("<3d", 0.5, float("nan"), -3.0))
elif what in ("nan-json", "list-json"):
    values = json.loads(content)
    changed = json.dumps(dict(values, gamma_t=float("nan")) if what == "nan-json" else [values]).encode()
with open(file, "wb") as opened:
    opened.write(changed)
