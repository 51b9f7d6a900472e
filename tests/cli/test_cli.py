"""The command line as a user meets it: streams, sentences, exit codes; `tests/commands.py` says in which process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpcn import load, save, synthesize
from gpcn.data.benchmarks import catalog
from tests.commands import TINY, document, in_a_process, refused
from tests.commands import in_process as gpcn
from tests.graphs import graph_of_payments_within_classes


def test_datasets_lists_every_entry(mirror: Path) -> None:
    rows = document("datasets", GPCN_MIRROR=str(mirror))
    assert [row["name"] for row in rows] == catalog.names()
    wanted = {"name", "nodes", "edges", "features", "classes", "splits", "metric", "available"}
    assert all(wanted <= row.keys() for row in rows)
    available = {row["name"] for row in rows if row["available"]}
    assert {"chameleon", "texas", "twitch-de", "reed98"} <= available
    assert "penn94" not in available


def test_datasets_prints_names_and_what_is_fetched_by_hand() -> None:
    answer = gpcn("datasets")
    assert answer.returncode == 0
    assert "roman-empire" in answer.stdout
    assert "by hand" in answer.stdout


@pytest.mark.mirror
def test_inspect_measures_a_benchmark_by_its_name(mirror: Path) -> None:
    facts = document("inspect", "chameleon", "--mirror", mirror)
    wanted = (
        "nodes edges features classes edge_homophily node_homophily class_insensitive_homophily adjusted_homophily "
        "label_informativeness train_test_duplicates splits"
    )
    assert set(wanted.split()) <= facts.keys()
    assert (facts["nodes"], facts["edges"], facts["splits"]) == (2277, 36101, 10)
    assert facts["train_test_duplicates"] > 250
    answer = gpcn("inspect", "chameleon", "--mirror", mirror)
    assert "have a duplicate" in answer.stdout
    assert "class-insensitive" in answer.stdout


def test_inspect_tells_what_each_direction_tells(tmp_path: Path) -> None:
    save(graph_of_payments_within_classes(), tmp_path / "g.npz")
    facts = document("inspect", tmp_path / "g.npz")["directions"]
    assert facts["in"]["label_informativeness"] > facts["out"]["label_informativeness"] + 0.5
    shown = gpcn("inspect", tmp_path / "g.npz").stdout
    assert "in: that point to a node" in shown
    assert "of the links have a link back" in shown
    assert "direction=in, or the model multi-gpcn" in " ".join(shown.split())
    save(graph_of_payments_within_classes().symmetrized(), tmp_path / "u.npz")
    assert document("inspect", tmp_path / "u.npz")["directions"] is None
    assert "link back" not in gpcn("inspect", tmp_path / "u.npz").stdout


def test_the_direction_of_links_is_a_setting(tmp_path: Path) -> None:
    save(synthesize(nodes=80, classes=2, degree=4, directed=True, splits=1), tmp_path / "g.npz")
    words = ("train", tmp_path / "g.npz", "--model", "gcn", "--set", "epochs=5", "--out", tmp_path / "run")
    result = document(*words, "--set", "direction=both")
    assert "direction was both, now in" in refused(*words, "--set", "direction=in")
    compared = document(
        "compare", tmp_path / "g.npz", "--models", "gcn", "--set", "epochs=5", "--set", "direction=both"
    )
    (row,) = (row for row in compared["models"] if row["model"] == "gcn")
    assert row["test_mean"] == result["test_mean"]


@pytest.mark.parametrize("loop", [False, True])
def test_an_undirected_edge_counts_once_for_its_type(loop: bool, tmp_path: Path) -> None:
    rows = ["a,b,calls", "b,c,calls", "a,c,mails", *(["c,c,mails"] if loop else [])]
    (tmp_path / "links.csv").write_text("source,target,kind\n" + "\n".join(rows) + "\n")
    (tmp_path / "people.csv").write_text("id,label\na,x\nb,y\nc,x\n")
    words = ("inspect", tmp_path / "links.csv", "--nodes", tmp_path / "people.csv")
    for facts in (document(*words), document(*words, "--undirected")):
        assert facts["relations"] == {"calls": 2, "mails": 1 + loop}
        assert facts["edges"] == 3 + loop


def test_an_option_of_one_value_that_is_given_twice_is_refused(folder: Path) -> None:
    nodes = folder / "nodes.csv"
    assert "--nodes is given 2 times; expected it once" in refused(
        "inspect", "e.csv", "--nodes", nodes, "--nodes", nodes
    )
    assert "--label is given 2 times; expected it once" in refused("inspect", folder, "--label=a", "--label", "b")
    assert "--drop is given 2 times; expected it once, several names between commas" in refused(
        "inspect", folder, "--drop", "a", "--drop", "b"
    )
    assert "--out is given 2 times" in refused("convert", folder, "-o", folder / "a.npz", "--out", folder / "b.npz")
    assert gpcn("inspect", folder, "--json", "--json").returncode == 0


def test_inspect_reads_a_folder_of_tables(folder: Path) -> None:
    facts = document("inspect", folder)
    assert (facts["nodes"], facts["unlabelled"], facts["name"]) == (80, 8, "synthetic-80")


def test_options_name_the_columns(folder: Path) -> None:
    facts = document(
        *("inspect", folder / "edges.csv", "--nodes", folder / "nodes.csv", "--source", "target", "--target", "source"),
        *("--features", "feature_0,feature_1", "--split", "split_3", "--label", "label", "--id", "id"),
    )
    assert [column["column"] for column in facts["columns"]][:2] == ["feature_0", "feature_1"]
    assert (facts["features"], facts["splits"]) == (4, 1)  # and the two degrees


def test_a_graph_converted_there_and_back_is_the_same(folder: Path, tmp_path: Path) -> None:
    facts = document("convert", folder, "--out", tmp_path / "g.npz", "--random-splits", 2, "--name", "my graph")
    assert facts["splits"] == 2
    graph = load(tmp_path / "g.npz")
    assert graph.name == "my graph"
    assert facts["fingerprint"] == graph.fingerprint()
    again = document("convert", tmp_path / "g.npz", "--out", tmp_path / "tables")
    assert again["fingerprint"] == facts["fingerprint"]
    assert load(tmp_path / "tables").equals(graph)


def test_synth_writes_what_is_asked_for(tmp_path: Path) -> None:
    facts = document("synth", "--nodes", 200, "--homophily", 0.1, "--mixing", "ring", "--out", tmp_path / "s.npz")
    assert facts["nodes"] == 200
    assert load(tmp_path / "s.npz").num_nodes == 200


def test_the_demo_tells_its_story(tmp_path: Path) -> None:
    answer = gpcn("demo", "--out", tmp_path / "demo")
    assert answer.returncode == 0
    assert "neighbours disagree" in answer.stdout
    assert "best on validation" in answer.stdout
    assert "Now with your own files" in answer.stdout
    assert str(tmp_path / "demo" / "report.html") in answer.stdout.replace("\n", "")
    story = document("demo", "--out", tmp_path / "demo")
    assert story["inspection"]["nodes"] == 2000
    *_, weakest, last = (row["model"] for row in story["comparison"]["models"])
    assert (weakest in ("mlp", "link"), last) == (True, "majority")
    assert story["predicted"] == 200
    assert story["predicted_right"] > 0.6
    assert "Which signal carries the predictions" in Path(story["report"]).read_text()
    assert (tmp_path / "demo" / "predictions.csv").read_text().startswith('"node","predicted","p_class 0"')


def test_what_train_and_compare_write_predict_reads(folder: Path, tmp_path: Path) -> None:
    words = ("train", folder, "--model", "gpcn", *TINY, "--splits", "0,2-3", "--out", tmp_path / "run")
    result = document(*words)
    assert {"metric", "test_mean", "test_std", "splits"} <= result.keys()
    assert [split["split"] for split in result["splits"]] == [0, 2, 3]
    assert {"split", "seed", "test", "val", "epochs", "seconds"} <= result["splits"][0].keys()
    assert document(*words) == result
    predicted = document("predict", tmp_path / "run", "--unlabelled", "--out", tmp_path / "p.csv")
    assert predicted["predictions"] == 8
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 9
    compared = document("compare", folder, "--models", "mlp,gpcn", *TINY, "--splits", "0-1", "--out", tmp_path / "all")
    assert {row["model"] for row in compared["models"]} == {"mlp", "gpcn", "majority"}
    again = document("predict", tmp_path / "all" / "gpcn", "--unlabelled", "--out", tmp_path / "q.csv")
    assert again["predictions"] == 8
    assert (
        "± "
        in gpcn("compare", folder, "--models", "mlp,gpcn", *TINY, "--splits", "0-1", "--out", tmp_path / "all").stdout
    )


def test_settings_go_before_those_of_a_config_file(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('model = "sgc"\nepochs = 5\nlr = 0.5\n')
    result = document("train", folder, "--config", tmp_path / "c.toml", "--set", "lr=0.1", "--splits", "0", "--jobs", 1)
    assert document("train", folder, "--set", "seed=4", *TINY, "--splits", "0")["splits"][0]["seed"] == 4
    assert result["model"] == "sgc"
    assert result["config"]["training"]["lr"] == 0.1


def test_predicting_reads_columns_as_training_did(tmp_path: Path) -> None:
    (tmp_path / "links.csv").write_text("a,b\n" + "".join(f"n{i},n{i + 1}\n" for i in range(39)))
    rows = "".join(f"n{i},{i % 2},{i % 5},{i % 3},{('train', 'val', 'test')[i % 3]}\n" for i in range(40))
    (tmp_path / "people.csv").write_text("who,group,x,y,fold\n" + rows)
    words = (
        "--nodes",
        tmp_path / "people.csv",
        "--id",
        "who",
        "--label",
        "group",
        "--features",
        "x, y",
        "--split",
        "fold",
    )
    words += ("--source", "a", "--target", "b", "--undirected", *TINY)
    document("train", tmp_path / "links.csv", *words, "--model", "gpcn-link", "--out", tmp_path / "run")
    report = document("predict", tmp_path / "run", "--out", tmp_path / "p.csv")
    expected = {"out": str(tmp_path / "p.csv"), "predictions": 40, "new_nodes": 0, "threshold": None, "notes": []}
    assert report == expected


def test_tables_without_splits_are_trained_on_random_ones(folder: Path, tmp_path: Path) -> None:
    words = ("train", folder, "--split", "label", "--model", "mlp", *TINY)
    assert "holds" in refused(*words)
    edges = tmp_path / "e"
    edges.mkdir()
    (edges / "edges.csv").write_text("source,target\n" + "".join(f"{i},{i + 1}\n" for i in range(29)))
    (edges / "nodes.csv").write_text("id,label,f\n" + "".join(f"{i},{i % 2},{i}\n" for i in range(30)))
    assert len(document("train", edges, "--model", "mlp", *TINY)["splits"]) == 5
    assert len(document("train", edges, "--model", "mlp", "--random-splits", 2, *TINY)["splits"]) == 2


def test_wrong_options_of_training_are_refused_in_one_sentence(folder: Path, tmp_path: Path) -> None:
    assert "did you mean gpcn" in refused("train", folder, "--model", "gpc")
    assert "--models names no model" in refused("compare", folder, "--models", ",")
    assert "not of the form KEY=VALUE" in refused("train", folder, "--set", "hidden")
    assert "did you mean hidden" in refused("train", folder, "--set", "hiden=3")
    assert "cannot be read; expected numbers and ranges" in refused("train", folder, "--splits", "a-b")
    assert "there is no split 99" in refused("train", folder, "--splits", "99")
    assert "is not a run" in refused("predict", tmp_path)
    assert "none of mlp has a setting 'gamma'" in refused("compare", folder, "--models", "mlp", "--set", "gamma=1")
    assert "expected auto, cpu or cuda" in refused("train", folder, "--device", "tpu")


def test_failures_are_one_sentence(tmp_path: Path, folder: Path) -> None:
    assert "did you mean texas" in refused("inspect", "texsa")
    assert "no file or folder" in refused("inspect", "nowhere.csv", "--json")
    assert "expected a name that ends in .npz" in refused("convert", folder, "--out", tmp_path / "x.csv")
    assert "degree is 5000" in refused("synth", "--degree", 5000, "--out", tmp_path / "s.npz")
    assert "is not a folder" in refused("inspect", "texas", "--mirror", tmp_path / "none")
    assert "could not download" in refused("inspect", "texas", GPCN_CACHE=str(tmp_path / "empty"))
    assert not list(tmp_path.glob("*.npz"))


def test_a_failed_conversion_leaves_the_old_file(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "g.npz"
    gpcn("convert", folder, "--out", out)
    before = out.read_bytes()
    (folder / "edges.csv").write_text("source,target\n0,nobody\n")
    assert "'nobody'" in refused("convert", folder, "--out", out)
    assert out.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.npz", "mine"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small tmpfs needs root")
    try:
        sentence = refused("synth", "--nodes", 20000, "--out", small / "s.npz")
        assert "No space left on device" in sentence
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", small], check=True)


def test_names_are_shown_as_text_never_as_markup(folder: Path, tmp_path: Path) -> None:
    name = "[red]x[/red]\x1b[31m[/]"
    gpcn("convert", folder, "--out", tmp_path / "g.npz", "--name", name)
    answer = gpcn("inspect", tmp_path / "g.npz")
    assert answer.returncode == 0
    assert "[red]x[/red]" in answer.stdout
    assert "\x1b" not in answer.stdout


@pytest.mark.parametrize(
    "command",
    [
        *("datasets", "inspect", "models", "train", "compare", "predict", "explain", "report", "export", "convert"),
        *("synth", "demo"),
    ],
)
def test_every_help_has_an_example(command: str) -> None:
    answer = gpcn(command, "--help", COLUMNS="100")
    assert answer.returncode == 0
    assert "Example" in answer.stdout
    assert f"gpcn {command}" in answer.stdout


def test_the_version_is_printed() -> None:
    assert in_a_process("--version").stdout.startswith("gpcn 0.")


def test_a_process_of_its_own_answers_like_this_one(folder: Path) -> None:
    words = ("train", folder, "--model", "gpcn", *TINY, "--splits", "0", "--json")
    answer = in_a_process(*words)
    assert (answer.returncode, answer.stderr) == (0, "")
    here = gpcn(*words)
    first, second = (json.loads(reply.stdout)["splits"][0] | {"seconds": 0} for reply in (answer, here))
    assert first == second
    wrong = ("train", folder, "--model", "gpc")
    answer, here = in_a_process(*wrong), gpcn(*wrong)
    assert answer.returncode == here.returncode == 2
    assert (answer.stdout, answer.stderr) == (here.stdout, here.stderr)


def test_the_command_line_does_not_wait_for_torch() -> None:
    code = "import sys, gpcn.cli; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_help_says_what_commands_say_of_themselves_and_imports_none_of_them() -> None:
    from gpcn.cli import app

    for name, summary in app.SUMMARIES.items():
        help_text = app.command(name).help
        assert " ".join(help_text.split("\n\n")[0].split()) == summary, name
    heavy = "import sys; from gpcn.cli.app import app; assert not {'numpy', 'scipy', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", heavy], check=True)


def test_a_training_does_not_wait_for_packages_that_it_does_not_use() -> None:
    code = (
        "import sys; import gpcn; from gpcn.cli import train; from gpcn.cli.shared import progress; "
        "from gpcn.search import budget; "
        "gpcn.train(gpcn.synthesize(nodes=60, splits=1), gpcn.TrainConfig.of('gpcn', epochs=2)); "
        "print(*{'sklearn', 'optuna', 'sqlalchemy', 'networkx', 'torch_geometric', 'pandas'} & set(sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert answer.stdout.split() == []


def test_the_nearest_command_is_suggested_for_a_misspelt_one() -> None:
    assert "Did you mean 'train'" in gpcn("trian").stderr
