"""Small files in the published formats, and a server for them."""

import gzip
import hashlib
import http.server
import io
import pickle
import struct
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
from PIL import Image

from scaling_limits.datasets.description import Payload


def md5(content: bytes) -> str:
    return f"md5:{hashlib.md5(content).hexdigest()}"


def idx(array: np.ndarray) -> bytes:
    header = b"\x00\x00\x08" + bytes([array.ndim])
    return header + struct.pack(f">{array.ndim}I", *array.shape) + array.astype(np.uint8).tobytes()


def idx_files(seed: int = 0) -> dict[str, bytes]:
    """The four files of MNIST with 6 + 4 samples."""
    rng = np.random.default_rng(seed)
    return {
        "train-images-idx3-ubyte": idx(rng.integers(0, 256, (6, 28, 28))),
        "train-labels-idx1-ubyte": idx(rng.integers(0, 10, 6)),
        "t10k-images-idx3-ubyte": idx(rng.integers(0, 256, (4, 28, 28))),
        "t10k-labels-idx1-ubyte": idx(rng.integers(0, 10, 4)),
    }


def payloads(files: dict[str, bytes]) -> tuple[Payload, ...]:
    return tuple(Payload(name, md5(content)) for name, content in files.items())


def png(image: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "png")
    return buffer.getvalue()


def npz(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def parquet(image: str, images: np.ndarray, **labels: np.ndarray) -> bytes:
    """Rows as Hugging Face keeps them: PNG files in the column `image`, and columns of labels in 64 bits."""
    columns = {name: values.astype(np.int64) for name, values in labels.items()}
    files = [{"bytes": png(each), "path": None} for each in images]
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({image: files, **columns}), buffer)
    return buffer.getvalue()


def cifar_batches(count: int = 2) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Batches of pixels [n, 3072] (red, green, blue planes) and labels [n], by published stem."""
    rng = np.random.default_rng(1)
    stems = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]
    return {
        s: (rng.integers(0, 256, (count, 3072)).astype(np.uint8), rng.integers(0, 10, count))
        for s in stems
    }


def cifar_binary() -> dict[str, bytes]:
    return {
        f"{stem}.bin": np.column_stack([labels.astype(np.uint8), pixels]).tobytes()
        for stem, (pixels, labels) in cifar_batches().items()
    }


def cifar_pickled() -> dict[str, bytes]:
    return {
        stem: python2_pickle(pixels, labels=labels)
        for stem, (pixels, labels) in cifar_batches().items()
    }


def cifar100_batches() -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Pixels [n, 3072], coarse and fine labels [n], by published stem."""
    rng = np.random.default_rng(2)
    return {
        stem: (
            rng.integers(0, 256, (count, 3072)).astype(np.uint8),
            rng.integers(0, 20, count),
            rng.integers(20, 100, count),
        )
        for stem, count in (("train", 3), ("test", 2))
    }


def cifar100_binary() -> dict[str, bytes]:
    return {
        f"{stem}.bin": np.column_stack([coarse, fine, pixels]).astype(np.uint8).tobytes()
        for stem, (pixels, coarse, fine) in cifar100_batches().items()
    }


def cifar100_pickled() -> dict[str, bytes]:
    return {
        stem: python2_pickle(pixels, coarse_labels=coarse, fine_labels=fine)
        for stem, (pixels, coarse, fine) in cifar100_batches().items()
    }


def python2_pickle(pixels: np.ndarray, **labels: np.ndarray) -> bytes:
    """{'data': pixels, <name>: labels} as Python 2 pickled it (protocol 2)."""

    def string(text: bytes) -> bytes:
        return b"T" + struct.pack("<i", len(text)) + text

    def integers(*values: int) -> bytes:
        return b"".join(b"J" + struct.pack("<i", value) for value in values)

    dtype = b"cnumpy\ndtype\n(" + string(b"u1") + integers(0, 1) + b"tR"
    dtype += b"(" + integers(3) + string(b"|") + b"NNN" + integers(-1, -1, 0) + b"tb"
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n("
        + integers(0)
        + b"t"
        + string(b"b")
        + b"tR"
    )
    shape = b"(" + integers(*pixels.shape) + b"t"
    array += b"(" + integers(1) + shape + dtype + b"\x89" + string(pixels.tobytes()) + b"tb"
    items = string(b"data") + array
    for name, values in labels.items():
        items += string(name.encode()) + b"](" + integers(*values) + b"e"
    return b"\x80\x02}(" + items + b"u."


class Evil:
    """Pickles to a call of `print`."""

    def __reduce__(self) -> tuple[object, ...]:
        return print, ("called",)


def evil_pickle() -> bytes:
    return pickle.dumps({"data": Evil()}, protocol=2)


def tar(files: dict[str, bytes], folder: str, mode: str = "w:gz") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def write(folder: Path, files: dict[str, bytes], *, gz: bool = False) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / (f"{name}.gz" if gz else name)).write_bytes(
            gzip.compress(content, 1) if gz else content
        )
    return folder


@contextmanager
def serve(
    files: dict[str, bytes], *, short: int = 0, status: int = 200, length: bool = True
) -> Iterator[tuple[str, list[str]]]:
    """Serve files: (address, requested paths).

    `short` drops the last bytes of each body; `length` says beforehand how long it should be.
    """
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            content = files.get(self.path.lstrip("/"))
            self.send_response(404 if content is None else status)
            body = content or b""
            if length:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) - short])

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
