"""The losses of a training run as a picture."""

from pathlib import Path

from ....core.drawing import plain_text
from ....core.files import atomic_path


@plain_text
def draw_log(log: list[dict[str, float]], path: Path) -> None:
    """Draw total and parts over epochs, one panel each."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6), layout="constrained")
    axes = figure.subplots(2, 2).ravel()
    epochs = [row["epoch"] for row in log]
    for axis, name in zip(axes, ("loss", "association", "contrastive", "temporal"), strict=True):
        axis.plot(epochs, [row[name] for row in log], color="#0072b2", lw=1.5)
        axis.set_title(name, fontsize=11)
        axis.set_xlabel("epoch")
        axis.grid(alpha=0.3)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=90)
