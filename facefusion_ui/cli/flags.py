"""What the command line takes: verbs, and a flag per field of Settings."""

import argparse
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ByteSize
from pydantic.fields import FieldInfo

from facefusion_ui import __version__
from facefusion_ui.cli.batch import PLACEHOLDERS
from facefusion_ui.errors import FaceFusionError
from facefusion_ui.presets import fitting_preset, load_preset, preset_names
from facefusion_ui.registry.catalog import card, choices
from facefusion_ui.registry.device import card_bytes
from facefusion_ui.settings import AUTO, Group, Settings, make_settings, nearest, option, values_of

VERBS = {
    "run": "open the page in which all is done by mouse (the default)",
    "headless-run": "change one photo or video",
    "batch-run": "change many, named by patterns",
    "demo": "swap the sample faces, to see that all works",
    "plan": "tell what models a job will run, where, and what of the card's memory they will take",
    "models": "list, fetch, check and remove the models that can be installed",
    "doctor": "tell what of this machine is used, and the cure for what does not work",
}
GROUPS: dict[Group, str] = {
    "paths": "files",
    "face": "faces: which are found and which are chosen",
    "swapping": "swapping",
    "mask": "mask: what of the face is changed",
    "output": "output",
    "machine": "machine",
}
PATHS = ("source_paths", "target_path", "output_path")
BESIDE = "beside the output"  # what --report without a file stands for


class UsageError(FaceFusionError):
    """The command line itself is wrong."""


class Parser(argparse.ArgumentParser):
    """Raises UsageError where argparse would exit, and names the nearest flag."""

    def __init__(self, **details: Any) -> None:
        super().__init__(
            allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **details
        )

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"Run: {self.prog} --help")

    def parse(self, words: list[str]) -> argparse.Namespace:
        """Parse as argparse does; a flag that is not known raises with the nearest name."""
        parsed, unknown = self.parse_known_args(words)
        for word in unknown:
            if word.startswith("-"):
                flag = word.partition("=")[0]
                raise UsageError(f"{flag} is not an option", hint=nearest(flag, self._long_flags()))
        if unknown:
            raise UsageError(f"{unknown[0]} belongs to no option", hint=f"Run: {self.prog} --help")
        return parsed

    def _long_flags(self) -> list[str]:
        return [flag for flag in self._option_string_actions if flag.startswith("--")]


def parse(words: list[str]) -> argparse.Namespace:
    """Return the verb, its own options, and `settings` made of all flags that were given."""
    if not words or (words[0].startswith("-") and words[0] not in ("-h", "--help", "--version")):
        words = ["run", *words]
    verb = words[0]
    if verb in ("-h", "--help"):
        _overview().print_help()
        raise SystemExit(0)
    if verb == "--version":
        print(f"facefusion-ui {__version__}")
        raise SystemExit(0)
    if verb not in VERBS:
        raise UsageError(f"{verb} is not a verb", hint=nearest(verb, list(VERBS)))
    asked = make_parser(verb).parse(words[1:])
    asked.verb = verb
    given = {
        name: tuple(value) if isinstance(value, list) else value
        for name in Settings.model_fields
        if (value := getattr(asked, name, None)) is not None
    }
    asked.beside = given.get("report_path") == BESIDE
    if asked.beside:
        del given["report_path"]
    try:
        if verb not in _BARE:
            given = _preset(asked, make_settings(given)) | given
        asked.settings = make_settings(given)
        for name, value in given.items():
            asks = option(Settings.model_fields[name])
            if asks.task and not (asks.auto and value == AUTO):
                card(str(value), asks.task)
    except FaceFusionError as error:
        raise UsageError(str(error), hint=error.hint) from error
    return asked


def _preset(asked: argparse.Namespace, settings: Settings) -> dict[str, Any]:
    """Return the options of the preset that was asked for, or of the one that fits the card."""
    if asked.preset == AUTO:
        size_bytes = settings.emulate_vram or card_bytes(
            settings.execution_providers[0], settings.execution_device_ids[0]
        )
        asked.preset = fitting_preset(size_bytes)
    return load_preset(asked.preset)


