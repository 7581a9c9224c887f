from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import PIL.Image
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import expr_tracker.media.content
from expr_tracker.errors import MissingExtraError, NameRefusedError
from expr_tracker.media import MEDIA_BYTES_MAX, Image, media_path
from expr_tracker.media.header import image_header
from expr_tracker.media.png import png_from_array
from expr_tracker.row import RowEncoder

if TYPE_CHECKING:
    from pathlib import Path


def pixels_of(content: bytes) -> Any:
    return np.asarray(PIL.Image.open(io.BytesIO(content)))


shapes = st.one_of(
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.tuples(st.integers(1, 9), st.integers(1, 9), st.sampled_from([1, 3, 4])),
)


@given(npst.arrays(np.uint8, shapes))
def test_another_decoder_reads_the_same_pixels(array: Any) -> None:
    content, width, height = png_from_array(array)
    expected = array[:, :, 0] if array.ndim == 3 and array.shape[2] == 1 else array
    assert (height, width) == array.shape[:2]
    np.testing.assert_array_equal(pixels_of(content), expected)


@given(npst.arrays(np.float32, shapes, elements=st.floats(0, 1, width=32)))
def test_floats_from_0_to_1_become_the_nearest_byte(array: Any) -> None:
    shown = pixels_of(png_from_array(array)[0]).reshape(array.shape)
    assert np.abs(shown / 255.0 - array).max() <= 0.5 / 255 + 1e-6


def test_booleans_are_black_and_white_and_views_are_read_in_order() -> None:
    np.testing.assert_array_equal(
        pixels_of(png_from_array(np.array([[True, False]]))[0]), [[255, 0]]
    )
    array = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    shown = pixels_of(png_from_array(array[::-1, ::2].transpose(1, 0, 2))[0])
    np.testing.assert_array_equal(shown, array[::-1, ::2].transpose(1, 0, 2))


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((3, 8, 8), np.uint8), r"\(3, 8, 8\).*transpose"),
        (np.zeros((8, 8, 2), np.uint8), r"\(8, 8, 2\), uint8: an image is"),
        (np.zeros(8, np.uint8), r"\(8,\)"),
        (np.zeros((1, 8, 8, 3), np.uint8), r"\(1, 8, 8, 3\)"),
        (np.zeros((0, 8), np.uint8), "1 to 16384"),
        (np.zeros((1, 16_385), np.uint8), "1 to 16384"),
        (np.zeros((8, 8), np.int64), r"int64.*astype\('uint8'\)"),
        (np.full((2, 2), 1.5), r"from 1.5 to 1.5.*Scale"),
        (np.full((2, 2), -0.1), r"from -0.1"),
        (np.array([[0.0, np.nan]]), "nan"),
        (np.array([["a"]]), "an image is"),
    ],
    ids=str,
)
def test_what_is_no_image_is_refused_with_its_shape_and_the_rule(array: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Image(array)


def test_a_later_change_of_the_array_changes_nothing(tmp_path: Path) -> None:
    array = np.zeros((2, 2), np.uint8)
    image = Image(array)
    array[:] = 255
    path = media_path(tmp_path, image.reference(tmp_path / "media"))
    assert pixels_of(path.read_bytes()).max() == 0


def test_the_reference_says_what_and_where(tmp_path: Path) -> None:
    image = Image(np.zeros((2, 3, 3), np.uint8), caption="step 1")
    reference = image.reference(tmp_path / "media")
    digest = reference["sha256"]
    path = tmp_path / reference["path"]
    assert reference == {
        "_type": "image", "path": f"media/{digest[:2]}/{digest}.png", "sha256": digest,
        "bytes": path.stat().st_size, "width": 3, "height": 2, "format": "png",
        "caption": "step 1",
    }  # fmt: skip


class FakeTensor:
    """A tensor with a gradient on a device, as far as it is asked."""

    def __init__(self, array: Any, steps: tuple[str, ...] = ()) -> None:
        self._array = array
        self._steps = steps

    def detach(self) -> FakeTensor:
        return FakeTensor(self._array, (*self._steps, "detach"))

    def cpu(self) -> FakeTensor:
        return FakeTensor(self._array, (*self._steps, "cpu"))

    def __array__(self, dtype: Any = None, *, copy: bool | None = None) -> Any:
        assert self._steps == ("detach", "cpu")
        return np.asarray(self._array, dtype)


def test_a_tensor_is_taken_off_its_device() -> None:
    assert repr(Image(FakeTensor(np.zeros((2, 2))))).startswith("<Image .png")


def encoded(form: str, size: tuple[int, int] = (7, 5), mode: str = "RGB", **options: Any) -> bytes:
    stream = io.BytesIO()
    PIL.Image.new(mode, size).save(stream, form, **options)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (encoded("PNG"), "png"),
        (encoded("JPEG"), "jpeg"),
        (encoded("JPEG", progressive=True, comment=b"x" * 500), "jpeg"),
        (encoded("GIF"), "gif"),
        (encoded("WEBP"), "webp"),
        (encoded("WEBP", lossless=True), "webp"),
        (encoded("WEBP", exif=b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0"), "webp"),
    ],
    ids=["png", "jpeg", "progressive", "gif", "lossy", "lossless", "extended"],
)
def test_bytes_and_files_are_what_their_header_says(
    content: bytes, name: str, tmp_path: Path
) -> None:
    header = image_header(content)
    assert header is not None
    assert (header.format, header.width, header.height) == (name, 7, 5)
    (tmp_path / "image.bin").write_bytes(content)
    for data in (content, bytearray(content), tmp_path / "image.bin", str(tmp_path / "image.bin")):
        reference = Image(data).reference(tmp_path / "media")
        assert reference["format"] == name
        assert media_path(tmp_path, reference).read_bytes() == content


def test_the_tables_before_the_frame_of_a_jpeg_are_passed_over() -> None:
    content = encoded("JPEG")
    table = b"\xff\xc4\x00\x0b" + bytes(9)
    fill = b"\xff"
    assert image_header(content[:2] + table + fill + content[2:]) == image_header(content)


@given(
    st.binary(max_size=40), st.sampled_from([b"", *(encoded(f) for f in ("PNG", "JPEG", "GIF"))])
)
def test_a_damaged_header_is_read_without_an_error(noise: bytes, content: bytes) -> None:
    for damaged in (content[:30] + noise, content[:12] + noise, b"RIFF1234WEBP" + noise):
        image_header(damaged)


def test_content_that_is_no_image_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no PNG, JPEG, GIF or WebP.*<svg"):
        Image(b"<svg></svg>")
    with pytest.raises(FileNotFoundError):
        Image(tmp_path / "none.png")


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "1", "LAB", "F"])
def test_a_pillow_image_of_any_mode_is_stored(mode: str, tmp_path: Path) -> None:
    picture = (
        PIL.Image.new("RGB", (4, 3)).convert("L") if mode == "F" else PIL.Image.new(mode, (4, 3))
    )
    if mode == "F":
        picture = picture.convert("F")
    reference = Image(picture).reference(tmp_path / "media")
    assert (reference["format"], reference["width"], reference["height"]) == ("png", 4, 3)
    assert Image(picture, format="jpeg").reference(tmp_path / "media")["format"] == "jpeg"


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="'bmp': expected one of png"):
        Image(np.zeros((2, 2)), format="bmp")
    with pytest.raises(ValueError, match="arrays are stored as 'png'"):
        Image(np.zeros((2, 2)), format="jpeg")


