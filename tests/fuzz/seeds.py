"""A few small, valid files of every kind, from which a fuzzer starts: `python -m tests.fuzz.seeds` writes them anew."""

from __future__ import annotations

import gzip
import io
import json
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gpcn import save
from gpcn.data.packed_text import pack_texts
from gpcn.data.split_plan import SplitPlan
from gpcn.records.reading import encode
from tests.fuzz.readers import KINDS
from tests.graphs import make_graph

CORPUS = Path(__file__).parent / "corpus"
EDGES = b"source,target,weight,type\na,b,1,x\nb,c,2.5,y\nc,a,1,x\n"
NODES = (
    b"id,label,age,city,tags,when,split\na,0,3,Rome,p;q,2024-01-02,train\nb,1,,Paris,q,2023-05-06,val\n"
    b"c,0,7,Rome,,,test\n"
)


def native(**changes: object) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        save(make_graph(**changes), Path(folder) / "g.npz")
        return (Path(folder) / "g.npz").read_bytes()


def archive(**arrays: object) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


def lines(*rows: dict[str, object]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def parquet() -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table({"source": ["a", "b"], "target": ["b", "c"], "weight": [1.0, 2.0]}), stream)
    return stream.getvalue()


def contents() -> dict[str, list[bytes]]:
    links = [{"source": "a", "target": "b"}, {"source": "b", "target": "c", "n": 1.5}]
    rows = [{"id": "a", "label": 1, "x": [1, 2]}, {"id": "b", "label": 0, "x": None}, {"id": "c", "label": 1}]
    benchmark = {"edges": np.array([[0, 1], [1, 2]]), "node_features": np.eye(3), "node_labels": np.array([0, 1, 0])}
    graphml = (
        b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="d" for="node" attr.name="label" '
        b'attr.type="string"/><graph edgedefault="directed"><node id="a"><data key="d">x</data></node><node id="b"/>'
        b'<edge source="a" target="b"/></graph></graphml>'
    )
    described = {"format": "gpcn-tables", "name": "n", "metric": "accuracy", "classes": ["p", "q"], "features": ["x"]}
    return {
        "csv": [EDGES + b"\0" + NODES, b"u;v\n1;2\n2;3\n\0name;class\n1;1.0\n2;0.0\n3;\n"],
        "jsonl": [lines(*links) + b"\0" + lines(*rows)],
        "tsv": [b"from\tto\n1\t2\n2\t3\n"],
        "edges": [b"# comment\n1 2 1\n2 3 0.5\n", b"1,2\n2,3\n"],
        "npz": [
            native(),
            native(node_ids=list("abcdef"), label_names=["no", "yes"], weights=np.arange(1, 7)),
            archive(**benchmark),
        ],
        "graphml": [graphml],
        "described": [json.dumps(described).encode()],
        "settings": [b'model = "gpcn-link"\nhidden = 8\nlr = 0.1\nseed = 3\nbias = true\n'],
        "columns": [b'source = "a"\nlabel = "b"\nnumeric = ["x", "y"]\nundirected = true\n'],
        "node_ids": [archive(**pack_texts(["a", "βeta", ""], "node_ids"))],
        "plan": [json.dumps(encode(SplitPlan(count=3))).encode()],
        "parquet": [parquet()],
        "gz": [gzip.compress(EDGES, mtime=0)],
        "zst": [pa.compress(EDGES, codec="zstd", asbytes=True)],
        "both_ways": [
            b"source,target,weight\na,b,1\n#c,a,0.5\na,b,2\nx,a,1\n\0id,label,split,code,n,when,word\n"
            b"a,p,train,003,1,2024-01-31,red\nb,q,val,017,0.5,2023-02-28,\n#c,p,test,200,NA,,blue\n",
            b'source,target\n1,2\n02,1\n\0"id",label,split,"flag"\n1,1.0,train,yes\n2,0,val,no\n02,1,test,"?"\n',
        ],
        "dates": [b"2024-01-31\n2023-02-28 10:00:00.5+02:00\n\n", b"31/12/23\n01/02/24\nNA", b"5 Mar 2024\n31.12.1999"],
        "json_ids": [b"15098306652243313190\n15098306652243313490", b'"2024-01-31"\n"2024-02-01"', b"1.0\n-2.50\n1e3"],
    }


def write(folder: Path = CORPUS) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, kind in enumerate(KINDS):
        for part, content in enumerate(contents()[kind]):
            (folder / f"{kind}-{part}").write_bytes(bytes([number]) + content)


if __name__ == "__main__":
    write()
