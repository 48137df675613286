"""Dashboard, alert rules, systemd unit and DaemonSet of watch/deploy, as far as they can be judged by themselves."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest

from snoopie import cli
from snoopie.cli.parsers import parse
from snoopie.live.metrics import Durations, Family
from snoopie.live.prometheus import Collector
from snoopie.live.recording import Recording

DEPLOY = Path(__file__).resolve().parents[3] / "watch" / "deploy"
# What Grafana puts in their places.
VARIABLES = {"$__rate_interval": "1m", "$instance": ".*", "$program": ".*"}
needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="no promtool is installed (Debian: prometheus)"
)


def offered() -> dict[str, set[str]]:
    """Each metric of a run, which has all, with its labels."""

    class One(Recording):
        def families(self) -> list[Family]:
            families = super().families()
            for family in families:
                family.values[("x",) * len(family.labels)] = 1.0
            return families

        def durations(self) -> Durations:
            some = Durations()
            some.add("x", [1])  # type: ignore[arg-type]
            return some

    registry = CollectorRegistry()
    registry.register(Collector(One(lambda: []), threading.Lock()))
    found: dict[str, set[str]] = {}
    for line in generate_latest(registry).decode().splitlines():
        if sample := re.match(r"(snoopie_\w+)(?:\{(.*)\})? ", line):
            found[sample[1]] = set(re.findall(r'(\w+)="', sample[2] or "")) | {"instance", "job"}
    return found


def dashboard() -> dict[str, Any]:
    return dict(json.loads((DEPLOY / "dashboard.json").read_text("utf-8")))


def rules() -> list[dict[str, Any]]:
    return list(yaml.safe_load((DEPLOY / "alerts.yml").read_text("utf-8"))["groups"][0]["rules"])


def drawn() -> list[dict[str, str]]:
    return [target for panel in dashboard()["panels"] for target in panel["targets"]]


def check(expression: str, shown: str) -> None:
    """The metrics of an expression exist, with the labels that it selects and sums by; what is shown is summed by."""
    known = offered()
    names = re.findall(r"snoopie_\w+", expression)
    assert names
    labels = set.intersection(*(known[name] for name in names))
    selected = re.findall(r"(\w+)\s*=~?\s*\"", expression)
    kept = {label.strip() for group in re.findall(r"by \(([^)]*)\)", expression) for label in group.split(",")}
    assert {*selected, *kept} <= labels
    assert set(re.findall(r"\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}", shown)) <= kept


@pytest.mark.parametrize("target", drawn(), ids=lambda target: target["expr"][:60])
def test_the_dashboard_draws_what_there_is(target: dict[str, str]) -> None:
    check(target["expr"], target["legendFormat"])


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_alerts_are_on_what_there_is(rule: dict[str, Any]) -> None:
    check(rule["expr"], rule["annotations"]["summary"])


def test_the_dashboard_is_whole() -> None:
    board = dashboard()
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels)
    cells = [
        (place["x"] + x, place["y"] + y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["w"])
        for y in range(place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
    known = {variable["name"] for variable in board["templating"]["list"]}
    assert set(re.findall(r"\$\{?(\w+)", json.dumps(board))) <= known | {"__rate_interval", "__all"}
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]).groups()  # type: ignore[union-attr]
            assert label in offered()[metric]


@needs_promtool
def test_promtool_accepts_the_rules_and_the_dashboards_expressions(tmp_path: Path) -> None:
    expressions = []
    for number, target in enumerate(drawn()):
        expression = target["expr"]
        for variable, value in VARIABLES.items():
            expression = expression.replace(variable, value)
        expressions.append({"record": f"panel:{number}", "expr": expression})
    (tmp_path / "panels.json").write_text(json.dumps({"groups": [{"name": "panels", "rules": expressions}]}))
    for path in (DEPLOY / "alerts.yml", tmp_path / "panels.json"):
        done = subprocess.run(["promtool", "check", "rules", path], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_alerts_go_off_when_they_should(tmp_path: Path) -> None:
    whose = {"instance": "node:9400", "program": "app", "user": "u", "container": "c", "pod": "p"}

    def series(metric: str, values: str, **labels: str) -> dict[str, str]:
        text = ",".join(f'{name}="{value}"' for name, value in labels.items())
        return {"series": f"snoopie_cuda_{metric}{{{text}}}", "values": values}

    own = {"gpu": "0", "kind": "device"}
    failed = {"call": "cuMemAlloc_v2", "error": "CUDA_ERROR_OUT_OF_MEMORY"}
    cases = [
        # Metric, how it goes minute by minute, its labels; alert, severity, labels beyond whose.
        ("call_errors_total", "0+60x600", {**whose, "gpu": "0", **failed}, "CudaCallsFail", "warning", failed),
        ("call_errors_total", "0+1x600", {**whose, "gpu": "0", **failed}, "CudaCallsFail", "", {}),
        ("allocated_bytes", "0+40000000x600", {**whose, **own}, "CudaMemoryGrows", "warning", {}),
        ("allocated_bytes", "9000000000+0x600", {**whose, **own}, "CudaMemoryGrows", "", {}),
        ("leaked_bytes_total", "0+40000000x600", {**whose, **own}, "CudaMemoryIsLeft", "info", {}),
        ("synchronization_seconds_total", "0+58x600", {**whose, "gpu": "0"}, "CudaTimeIsSpentWaiting", "info", {}),
        ("synchronization_seconds_total", "0+30x600", {**whose, "gpu": "0"}, "CudaTimeIsSpentWaiting", "", {}),
        ("lost_total", "0+1x600", {"instance": "n", "what": "events"}, "SnoopieLoses", "warning", None),
        ("lost_total", "7+0x600", {"instance": "n", "what": "events"}, "SnoopieLoses", "", None),
    ]  # fmt: skip
    summaries = {rule["alert"]: rule["annotations"]["summary"] for rule in rules()}
    tests = []
    for metric, values, labels, alert, severity, more in cases:
        shown = labels if more is None else whose | more
        summary = re.sub(
            r"\{\{ \$labels\.(\w+) \}\}", lambda match, shown=shown: shown.get(match[1], ""), summaries[alert]
        )
        raised = [{"exp_labels": {**shown, "severity": severity}, "exp_annotations": {"summary": summary}}]
        tests.append(
            {
                "interval": "1m",
                "input_series": [series(metric, values, **labels)],
                "alert_rule_test": [
                    {"eval_time": "9h", "alertname": alert, **({"exp_alerts": raised} if severity else {})}
                ],
            }
        )
    assert {case[3] for case in cases} == set(summaries)
    path = tmp_path / "test.json"
    path.write_text(json.dumps({"rule_files": [str(DEPLOY / "alerts.yml")], "tests": tests}))
    done = subprocess.run(["promtool", "test", "rules", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


# --- What starts it ---


def test_the_daemon_set_has_what_a_watch_needs() -> None:
    pod = yaml.safe_load((DEPLOY / "daemonset.yml").read_text("utf-8"))["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    program, *words = container["command"]
    arguments = parse(cli.COMMANDS, words)
    assert (program, arguments.name, arguments.all) == ("snoopie", "watch", True)
    # Prometheus comes from elsewhere.
    assert arguments.prometheus == ("0.0.0.0", container["ports"][0]["containerPort"])
    assert pod["hostPID"]
    assert {"BPF", "PERFMON", "SYS_PTRACE"} <= set(container["securityContext"]["capabilities"]["add"])
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert {volume["name"] for volume in pod["volumes"]} == set(mounts)
    assert Path(mounts["token"]) in arguments.token_file.parents


def test_the_unit_is_one(tmp_path: Path) -> None:
    text = (DEPLOY / "snoopie-watch.service").read_text("utf-8")
    (line,) = re.findall(r"^ExecStart=(.*)$", text, re.M)
    program, *words = shlex.split(line)
    arguments = parse(cli.COMMANDS, words)
    assert (arguments.name, arguments.all, arguments.prometheus) == ("watch", True, ("127.0.0.1", 9400))
    bounds = re.search(r"^CapabilityBoundingSet=(.*)$", text, re.M)
    assert bounds is not None
    assert {"CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE"} <= set(bounds[1].split())
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd is installed (Debian: systemd)")
    # It looks whether the program is there.
    unit = tmp_path / "snoopie-watch.service"
    unit.write_text(text.replace(program, sys.executable))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
