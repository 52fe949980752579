"""Networks of true size with random weights: python -m benchmarks.standins [NAME ...].

Memory and speed depend on shapes alone, so these stand in for models whose weights may not be
handed on. They are built once, into a folder outside git, and are of no other use: what they paint
is noise.
"""

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn

from facefusion_ui.cards import TorchCode
from facefusion_ui.enhancers import codeformer as codeformer_card
from facefusion_ui.enhancers import gfpgan
from facefusion_ui.media.files import write_whole
from facefusion_ui.registry.half import write_half
from facefusion_ui.registry.torch_network import write_onnx
from facefusion_ui.upscalers import real_esrgan

FOLDER = Path(__file__).parents[1] / ".standins"
OPSET = 17


class ModulatedBlock(nn.Module):
    """Two 3x3 convolutions, each normalised and then scaled and shifted by the source."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(channels, channels, 3) for _ in range(2))
        self.norms = nn.ModuleList(nn.InstanceNorm2d(channels) for _ in range(2))
        self.styles = nn.ModuleList(nn.Linear(512, 2 * channels) for _ in range(2))

    def forward(self, x: Tensor, source: Tensor) -> Tensor:
        y = x
        for conv, norm, style in zip(self.convs, self.norms, self.styles, strict=True):
            y = norm(conv(nn.functional.pad(y, (1, 1, 1, 1), "reflect")))
            scale, shift = style(source)[..., None, None].chunk(2, dim=1)
            y = torch.relu(y * scale + shift)
        return x + y


class InSwapper(nn.Module):
    """`inswapper_128`: 138 M parameters, six blocks of 1024 channels on 32x32."""

    def __init__(self) -> None:
        super().__init__()
        act = nn.LeakyReLU(0.2)
        down = [(3, 128, 7, 1), (128, 256, 3, 1), (256, 512, 3, 2), (512, 1024, 3, 2)]
        up = [(1024, 512), (512, 256), (256, 128)]
        self.down = nn.Sequential()
        for inputs, outputs, side, stride in down:
            self.down.append(nn.Conv2d(inputs, outputs, side, stride, side // 2))
            self.down.append(act)
        self.blocks = nn.ModuleList(ModulatedBlock(1024) for _ in range(6))
        self.up = nn.Sequential()
        for number, (inputs, outputs) in enumerate(up):
            if number < 2:
                self.up.append(nn.Upsample(scale_factor=2, mode="bilinear"))
            self.up.append(nn.Conv2d(inputs, outputs, 3, 1, 1))
            self.up.append(act)
        self.up.append(nn.Conv2d(128, 3, 7, 1, 3))

    def forward(self, target: Tensor, source: Tensor) -> Tensor:
        x = self.down(target)
        for block in self.blocks:
            x = block(x, source)
        return (torch.tanh(self.up(x)) + 1) / 2


class ArcFace(nn.Module):
    """`w600k_r50`: a residual network of 43 M parameters on 112x112, 512 numbers out."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 64, 3, 1, 1)
        self.blocks = nn.ModuleList()
        before = 64
        for channels, count in ((64, 3), (128, 4), (256, 14), (512, 3)):
            for number in range(count):
                stride = 2 if number == 0 else 1
                body = nn.Sequential(
                    nn.Conv2d(before, channels, 3, 1, 1),
                    nn.PReLU(channels),
                    nn.Conv2d(channels, channels, 3, stride, 1),
                )
                skip = nn.Conv2d(before, channels, 1, stride) if stride == 2 else nn.Identity()
                self.blocks.append(nn.ModuleList([body, skip]))
                before = channels
        self.head = nn.Linear(512 * 7 * 7, 512)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for pair in self.blocks:
            body, skip = pair.children()
            x = 0.5 * (body(x) + skip(x))
        return self.head(x.flatten(1))  # type: ignore[no-any-return]


