"""A run as a program of PyTorch that needs nothing of this package: weights and code in one file, graphs as tensors.

    model.pt2      the program, for `torch.export.load`: probabilities of every node, the mean over splits
    inputs.npz     what it takes for this graph, by name, and the `probabilities` it must give
    nodes.json     what the nodes are called, in the order of the rows
    about.json     what all of it is: classes, inputs, operators, versions

Of what `auto` chose, every member has a folder like that, and `about.json` says how much each counts.
"""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gpcn.api.folder import RunFolder
from gpcn.core.atomic import replacing, write_json
from gpcn.core.errors import CheckpointError, ConfigError, Option
from gpcn.graph import Graph
from gpcn.nn import zoo
from gpcn.nn.exporting import ExportableModel, export
from gpcn.records import layout
from gpcn.runs.predictions.fitted import Fitted
from gpcn.runs.run import Run

FORMATS = ("torch",)
FORMAT = 1
NO_ONNX = (
    f"gpcn writes no ONNX; write {Option('format', 'torch')}, then convert with "
    "torch.onnx.export(torch.export.load('model.pt2'), dynamo=True), which needs onnx and onnxscript"
)


def export_folder(
    folder: RunFolder, out: str | Path, graph: Any = None, nodes: Any = None, *, format: str = "torch"
) -> dict[str, Any]:
    """Write what `folder` predicts with, for the graph trained on or another one (as for `RunFolder.predict`).

    Returns:
        What `about.json` says, and where it is.
    """
    if format not in FORMATS:
        raise ConfigError(NO_ONNX if format == "onnx" else f"{Option('format')} is {format!r}; expected torch")
    target, loaded = Path(out), folder.graph_to_predict(graph, nodes)
    layout.refuse_folder_of_other_kind(target)
    counts = Counter(run.path for run in folder.runs)
    distinct = list({run.path: run for run in folder.runs}.values())
    for run in distinct:
        _check_exportable(run)
    if len(distinct) == 1:
        return {"out": str(target), **_export_run(distinct[0], loaded, target)}
    members = [
        {
            "folder": run.path.name,
            "share": counts[run.path] / len(folder.runs),
            **_export_run(run, loaded, target / run.path.name),
        }
        for run in distinct
    ]
    manifest = {"format": FORMAT, "gives": "the mean of the members' probabilities by their shares", "members": members}
    write_json(target / "about.json", manifest)
    return {"out": str(target), **manifest}


def _check_exportable(run: Run) -> None:
    if not zoo.specification_of(run.config.model).exportable:
        raise ConfigError(
            f"{run.path} holds a {run.config.model}, which is no chain of products with the links and cannot be "
            "exported; predict with gpcn, or train another model"
        )
    if not run.finished():
        raise CheckpointError(f"{run.path} has no finished split; run the same gpcn train command to finish it")


def _export_run(run: Run, graph: Graph, out: Path) -> dict[str, Any]:
    fitted, model = Fitted.of(run, graph), zoo.specification_of(run.config.model)
    models = [fitted.model(number) for number in run.finished()]
    module = ExportableModel(models, fitted.problem.x, fitted.problem.adjacency, fitted.run.task().activation)
    any_graph = not (model.per_node or model.keeps_labels)
    program = export(module, any_graph=any_graph)
    with torch.no_grad():
        probabilities = module(*module.inputs)
    named = dict(zip(module.input_names, module.inputs, strict=True))
    manifest = {
        "format": FORMAT,
        "run": str(run.path),
        "model": run.config.model,
        "splits": run.finished(),
        "graph": graph.name,
        "classes": list(run.label_names()),
        "features": run.graph.feature_names,
        "inputs": [
            {"name": name, "shape": list(tensor.shape), "type": str(tensor.dtype)} for name, tensor in named.items()
        ],
        "operators": list(module.operators),
        "any_graph": any_graph,
        "gives": "probabilities, a row per node and a column per class",
        "torch": torch.__version__,
        "notes": list(fitted.notes),
    }
    out.mkdir(parents=True, exist_ok=True)
    stored = io.BytesIO()
    torch.export.save(program, stored)
    with replacing(out / "model.pt2") as stream:
        stream.write(stored.getbuffer())
    with replacing(out / "inputs.npz") as stream:
        arrays = {name: tensor.numpy() for name, tensor in named.items()}
        np.savez_compressed(stream, allow_pickle=False, probabilities=probabilities.numpy(), **arrays)
    write_json(out / "nodes.json", list(graph.node_ids or map(str, range(graph.num_nodes))))
    write_json(out / "about.json", manifest)
    return manifest
