"""The page of a task that scripts/gpu_learn has trained and judged: results first, then what the training took, and its curve."""

import os


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *("| " + " | ".join(row) + " |" for row in rows)]


def judged(row):
    """One of a judge, as scripts/gpu_learn makes it."""
    found, end = row["found"], row["how"]
    if found is None:
        return row["judge"], "-", f"at least {row['wanted']:g}", f"not measured: {end}"
    interval = " ({:.4g} to {:.4g})".format(*row["interval"]) if row["interval"] else ""
    reached = "reached" if found >= row["wanted"] else "not reached"
    return row["judge"], f"{found:.4g}{interval}", f"at least {row['wanted']:g}", reached if end == "ended" else f"{reached}; {end}"


def facts(trained):
    yield "training", f"{trained['how']} after {trained['wall']:.0f} s"
    if "env_steps" in trained:
        yield "steps, updates, episodes", ", ".join(f"{trained[key]:,}" for key in ("env_steps", "updates", "episodes"))
        yield "seconds of " + ", ".join(trained["times"]), ", ".join(f"{value:.0f}" for value in trained["times"].values())
    if "gpu_use" in trained:
        yield "the GPU ran kernels; its memory was taken", f"{100 * trained['gpu_use']:.0f} % of the time; {100 * trained['gpu_memory']:.0f} % at most"
    if trained["plan"]:
        yield "memory of the GPU that was planned; taken", f"{trained['plan']}; {trained['taken'] or 'not said'}"
    if "weights" in trained:
        yield "weights", f"{trained['weights'] / 1e6:.2f} MB, {trained['weights_are']}"


def write(folder, result):
    """page.md in the folder, which may have curve.svg and curve.md."""
    trained, name = result["training"], result["task"]
    rows = [judged(row) for row in result["judges"]]
    lines = [f"# {name} on {result['device']}", "", *table(("what", "found", "wanted", ""), rows), ""]
    lines += [*table(("of the training", ""), facts(trained)), ""]
    if os.path.exists(os.path.join(folder, "curve.svg")):
        lines += [f"![learning curve of {name}](curve.svg)", ""]
    if os.path.exists(os.path.join(folder, "curve.md")):
        with open(os.path.join(folder, "curve.md")) as file:
            lines += [*file.read().splitlines(), ""]
    lines += [f"Commit {result['revision']}, {result['date']}:", "", f"    {trained['command']}"]
    with open(os.path.join(folder, "page.md"), "w") as file:
        file.write("\n".join(lines) + "\n")