def test_what_is_over_the_limit_is_refused_at_construction_and_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = tmp_path / "large.png"
    with large.open("wb") as file:
        file.truncate(MEDIA_BYTES_MAX + 1)
    with pytest.raises(ValueError, match=r"67108865 bytes: the limit.*64 MiB"):
        Image(large)
    monkeypatch.setattr(expr_tracker.media.content, "MEDIA_BYTES_MAX", 60)
    with pytest.raises(ValueError, match="image of"):
        Image(np.zeros((2, 2)))


def test_a_row_holds_the_reference(tmp_path: Path) -> None:
    warnings: list[str] = []
    encoder = RowEncoder(lambda _key, text: warnings.append(text), tmp_path / "media")
    row = encoder.row({"a": Image(np.zeros((2, 2))), "b": [Image(np.zeros((2, 2)))]})
    assert row["a"]["path"] == row["b"][0]["path"]
    assert media_path(tmp_path, row["a"]).is_file()
    assert warnings == []


def test_pixels_without_numpy_are_refused_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(MissingExtraError, match="pip install numpy"):
        Image([[0.0, 0.5]])


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800"])
def test_a_text_that_can_be_no_path_is_refused_with_the_argument_that_it_is(path: str) -> None:
    with pytest.raises(NameRefusedError, match=r"^data="):
        Image(path)
    with pytest.raises(NameRefusedError, match=r"^run_directory="):
        media_path(path, "media/ab/cd.png")


def test_a_missing_image_is_said_with_what_its_folder_holds(tmp_path: Path) -> None:
    (tmp_path / "digit.png").write_bytes(encoded("PNG"))
    with pytest.raises(FileNotFoundError, match=r"Did you mean 'digit\.png'\?"):
        Image(tmp_path / "digits.png")
    with pytest.raises(FileNotFoundError, match=r"There are: digit\.png\."):
        Image(tmp_path / "none" / "a.png")
