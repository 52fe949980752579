"""A model of the user's own: an ONNX file in the models folder with a small TOML file beside it."""

import tomllib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from facefusion_ui.cards import Licence, Template, Weights
from facefusion_ui.errors import ModelError
from facefusion_ui.settings import nearest

Colour = tuple[float, float, float]


class OwnModel(BaseModel):
    """What the TOML file says.

    Attributes:
        name: of the file, without its ending; the model's name.
        file: in the models folder.
        size: side of the crop, in pixels.
        mean, std: RGB; the network sees (x / 255 - mean) / std.
        answer: "same": the network's answer is in the range of its input; "unit": it is in 0..1.
        target: name of the input that takes the face.
        source: name of the input that takes the person (swappers).
        source_is: the person's embedding, the same at length one, or a picture of the face.
        source_template, source_size: how that picture is cut; it goes in as 0..1.
        recognizer: whose embedding.
        converter: what turns it into the model's own form; "": nothing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    task: Literal["face_swapper", "face_enhancer"]
    file: str = Field(pattern=r"^[^/\\]+\.onnx$")
    template: Template
    size: int = Field(ge=16, le=4096)
    mean: Colour = (0.0, 0.0, 0.0)
    std: Colour = (1.0, 1.0, 1.0)
    answer: Literal["same", "unit"] = "same"
    target: str = "target"
    source: str = "source"
    source_is: Literal["embedding", "unit embedding", "picture"] = "unit embedding"
    source_template: Template = "arcface_112_v2"
    source_size: int = Field(112, ge=16, le=1024)
    recognizer: str = "arcface"
    converter: str = ""
    summary: str = "a model of your own"
    licence: str = "not stated"
    commercial_use: bool = False

    @property
    def weights(self) -> Weights:
        return Weights(self.file, own=True)

    @property
    def terms(self) -> Licence:
        return Licence(self.licence, self.commercial_use, "")


def read_own(path: Path) -> OwnModel:
    """Read the TOML file at `path`.

    Raises:
        ModelError: it is not TOML, or says what a model's file cannot say.
    """
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
        return OwnModel(**{"name": path.stem, "file": f"{path.stem}.onnx"} | said)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{path.name} is not TOML: {error}", hint=f"Mend {path}.") from error
    except ValidationError as error:
        unknown = [each for each in error.errors() if each["type"] == "extra_forbidden"]
        first = (unknown or error.errors())[0]
        key = str(first["loc"][0])
        hint = f"See models/README.md, and mend {path}."
        if unknown:
            hint = nearest(key, OwnModel.model_fields)
        raise ModelError(f"{path.name}: {key}: {first['msg']}", hint=hint) from error
