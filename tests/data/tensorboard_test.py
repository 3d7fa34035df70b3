"""Reads the event files that causeway_tests writes, with an independent decoder and with TensorBoard if it
is installed.

Usage: tensorboard_test.py build/causeway_tests.
"""

import math
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
except ImportError:
    EventAccumulator = None

PROGRAM = ""
BIG = 1 << 40


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        head = data[at : at + 8]
        (length,) = struct.unpack("<Q", head)
        assert struct.unpack_from("<I", data, at + 8)[0] == masked(head), "checksum of the length"
        body = data[at + 12 : at + 12 + length]
        assert len(body) == length, "a record is cut short"
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked(body), "checksum"
        yield body
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def fields(message):
    """(number, value) of a protocol buffer's fields."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(message, at)
        elif kind == 1:
            (value,) = struct.unpack_from("<d", message, at)
            at += 8
        elif kind == 5:
            (value,) = struct.unpack_from("<f", message, at)
            at += 4
        else:
            assert kind == 2, kind
            length, at = varint(message, at)
            value = message[at : at + length]
            assert len(value) == length
            at += length
        yield key >> 3, value


def scalars(event):
    """{tag: value} of an event's summary."""
    found = {}
    for number, value in fields(event.get(5, b"")):
        assert number == 1
        content = dict(fields(value))
        assert set(content) == {1, 2}
        found[content[1].decode("utf-8")] = content[2]
    return found


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


class Events(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.scratch.name) / "run"
        done = subprocess.run(
            [PROGRAM, "--gtest_filter=Tensorboard.WritesRuns"],
            env={**os.environ, "CAUSEWAY_EVENTS": str(cls.folder)},
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0 and "1 test" in done.stdout, done.stdout + done.stderr
        cls.files = sorted(cls.folder.iterdir())

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def events(self, which):
        return [dict(fields(record)) for record in records(self.files[which].read_bytes())]

    def test_own_decoder(self):
        self.assertEqual(len(self.files), 2)
        version, start, *rest = self.events(0)
        self.assertEqual(version[3], b"brain.Event:2")
        self.assertEqual((start[2], dict(fields(start[7]))), (0, {1: 1}))
        self.assertEqual([event[2] for event in rest], list(range(10)))
        for step, event in enumerate(rest):
            expected = {"train/loss": f32(1 / (step + 1)), "rate": f32(1e-3 * step)}
            self.assertEqual(scalars(event), expected)
            self.assertLess(abs(event[1] - rest[0][1]), 3600)
            self.assertGreater(event[1], 1.7e9)  # seconds since 1970

        version, start, *rest = self.events(1)
        self.assertEqual((start[2], dict(fields(start[7]))), (6, {1: 1}))
        self.assertEqual([event[2] for event in rest], [6, 7, BIG, BIG + 1])
        self.assertEqual(scalars(rest[1]), {"train/loss": 107.0})
        odd = scalars(rest[2])
        self.assertTrue(math.isnan(odd.pop("odd/nan")))
        self.assertEqual(odd, {"odd/infinite": -math.inf, "odd/ünïcode": math.inf})
        self.assertEqual(scalars(rest[3]), {})

    def test_the_decoder_finds_damage(self):
        data = bytearray(self.files[0].read_bytes())
        for at in (0, 9, 20, len(data) - 1):
            data[at] ^= 4
            with self.assertRaises((AssertionError, struct.error)):
                list(records(bytes(data)))
            data[at] ^= 4
        list(records(bytes(data)))

    @unittest.skipIf(EventAccumulator is None, "no TensorBoard in this Python")
    def test_tensorboard(self):
        n_events = sum(len(list(EventFileLoader(str(path)).Load())) for path in self.files)
        self.assertEqual(n_events, len(self.events(0)) + len(self.events(1)))
        shown = EventAccumulator(str(self.folder)).Reload()
        loss = [(point.step, point.value) for point in shown.Scalars("train/loss")]
        expected = [(step, f32(1 / (step + 1))) for step in range(6)]
        self.assertEqual(loss, expected + [(6, 106.0), (7, 107.0)])
        self.assertEqual([point.step for point in shown.Scalars("rate")], list(range(6)))
        self.assertEqual(shown.Scalars("odd/ünïcode")[0].step, BIG)
        self.assertTrue(math.isnan(shown.Scalars("odd/nan")[0].value))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