class Scrfd(nn.Module):
    """`det_10g`: about 4 M parameters and 10 GFLOP at 640x640, nine outputs at three strides."""

    def __init__(self) -> None:
        super().__init__()
        widths = (28, 56, 120, 120, 288)
        counts = (1, 3, 5, 4, 4)
        stages, before = [], 3
        for width, count in zip(widths, counts, strict=True):
            layers: list[nn.Module] = []
            for number in range(count):
                layers += [nn.Conv2d(before, width, 3, 2 if number == 0 else 1, 1), nn.ReLU()]
                before = width
            stages.append(nn.Sequential(*layers))
        self.stages = nn.ModuleList(stages)
        self.lateral = nn.ModuleList(nn.Conv2d(width, 56, 1) for width in widths[2:])
        self.towers = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(56, 80, 3, 1, 1), nn.ReLU(), nn.Conv2d(80, 80, 3, 1, 1), nn.ReLU()
            )
            for _ in range(3)
        )
        self.heads = nn.ModuleList(
            nn.ModuleList(nn.Conv2d(80, 2 * count, 3, 1, 1) for count in (1, 4, 10))
            for _ in range(3)
        )

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        maps = []
        for number, stage in enumerate(self.stages):
            x = stage(x)
            if number >= 2:
                maps.append(self.lateral[number - 2](x))
        outputs = []
        for tower, heads, seen in zip(self.towers, self.heads, maps, strict=True):
            worked = tower(seen)
            outputs += [head(worked) for head in heads.children()]
        return tuple(outputs)


def inswapper_128(path: Path) -> None:
    export(InSwapper(), path, {"target": (1, 3, 128, 128), "source": (1, 512)})
    model = onnx.load(path)
    emap = torch.randn(512, 512).numpy()
    model.graph.initializer.append(numpy_helper.from_array(emap, "buff2fs"))
    write_whole(path, [model.SerializeToString()])


def inswapper_128_fp16(path: Path) -> None:
    """Write the swapper in half precision, with float32 inputs and outputs as the true file."""
    write_half(standin("inswapper_128"), path)


def w600k_r50(path: Path) -> None:
    export(ArcFace(), path, {"input.1": (1, 3, 112, 112)})


def det_10g(path: Path) -> None:
    export(Scrfd(), path, {"input.1": (1, 3, 640, 640)}, free={"input.1": {2: "h", 3: "w"}})


def gfpgan_1_4(path: Path) -> None:
    network = gfpgan.make()
    for module in network.modules():
        if type(module).__name__ == "StyleConv":  # else it would not matter whether it paints noise
            nn.init.constant_(module.weight, 0.1)
    convert(path, network, gfpgan.CODE)


def codeformer(path: Path) -> None:
    convert(path, codeformer_card.make(), codeformer_card.CODE)


def real_esrgan_x2(path: Path) -> None:
    (card,) = (card for card in real_esrgan.CARDS if card.name == "real_esrgan_x2")
    assert card.torch
    convert(path, real_esrgan.make_large(scale=2), card.torch)


def convert(path: Path, network: nn.Module, code: TorchCode) -> None:
    """Write `network` as a .pth file beside `path`, and to `path` as the program converts it."""
    weights = path.with_suffix(".pth")
    torch.save({"params_ema": network.state_dict()}, weights)
    write_onnx(weights, code, path)


BUILD: dict[str, Callable[[Path], None]] = {
    build.__name__: build
    for build in (
        inswapper_128,
        inswapper_128_fp16,
        w600k_r50,
        det_10g,
        gfpgan_1_4,
        codeformer,
        real_esrgan_x2,
    )
}


def standin(name: str) -> Path:
    """Return the path of a stand-in, built if it is not there yet."""
    path = FOLDER / f"{name}.onnx"
    if not path.is_file():
        FOLDER.mkdir(exist_ok=True)
        half = path.with_suffix(".part")
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the packages that are imported only here
            BUILD[name](half)
        half.replace(path)
    return path


def export(
    network: nn.Module,
    path: Path,
    inputs: dict[str, tuple[int, ...]],
    free: dict[str, dict[int, str]] | None = None,
) -> None:
    """Write `network` as ONNX; `free` names the sides of an input that may have any length."""
    examples = tuple(torch.rand(shape) for shape in inputs.values())
    with torch.inference_mode(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tracer's, on constants it keeps
        torch.onnx.export(
            network.eval(),
            examples,
            str(path),
            input_names=list(inputs),
            opset_version=OPSET,
            dynamo=False,
            dynamic_axes=free,
        )


if __name__ == "__main__":
    for wanted in sys.argv[1:] or BUILD:
        found = standin(wanted)
        print(f"{found}: {found.stat().st_size / 1e6:.0f} MB")
