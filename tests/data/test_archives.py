from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from gpcn import DataError
from gpcn.data.archives import read_npz


def npz(**arrays: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def zipped(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def test_plain_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    arrays = {
        "whole": np.arange(6).reshape(2, 3),
        "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "text": np.array(["a", "βγ"]),
        "scalar": np.array(3),
        "empty": np.empty((0, 4)),
    }
    path = tmp_path / "a.npz"
    path.write_bytes(npz(**arrays))
    for source in (path, path.read_bytes()):
        loaded = read_npz(source, "a.npz")
        assert loaded.keys() == arrays.keys()
        for key, array in arrays.items():
            np.testing.assert_array_equal(loaded[key], array)
            assert loaded[key].dtype == array.dtype


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (pytest.fail, ("a pickle ran",))


def test_object_arrays_are_refused_before_anything_runs() -> None:
    hostile = np.empty(1, dtype=object)
    hostile[0] = Bomb()
    with pytest.raises(DataError, match="Python objects, which could run code"):
        read_npz(npz(x=hostile), "bad.npz")
    assert b"pytest" in pickle.dumps(Bomb())


def test_a_zip_bomb_is_refused_by_its_directory() -> None:
    content = zipped({"x.npy": bytes(2 << 20)})
    forged = bytearray(content)
    for at in range(len(content) - 4):  # claim 3 GiB wherever 2 MiB is claimed
        if content[at : at + 4] == (2 << 20).to_bytes(4, "little"):
            forged[at : at + 4] = (3 << 30).to_bytes(4, "little")
    with pytest.raises(DataError, match="looks like a zip bomb"):
        read_npz(bytes(forged), "bomb.npz")


def test_a_header_that_promises_too_much_is_refused_without_allocating() -> None:
    huge = npy(np.zeros(4))
    head = huge.index(b"(4,), }")
    content = huge[:head] + b"(4000000000000,), }" + huge[head + 19 :]
    with pytest.raises(DataError, match="promises 32,000,000,000,000 bytes but holds"):
        read_npz(zipped({"x.npy": content}), "liar.npz")


@pytest.mark.parametrize("name", ["../x.npy", "a/b.npy", "x.txt", "..\\x.npy"])
def test_member_names_that_are_paths_are_refused(name: str) -> None:
    with pytest.raises(DataError, match="expected plain array names"):
        read_npz(zipped({name: npy(np.zeros(2))}), "odd.npz")


def test_cut_off_and_altered_archives_are_refused() -> None:
    content = npz(x=np.arange(1000))
    for wrong in (content[:-40], content[: len(content) // 2], b"", b"hello", zipped({"x.npy": b"not an array"})):
        with pytest.raises(DataError, match="cut off or altered"):
            read_npz(wrong, "broken.npz")
    flipped = bytearray(content)
    flipped[120] ^= 0xFF
    with pytest.raises(DataError):
        read_npz(bytes(flipped), "flipped.npz")
