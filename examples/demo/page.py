"""The demo's page: one HTML file that needs nothing else. page.html has its words and its style."""

import json
import shlex
from html import escape
from pathlib import Path
from string import Template

import causeway as cw
from calibration import calibration_error, reliability
from drawing import Plot, round_numbers
from scores import FOREST, LOWER_IS_BETTER, METRICS, PACKAGED, THIS_RUN


def facts_html(facts):
    return "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
                   for name, value in facts.items())


def loss_html(log):
    """The losses of the log, and the mean of each and the four before, which the eye can follow."""
    steps, losses = [line["step"] for line in log], [line["loss"] for line in log]
    means = [sum(some) / len(some) for some in (losses[max(0, k - 4) : k + 1] for k in range(len(losses)))]
    margin = 0.06 * (max(losses) - min(losses)) or 0.1
    low, high = min(losses) - margin, max(losses) + margin
    plot = Plot(f"Loss by step: {losses[0]:.3f} at step {steps[0]}, {losses[-1]:.3f} at step {steps[-1]}",
                (0, steps[-1]), (low, high), "step", "cross entropy")
    for step in round_numbers(0, steps[-1]):
        plot.tick_x(step, f"{step:,.0f}")
    for loss in round_numbers(low, high, 5):
        plot.tick_y(loss, f"{loss:.3g}")
    plot.line(zip(steps, losses, strict=True), "curve faint")
    plot.line(zip(steps, means, strict=True), "curve")
    plot.dot((steps[-1], means[-1]), 8, f"{means[-1]:.3f}")
    return plot.html("plot")


def score_rows(title, note, scores):
    """A line a metric, the best marked: all that are equal as they are shown."""
    html = (f'<tbody><tr><th class="name" colspan="{len(scores) + 1}" scope="rowgroup">{escape(title)} '
            f"<small>{escape(note)}</small></th></tr>")
    for metric, words in METRICS.items():
        shown = [f"{values[metric]:.3f}" for values in scores.values()]
        best = (min if metric in LOWER_IS_BETTER else max)(shown, key=float)
        cells = (f'<td class="best"><strong>{value}</strong></td>' if value == best else f"<td>{value}</td>"
                 for value in shown)
        html += f'<tr><th scope="row">{words}</th>{"".join(cells)}</tr>'
    return html + "</tbody>"


def scores_html(results):
    names = list(results["said"])
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = ""
    for table, scores in results["scores"].items():
        note = "{rows} rows, {features} columns, {classes} classes".format(**results["tables"][table])
        body += score_rows(table, note, scores)
    of_tables = results["scores"].values()
    means = {name: {metric: sum(scores[name][metric] for scores in of_tables) / len(of_tables)
                    for metric in METRICS}
             for name in names}  # fmt: skip
    body += score_rows("mean", "of the tables", means)
    return f"<table><thead><tr><td></td>{head}</tr></thead>{body}</table>"


def reliability_html(name, said):
    """Two plots of one axis: how often it was right, and of how many rows it was that sure."""
    bins = reliability(said)
    error = calibration_error(bins)
    most = max(b.count for b in bins)
    plot = Plot(f"{name}: calibration error {error:.3f}", (0, 1), (0, 1), "", "right")
    counts = Plot(f"{name}: up to {most} rows a tenth", (0, 1), (0, most), "sure", "rows")
    for share in (0, 0.25, 0.5, 0.75, 1):
        plot.tick_y(share, f"{share:.0%}")
        counts.tick_x(share, f"{share:.0%}")
    counts.tick_y(most, f"{most}")
    plot.line([(0, 0), (1, 1)], "ideal")
    plot.line([(b.said, b.right) for b in bins], "curve thin")
    for b in bins:
        told = f"{b.count} rows: {b.said:.0%} sure, {b.right:.0%} right"
        plot.dot((b.said, b.right), 4 + 16 * (b.count / len(said)) ** 0.5, told)
        counts.bar(b.low, b.high, b.count, told)
    return (f"<figure><figcaption><b>{escape(name)}</b> error {error:.3f} over {len(said)} rows</figcaption>"
            f"{plot.html('plot square')}{counts.html('plot strip')}</figure>")


def command_html(command):
    """Broken between options only."""
    words = escape(shlex.join(command)).replace(" --", "</span> <span>--")
    return f"<code><span>{words}</span></code>"


def beyond(tables, features):
    """Which tables have more columns than any that the model learned on, in words."""
    most = int(features.split(":")[-1])
    wider = [f"{name} ({table['features']})" for name, table in tables.items() if table["features"] > most]
    words = " and ".join([", ".join(wider[:-1]), wider[-1]] if len(wider) > 1 else wider)
    return f"It learned on tables of up to {most} columns; wider than those: {words}." if wider else ""


def device_name(info, asked):
    names = {device["device"]: device["name"] for device in info["devices"]}
    where = {"auto": "cuda:0" if "cuda:0" in names else "cpu", "cuda": "cuda:0"}.get(asked, asked)
    return f"{names[where]}, {info['cpu_threads']} threads" if where == "cpu" else names[where]


def render(out, results, *, info, device, settings, commands):
    """The page of the run in out/run, made on `device` with these settings; `commands` make it again."""
    log = [json.loads(line) for line in (out / "run" / "log.jsonl").read_text().splitlines()]
    weights = cw.models.load_tabular(out / "run" / "model.safetensors").state_dict().values()
    last = log[-1]
    facts = {
        "training": f"{last['seconds']:.0f} s", "steps": f"{last['step']:,}",
        "datasets": f"{last['datasets']:,.0f}", "parameters": f"{sum(w.size for w in weights):,}",
        "last loss": f"{last['loss']:.3f}", "on": device_name(info, device),
    }  # fmt: skip
    compared = [name for name in (THIS_RUN, PACKAGED, FOREST) if name in results["said"]]
    return Template((Path(__file__).parent / "page.html").read_text()).substitute(
        seconds=f"{last['seconds']:.0f}",
        facts=facts_html(facts),
        loss=loss_html(log),
        splits=results["splits"],
        scores=scores_html(results),
        packaged="" if PACKAGED in compared else "<p>There are no packaged weights to compare with.</p>",
        beyond=beyond(results["tables"], settings["features"]),
        reliability="".join(reliability_html(name, results["said"][name]) for name in compared),
        gallery=escape((out / "gallery.html").read_text()),
        settings=facts_html({name.replace("-", " "): str(value) for name, value in settings.items()}),
        commands="".join(map(command_html, commands)),
    )
