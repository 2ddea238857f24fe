"""What the soaks share that train runs, end them, go on with them and compare what they leave (a module, no program)."""

import json
import math
import os
import re
import time

CLOCK = {"seconds", "env_steps_per_second", "simulations_per_second", "updates_per_second", "time_acting", "time_learning", "time_reanalysis", "time_evaluation",
         "time_saving", "time_other", "gpu_use", "gpu_memory"}


class Wrong(Exception):
    pass


def need(holds, what):
    if not holds:
        raise Wrong(what)


# ---- what a run has left ----


def read(run, name):
    with open(os.path.join(run, name)) as file:
        return json.load(file)


def has_begun(run):
    """A run can be gone on with; one that was killed before is begun again by its own command."""
    return os.path.exists(os.path.join(run, "config.json"))


def no_number(text):
    raise Wrong(f"metrics.jsonl holds {text}")


def check_metrics(run):
    """The rows of metrics, whose numbers are finite."""
    with open(os.path.join(run, "metrics.jsonl")) as file:
        rows = [json.loads(line, parse_constant=no_number) for line in file]
    before = 0
    for row in rows:
        need(all(math.isfinite(value) for value in row.values()), f"not finite: {row}")
        need(row["updates"] == before or {"total_loss", "gradient_norm", "learning_rate"} <= set(row),
             f"updates {before} to {row['updates']} without losses: {row}")
        before = row["updates"]
    return rows


def results(run):
    """All that may not depend on threads, prefetching and interruptions: hash of the parameters, counts, metrics."""
    result = {key: value for key, value in read(run, "result.json").items() if key not in CLOCK}
    return {"result": result, "rows": [{key: value for key, value in row.items() if key not in CLOCK} for row in check_metrics(run)]}


def check_same(whole, other, what):
    for key, value in whole["result"].items():
        need(other["result"].get(key) == value, f"{what}: {key} {other['result'].get(key)}, not {value}")
    need(len(whole["rows"]) == len(other["rows"]), f"{what}: {len(other['rows'])} rows of metrics, not {len(whole['rows'])}")
    for mine, others in zip(whole["rows"], other["rows"]):
        for key in sorted(mine.keys() | others.keys()):
            need(mine.get(key) == others.get(key), f"{what}: iteration {mine['iteration']}: {key} {others.get(key)}, not {mine.get(key)}")


# ---- the processes of ranks ----


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return int(file.read().rsplit(")", 1)[1].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def ranks_of(job):
    """{rank: process}: children of the launcher, which is a child of the job (subprocess.Popen)."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit() or parent_of(parent_of(int(name))) != job.pid:
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                match = re.search(rb"OMPI_COMM_WORLD_RANK=(\d+)\0", file.read())
        except OSError:
            continue
        if match:
            found[int(match.group(1))] = int(name)
    return found


def works_here(process):
    try:
        return process != str(os.getpid()) and os.readlink(f"/proc/{process}/cwd") == os.getcwd()
    except OSError:
        return False


def wait_for_ranks(limit=60.0):
    """Until no other process works in this folder: ranks whose launcher was killed end a moment after it."""
    end = time.monotonic() + limit
    while left := [name for name in os.listdir("/proc") if name.isdigit() and works_here(name)]:
        need(time.monotonic() < end, f"{limit:.0f} s after a kill these processes still run: {' '.join(left)}")
        time.sleep(0.01)
