"""The page: components, and which handler runs when. Wiring only."""

import json
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.components import Component

from facefusion_ui.presets import preset_names
from facefusion_ui.samples import astronaut_path, hopper_path
from facefusion_ui.settings import Settings, option
from facefusion_ui.ui import handlers, texts
from facefusion_ui.ui.controls import make_control, shown_fields, shown_value
from facefusion_ui.ui.handlers import Desk, View

STYLE = Path(__file__).with_name("style.css")
SHOW_RESULT = "() => document.getElementById('status').scrollIntoView({block: 'nearest'})"
STOPPING = "() => ({})".format(
    json.dumps({"__type__": "update", "value": texts.STOPPING, "interactive": False})
)
KEPT_S = 24 * 3600  # how long files of visitors stay while the program runs


def build_page(desk: Desk) -> gr.Blocks:
    """Return the page, its controls set to the desk's defaults, with the sample pair loaded."""
    controls: dict[str, Component] = {}

    def add(names: list[str]) -> None:
        for name in names:
            controls[name] = make_control(name, getattr(desk.defaults, name), desk.registry.store)

    page: gr.Blocks = gr.Blocks(
        title=texts.TITLE, analytics_enabled=False, delete_cache=(3600, KEPT_S), fill_width=True
    )
    with page:
        gr.Markdown(f"# {texts.TITLE}\n{texts.LEAD}", elem_id="head")
        with gr.Row(elem_id="columns"):
            with gr.Column(elem_id="inputs"):
                with gr.Row():
                    with gr.Column(min_width=240):
                        sources = gr.File(
                            value=[str(hopper_path())],
                            file_count="multiple",
                            label=texts.SOURCE,
                            height=132,
                            elem_id="sources",
                        )
                        faces = gr.Gallery(
                            label=texts.SOURCE,
                            show_label=False,
                            columns=2,
                            height=210,
                            object_fit="contain",
                            interactive=False,
                            buttons=[],
                            elem_id="faces",
                        )
                        faces_note = gr.HTML(texts.SOURCE_HELP, elem_classes="facts")
                    with gr.Column(min_width=240):
                        target = gr.File(
                            value=str(astronaut_path()),
                            label=texts.TARGET,
                            height=132,
                            elem_id="target",
                        )
                        scene = gr.Image(
                            label=texts.TARGET,
                            show_label=False,
                            height=210,
                            interactive=False,
                            buttons=[],
                            elem_id="scene",
                        )
                        scene_note = gr.HTML(texts.TARGET_HELP, elem_classes="facts")
                with gr.Row():
                    swap = gr.Button(texts.SWAP, variant="primary", scale=3, elem_id="swap")
                    stop = gr.Button(
                        texts.STOP, variant="secondary", scale=1, interactive=False, elem_id="stop"
                    )
                with gr.Row():
                    preset = gr.Dropdown(
                        preset_names(),
                        value=desk.preset,
                        label=texts.PRESET,
                        info=texts.PRESET_HELP,
                        elem_id="preset",
                    )
                with gr.Row():
                    add(shown_fields(basic=True))
            with gr.Column(elem_id="result"):
                status = gr.HTML(handlers.status_html(texts.READY), elem_id="status")
                live = gr.Image(
                    label=texts.NEWEST,
                    show_label=False,
                    interactive=False,
                    visible=False,
                    buttons=[],
                    elem_id="live",
                )
                pair = gr.ImageSlider(
                    label=texts.BEFORE_AFTER,
                    interactive=False,
                    format="png",
                    max_height=540,
                    slider_position=30,  # percent: most of what is seen is the result
                    visible=False,
                    elem_id="pair",
                )
                player = gr.HTML(handlers.EMPTY, elem_id="player")
                messages = gr.HTML(elem_id="messages")
                files = gr.File(
                    label=texts.DOWNLOAD,
                    file_count="multiple",
                    interactive=False,
                    visible=False,
                    elem_id="files",
                )
            with gr.Column(elem_id="more"):
                others = shown_fields(basic=False)
                for group, title in texts.GROUPS.items():
                    with gr.Accordion(title, open=False):
                        add([n for n in others if option(Settings.model_fields[n]).group == group])

                with gr.Accordion(texts.MACHINE, open=False, elem_id="machine"):
                    memory = gr.HTML(elem_id="memory")
                    free = gr.Button(texts.FREE_NOW, elem_id="free")
        outputs = [status, live, pair, player, files, messages, swap, stop]

        def on_swap(
            source_files: list[str] | None,
            target_file: str | None,
            name: str | None,
            *values: Any,
        ) -> Generator[list[Any], None, None]:
            given = dict(zip(controls, values, strict=True))
            with closing(handlers.swap(desk, source_files, target_file, given, name)) as views:
                for view in views:
                    yield updates(view)

        def show_memory() -> str:
            return handlers.memory_html(desk)

        quick: dict[str, Any] = {
            "queue": False,
            "show_progress": "hidden",
            "api_visibility": "private",
        }
        swap.click(
            lambda: updates(View(status=handlers.status_html(texts.WAITING), running=True)),
            None,
            outputs,
            **quick,
        )
        swapping = swap.click(
            on_swap,
            [sources, target, preset, *controls.values()],
            outputs,
            concurrency_limit=1,
            show_progress="hidden",
            trigger_mode="once",
            api_name="swap",
        )
        swap.click(None, js=SHOW_RESULT)
        stop.click(None, None, stop, js=STOPPING)
        stop.click(None, cancels=[swapping])  # takes it out of the queue, or closes its generator
        swapping.failure(stopped, None, outputs, **quick)  # runs when the cancelling is over
        shown: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
        latest = shown | {"trigger_mode": "always_last"}  # "once" forgets a file chosen meanwhile
        gr.on([page.load, sources.change], on_sources, sources, [faces, faces_note], **latest)
        gr.on([page.load, target.change], on_target, target, [scene, scene_note], **latest)
        page.load(show_memory, None, memory, **shown)
        swapping.then(show_memory, None, memory, **shown)
        free.click(lambda: on_free(desk), None, memory, **shown)
        preset.input(
            lambda name: on_preset(name, list(controls)), preset, list(controls.values()), **shown
        )
    return page


