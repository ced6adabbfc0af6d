"""What a training run is made of: the same recipe and data give the same weights."""

from dataclasses import asdict, dataclass

import torch


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the numbers of a run, apart from the data and the machine."""

    model: str
    data: str
    epochs: int = 45
    seed: int = 0
    batch: int = 128
    lr: float = 0.15  # the peak
    momentum: float = 0.9
    weight_decay: float = 5e-4  # on weights of two and more axes; norms and biases are left alone
    schedule: str = "one-cycle"
    rise: float = 0.2  # share of a one-cycle schedule that is spent on the way up
    crop: int = 4  # pixels of padding around a random crop; 0 for none
    flip: bool = True
    precision: str = "bfloat16"

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "lr"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, not {getattr(self, name)}")
        for name in ("seed", "momentum", "weight_decay", "crop"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must be 0 or more, not {getattr(self, name)}")
        if self.precision not in ("bfloat16", "float32"):
            raise ValueError(f"precision must be bfloat16 or float32, not {self.precision!r}")

    def command(self) -> str:
        """The command line that runs this recipe."""
        flip = "--flip" if self.flip else "--no-flip"
        options = {name.replace("_", "-"): value for name, value in asdict(self).items() if name != "flip"}
        return f"tent train {' '.join(f'--{name} {value}' for name, value in options.items())} {flip} --out FOLDER"

    def differences(self, other: dict[str, object]) -> list[str]:
        """What another recipe, as a dictionary, has that this one has not."""
        mine = asdict(self)
        names = [name for name in {**mine, **other} if mine.get(name) != other.get(name)]
        return [f"{name} {other.get(name)} there, {mine.get(name)} here" for name in names]


def best_precision(device: torch.device) -> str:
    """bfloat16 where the device multiplies in it, float32 elsewhere."""
    if device.type == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    return "bfloat16" if torch.ops.mkldnn._is_mkldnn_bf16_supported() else "float32"
