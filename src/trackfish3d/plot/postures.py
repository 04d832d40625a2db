"""How bodies are held: pitch, bend, the way to the tail in front, and beats of the tail, over time."""

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

MOST = 8  # animals that are drawn


def postures(table: pa.Table, beats: pa.Table | None, fps: float, units: str) -> Figure:
    """Draw postures over time, each with a band of one sigma.

    Parameters
    ----------
    table : of `trackfish3d.behaviour`, a row for every pose.
    beats : a row for every stretch of tail beats, or None.
    fps : frames a second.
    units : of length.
    """
    angles = [n for n in table.column_names if n.startswith("angle_")]
    rows = [
        ("pitch_rad", "pitch, degrees"),
        ("bend_rad", "bend, degrees"),
        (f"to_tail_{units}", f"head to tail, {units}"),
    ]
    rows += [(n, f"{n[6:-4].replace('_', ' ')}, degrees") for n in angles]
    rows = [(name, label) for name, label in rows if name in table.column_names]
    extra = beats is not None and beats.num_rows > 0
    figure = Figure(figsize=(10, 2.1 * (len(rows) + extra) + 0.6), layout="constrained")
    axes = figure.subplots(len(rows) + extra, 1, sharex=True, squeeze=False)[:, 0]
    track, frame = table["track"].to_numpy(), table["frame"].to_numpy()
    names, count = np.unique(track, return_counts=True)
    shown = np.sort(names[np.argsort(-count, kind="stable")][:MOST])
    for axis, (name, label) in zip(axes, rows, strict=False):
        scale = np.degrees(1.0) if name.endswith("_rad") else 1.0
        value, sigma = scale * table[name].to_numpy(), scale * table[f"sigma_{name}"].to_numpy()
        for k, animal in enumerate(shown):
            mine = track == animal
            time = frame[mine] / fps
            axis.plot(time, value[mine], color=f"C{k}", linewidth=1, label=f"track {animal}")
            low, high = value[mine] - sigma[mine], value[mine] + sigma[mine]
            axis.fill_between(time, low, high, color=f"C{k}", alpha=0.2, linewidth=0)
        axis.set_ylabel(label)
    if extra:
        assert beats is not None
        whose = beats["track"].to_numpy()
        middle = 0.5 * (beats["first_frame"].to_numpy() + beats["last_frame"].to_numpy()) / fps
        for k, animal in enumerate(shown):
            mine = whose == animal
            axes[-1].errorbar(
                middle[mine],
                beats["beat_hz"].to_numpy()[mine],
                beats["sigma_beat_hz"].to_numpy()[mine],
                color=f"C{k}",
                marker="o",
                markersize=3,
                linewidth=1,
            )
        axes[-1].set_ylabel("tail beats, Hz")
    axes[-1].set_xlabel("time, s")
    if len(rows):
        axes[0].legend(loc="upper right", ncols=4, fontsize="small", frameon=False)
    more = len(names) - len(shown)
    if more > 0:
        figure.suptitle(f"the {len(shown)} animals with most poses; {more} more are in the table", fontsize="medium")
    return figure
