from __future__ import annotations

import json
import struct
import time
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapi.errors import InvalidError
from mapi.series.media_headers import IMAGE_SIDE_MAX, TABLE_ROWS_MAX, MediaHeader, media_header
from mapi.wire.enums import MediaFormat
from mapi.wire.media import MEDIA_BYTES_MAX


def chunk(name: bytes, content: bytes = b"") -> bytes:
    checksum = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", checksum)


def png(
    width: int = 4, height: int = 3, depth: int = 8, colour: int = 2, rest: bytes = b""
) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    pixels = chunk(b"IDAT", b"these bytes are no pixels, and nobody looks")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + rest + pixels + chunk(b"IEND")


def segment(marker: int, content: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content


def frame(width: int, height: int, depth: int = 8, components: int = 3) -> bytes:
    return struct.pack(">BHHB", depth, height, width, components) + bytes(3 * components)


def jpeg(width: int = 4, height: int = 3, depth: int = 8, *, marker: int = 0xC0) -> bytes:
    return (
        b"\xff\xd8"
        + segment(0xE0, b"JFIF\0" + bytes(9))
        + segment(0xDB, bytes(65))
        + b"\xff"  # a fill byte
        + segment(marker, frame(width, height, depth))
        + segment(0xC4, bytes(20))
        + segment(0xDA, bytes(10))
        + b"\x01\xff\x00\x02 no pixels"
        + b"\xff\xd9"
    )


def table(columns: object = ("a", "b"), data: object = ((1, "x"), (None, 2.5))) -> bytes:
    return json.dumps({"columns": columns, "data": data}).encode()


def refused(content: bytes) -> str:
    with pytest.raises(InvalidError) as error:
        media_header(content)
    (fault,) = error.value.faults
    assert fault.code == "MEDIA_REJECTED"
    return fault.message


@pytest.mark.parametrize(
    ("content", "header"),
    [
        (png(), MediaHeader(MediaFormat.PNG, 4, 3, 8)),
        (png(depth=16, colour=6), MediaHeader(MediaFormat.PNG, 4, 3, 16)),
        (png(rest=chunk(b"tEXt", b"a\0b")), MediaHeader(MediaFormat.PNG, 4, 3, 8)),
        (jpeg(), MediaHeader(MediaFormat.JPEG, 4, 3, 8)),
        (jpeg(marker=0xC2, depth=12), MediaHeader(MediaFormat.JPEG, 4, 3, 12)),
        (jpeg() + b"a preview of the camera", MediaHeader(MediaFormat.JPEG, 4, 3, 8)),
        (table(), MediaHeader(MediaFormat.TABLE, 2, 2)),
        (b" \n" + table(["a"], []), MediaHeader(MediaFormat.TABLE, 1, 0)),
    ],
    ids=range(8),
)
def test_content_says_what_it_is(content: bytes, header: MediaHeader) -> None:
    assert media_header(content) == header


REFUSED = [
    (b"", "begins with nothing"),
    (b"GIF89a", "a GIF, which is not kept: send a PNG or a JPEG"),
    (b"hello world", "begins with the text hello wo: neither PNG"),
    (b"\x00\x01", "begins with 00 01: neither PNG nor JPEG nor a table"),
    (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "an SVG, which is not kept"),
    (b"<script>", "neither"),
    (b"\x89PNG\r\n\x1a\r" + png()[8:], "neither"),
    (png(width=0), "0 x 3 pixels"),
    (png(width=IMAGE_SIDE_MAX + 1, height=1), "at most 32767 each way"),
    (png(width=20_000, height=20_000), "in all"),
    (png(depth=3), "no bit depth 3"),
    (png(colour=5), "no bit depth 8"),
    (png(colour=3, depth=16), "no bit depth 16"),
    (png() + b"PK\x03\x04", "4 bytes stand behind the end"),
    (png()[:-1], "cut off"),
    (png(rest=png()[8:33]), "second header"),
    (png()[:8] + chunk(b"IEND"), "does not begin with its header"),
    (png()[:33] + chunk(b"IEND"), "no pixels"),
    (png()[:30] + b"\0" + png()[31:], "checksum"),
    (png()[:8] + chunk(b"IHDR", bytes(12)), "cut off"),
    (png()[:33] + chunk(b"aaAa") * 70_000 + chunk(b"IEND"), "more than 65536 chunks"),
    (jpeg(width=0), "0 x 3 pixels"),
    (jpeg(depth=9), "no bit depth 9"),
    (jpeg(width=65_535, height=1), "at most 32767 each way"),
    (b"\xff\xd8" + segment(0xDA, bytes(10)) + b"\xff\xd9", "no frame before"),
    (b"\xff\xd8\xff\xd9", "marker d9 before its pixels"),
    (b"\xff\xd8\x00", "no marker"),
    (b"\xff\xd8" + segment(0xC0, bytes(3)), "frame of the JPEG is cut off"),
    (b"\xff\xd8" + segment(0xC0, frame(1, 1) + b"x"), "for 3 components"),
    (b"\xff\xd8" + segment(0xC0, frame(1, 1)) * 2, "second frame"),
    (b"\xff\xd8" + segment(0xE1, b"") * 1_001, "more than 1000 segments"),
    (jpeg()[:-2], "cut off"),
    (b"\xff\xd8" + b"\xff" * 100, "cut off"),
    (table([], []), "length >= 1"),
    (table(["a"], [[1, 2]]), "row 0 has 2 cells for 1 columns"),
    (table(["a"], [[[1]]]), "got array"),
    (table(["a"], [1]), "expected array"),
    (table([1], []), "expected str"),
    (table(["a"], [[1]] * (TABLE_ROWS_MAX + 1)), "length <= 10000"),
    (b'{"columns":["a"],"data":[[NaN]]}', "no JSON"),
    (b'{"columns":["a"],"data":[],"html":"<b>"}', "no field 'html'"),
    (b'{"columns":["a"]}', "field 'data' is missing"),
    (b'{"columns":["a"],"data":[[1' + b"0" * 10_000 + b"]]}", "the table: "),
    (b'{"columns":["a"],"data":' + b"[" * 1_000_000, "the table: "),
    (table() + b"x", "no JSON"),
    (bytes(MEDIA_BYTES_MAX + 1), "at most 8388608"),
]


@pytest.mark.parametrize(
    ("content", "message"),
    REFUSED,
    ids=[f"{at} {message}" for at, (_, message) in enumerate(REFUSED)],
)
def test_other_content_is_refused_with_the_reason(content: bytes, message: str) -> None:
    assert message in refused(content)


def test_the_header_of_a_picture_that_a_library_wrote_is_read() -> None:
    pytest.importorskip("matplotlib")
    import io

    from matplotlib.figure import Figure

    stream = io.BytesIO()
    Figure(figsize=(2, 1), dpi=50).savefig(stream, format="png")
    assert media_header(stream.getvalue()) == MediaHeader(MediaFormat.PNG, 100, 50, 8)


def answer(content: bytes) -> MediaHeader | None:
    """Return the header or that it was refused; anything else raised is the test's failure."""
    try:
        return media_header(content)
    except InvalidError as error:
        if error.faults[0].code != "MEDIA_REJECTED":
            raise
        return None


SAMPLES = [png(), jpeg(), table()]
BEGINNINGS = [b"", b"\x89PNG\r\n\x1a\n", png()[:33], b"\xff\xd8", jpeg()[:20], b'{"columns":']


@given(st.sampled_from(BEGINNINGS), st.binary(max_size=200))
def test_random_bytes_are_refused_or_read(beginning: bytes, rest: bytes) -> None:
    answer(beginning + rest)


@given(st.sampled_from(SAMPLES), st.data())
def test_whatever_is_cut_off_is_refused(content: bytes, draw: st.DataObject) -> None:
    end = draw.draw(st.integers(0, len(content) - 1))
    assert answer(content[:end]) is None


@given(
    st.sampled_from(SAMPLES),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 7)), max_size=5),
)
def test_flipped_bits_are_refused_or_read(content: bytes, flips: list[tuple[int, int]]) -> None:
    broken = bytearray(content)
    for at, bit in flips:
        broken[at % len(broken)] ^= 1 << bit
    answer(bytes(broken))


@given(st.sampled_from(SAMPLES), st.integers(0, 10**6), st.binary(max_size=8))
def test_bytes_put_in_between_are_refused_or_read(content: bytes, at: int, more: bytes) -> None:
    at %= len(content) + 1
    answer(content[:at] + more + content[at:])


def test_the_time_of_the_worst_content_grows_with_its_size_and_no_faster() -> None:
    def worst(size: int) -> list[bytes]:
        return [
            b"\xff\xd8" + b"\xff" * (size - 2),
            png()[:33] + chunk(b"aaAa") * ((size - 33) // 12),
            b'{"columns":["a"],"data":[' + b"[1]," * (size // 4),
        ]

    def seconds(content: bytes) -> float:
        took = []
        for _ in range(3):
            start = time.process_time()
            answer(content)
            took.append(time.process_time() - start)
        return min(took)

    for small, large in zip(worst(MEDIA_BYTES_MAX // 8), worst(MEDIA_BYTES_MAX), strict=True):
        # Eight times the size; what grows with its square would take 64 times as long.
        assert seconds(large) < 24 * seconds(small) + 0.05