def on_free(desk: Desk) -> str:
    """Close all models; return what the panel says then."""
    said = texts.FREED if desk.release() else texts.NOT_FREED
    return f"<p>{said}</p>{handlers.memory_html(desk)}"


def on_preset(name: str, fields: list[str]) -> list[Any]:
    """Return what each control becomes with a preset."""
    values = handlers.preset_controls(name)
    return [
        gr.update(value=shown_value(field, values[field])) if field in values else gr.skip()
        for field in fields
    ]


def stopped() -> list[Any]:
    """Return what each output becomes when a job has been stopped."""
    return updates(View(status=handlers.status_html(texts.STOPPED)))


def on_sources(files: list[str] | None) -> list[Any]:
    """Return what the thumbnails and the line below them become."""
    pictures, said = handlers.show_sources(files)
    return [gr.update(value=pictures, visible=bool(pictures)), said]


def on_target(file: str | None) -> list[Any]:
    """Return what the target's preview and the line below it become."""
    picture, said = handlers.show_target(file)
    return [gr.update(value=picture, visible=picture is not None), said]


def updates(view: View) -> list[Any]:
    """Return what each output of a job becomes, in the page's order."""
    return [
        view.status,
        gr.update(value=view.live, visible=view.live is not None),
        gr.update(value=view.pair, visible=view.pair is not None),
        gr.update(value=view.player, visible=view.live is None and view.pair is None),
        gr.update(value=list(view.files) or None, visible=bool(view.files)),
        view.messages,
        gr.update(interactive=not view.running),
        gr.update(value=texts.STOP, interactive=view.running),
    ]


def make_theme() -> gr.themes.Base:
    """Return colours and the system's own fonts: nothing is fetched from elsewhere."""
    return gr.themes.Default(
        primary_hue="teal",
        neutral_hue="slate",
        font=("system-ui", "Segoe UI", "Roboto", "Helvetica Neue", "Arial", "sans-serif"),
        font_mono=("ui-monospace", "Consolas", "monospace"),
    )