def _overview() -> Parser:
    verbs = "\n".join(f"  {verb:14}{text}" for verb, text in VERBS.items())
    parser = Parser(
        prog="app.py",
        usage="app.py [VERB] [options]",
        description="Swap faces in photos and videos on your own machine.",
        epilog=f"verbs:\n{verbs}\n\nEach verb has its own help, for instance: "
        "app.py headless-run --help",
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    return parser


def make_parser(verb: str) -> Parser:
    """Return the parser of one verb: its own flags, then a flag per field of Settings."""
    text = VERBS[verb]
    parser = Parser(
        prog=f"app.py {verb}",
        usage=f"app.py {verb} {_USAGE[verb]}[options]",
        description=f"{text[0].upper()}{text[1:]}.",
    )
    own = parser.add_argument_group(verb)
    hidden: tuple[str, ...] = PATHS
    if verb == "run":
        own.add_argument("--port", type=_port, metavar="PORT", help=_PORT_HELP)
        own.add_argument("--host", default="127.0.0.1", help=_HOST_HELP)
        own.add_argument("--open-browser", action="store_true", help="open the page in a browser")
        hidden = (*PATHS, "report_path")
    elif verb == "batch-run":
        own.add_argument("-s", "--source-pattern", nargs="+", metavar="PATTERN", help=_SOURCE_HELP)
        own.add_argument(
            "-t", "--target-pattern", nargs="+", required=True, metavar="PATTERN", help=_TARGET_HELP
        )
        own.add_argument(
            "-o", "--output-pattern", required=True, metavar="PATTERN", help=_OUTPUT_HELP
        )
    elif verb == "demo":
        own.add_argument(
            "-o", "--output-path", dest="folder", type=Path, default=Path("outputs/demo"),
            metavar="FOLDER", help="where the results are written (default: outputs/demo)",
        )  # fmt: skip
        own.add_argument("--picture", type=Path, metavar="FILE", help=_PICTURE_HELP)
    elif verb == "plan":
        own.add_argument("--json", action="store_true", help="tell it to a program, as JSON")
        hidden = ("output_path", "report_path")
    elif verb in _BARE:
        if verb == "models":
            own.add_argument("action", choices=list(ACTIONS), help=_ACTION_HELP)
            own.add_argument("names", nargs="*", metavar="NAME", help="models")
            own.add_argument("--accept-licence", action="store_true", help=_ACCEPT_HELP)
            own.add_argument("--fp16", action="store_true", help=_FP16_HELP)
        own.add_argument("--json", action="store_true", help="tell it to a program, as JSON")
        hidden = tuple(name for name in Settings.model_fields if name not in _PLACES)
    else:
        hidden = ()
    if verb not in _BARE:
        own.add_argument("--preset", metavar="NAME", default=AUTO, help=_preset_help())
    sections = {group: parser.add_argument_group(title) for group, title in GROUPS.items()}
    for name, field in Settings.model_fields.items():
        if name not in hidden:
            _add_flag(sections[option(field).group], name, field)
    return parser


_USAGE = {
    "run": "",
    "headless-run": "-s SOURCE ... -t TARGET -o OUTPUT ",
    "batch-run": "-s PATTERN ... -t PATTERN ... -o PATTERN ",
    "demo": "",
    "plan": "-s SOURCE ... -t TARGET ",
    "models": "ACTION [NAME ...] ",
    "doctor": "",
}
ACTIONS = {
    "list": "all, with size, licence and state",
    "show": "what is known of the named ones",
    "download": "fetch the named ones and those they cannot do without",
    "verify": "check the files of the named ones, or of all that are installed",
    "remove": "delete the files of the named ones",
    "convert": "make the ONNX edition of a .pth file ahead, or with --fp16 one in half precision",
}
_ACTION_HELP = "; ".join(f"{action}: {text}" for action, text in ACTIONS.items())
_ACCEPT_HELP = "the licences that restrict the use of the models have been read and are accepted"
_FP16_HELP = "with convert: in half precision, kept only if it paints the same"
_BARE = ("models", "doctor")  # verbs that run no job
_PLACES = ("models_path", "unverified_models", "log_level")
_PORT_HELP = "port of the page (default: 7860, or the next one that is free)"
_HOST_HELP = (
    "address the page is bound to (default: 127.0.0.1, this machine alone); with another one, "
    "everybody who reaches it can use the page"
)
_SOURCE_HELP = "source pictures, as glob patterns in quotes; each is put on each target"
_TARGET_HELP = "photos and videos to change, as glob patterns in quotes"
_OUTPUT_HELP = (
    "name of each output, for instance 'out/{source_name}-{target_name}{target_extension}'; "
    f"known: {' '.join(f'{{{name}}}' for name in PLACEHOLDERS)}; the index counts from 0"
)
_PICTURE_HELP = "also write source, target and result side by side as this picture"


def _preset_help() -> str:
    return (
        "options that fit a card, which your own flags override; "
        f"one of: auto, {', '.join(preset_names())} (default: auto, by the card's size)"
    )


def _add_flag(section: Any, name: str, field: FieldInfo) -> None:
    """Add the flag of one field; values stay as typed, so that Settings judges them."""
    choice, takes = option(field), values_of(field)
    flags = [f"--{name.replace('_', '-')}"]
    if choice.short:
        flags.insert(0, f"-{choice.short}")
    details: dict[str, Any] = {"dest": name, "help": help_text(name, field).replace("%", "%%")}
    if takes.kind is int:
        details["type"] = _number
    if takes.count != 1:
        details["nargs"] = takes.count or "+"
    if takes.kind is bool:
        section.add_argument(*flags, **details, action=argparse.BooleanOptionalAction)
        return
    if takes.kind is Path:
        details["metavar"] = "FILE"
    elif takes.kind is ByteSize:
        details["metavar"] = "SIZE"
    elif takes.choices or choice.task:
        details["metavar"] = "NAME" if takes.kind is str else "N"
    else:
        details["metavar"] = "N"
    if name == "report_path":
        flags.insert(0, "--report")
        details |= {"nargs": "?", "const": BESIDE}
        details["help"] += "; without FILE: beside each output, as OUTPUT.json"
    section.add_argument(*flags, **details)


def help_text(name: str, field: FieldInfo) -> str:
    """Return a field's description with its choices or range, and its default.

    >>> help_text("face_mask_blur", Settings.model_fields["face_mask_blur"])
    "softness of the box mask's edge (0 to 1, default: 0.3)"
    """
    takes, asks = values_of(field), option(field)
    facts = []
    known = choices(asks) if asks.task else takes.choices
    if known:
        facts.append(f"one of: {', '.join(map(str, known))}")
    if takes.low is not None and takes.high is not None:
        facts.append(f"{'above ' if takes.low_open else ''}{takes.low:g} to {takes.high:g}")
    elif takes.low is not None:
        facts.append(f"{takes.low:g} or more")
    default = field.default
    if isinstance(default, tuple):
        default = " ".join(map(str, default))
    if default not in (None, ""):
        facts.append(f"default: {default}")
    return f"{field.description} ({', '.join(facts)})" if facts else str(field.description)


def _number(word: str) -> int | str:
    """Return `word` as a number if it is one; Settings complains about the rest."""
    try:
        return int(word)
    except ValueError:
        return word


def _port(word: str) -> int:
    if not word.isdecimal() or not 0 < int(word) < 65536:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, got {word}")
    return int(word)
