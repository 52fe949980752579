"""How long each stage of the embedded engine takes on the sample pair: python -m benchmarks.engine.

Seconds depend on the machine, shares hardly: compare the shares, and the whole in units of reading
and writing the same frames, between two states of the code.
"""

import tempfile
from pathlib import Path

from facefusion_ui.events import Done
from facefusion_ui.processor.jobs import run_job
from facefusion_ui.registry.registry import Registry
from facefusion_ui.report import Report
from facefusion_ui.samples import astronaut_path, hopper_path, make_sample_clip
from facefusion_ui.settings import Settings, make_settings

MEDIA = ("read", "write")


def main() -> None:
    """Run each job twice, and print the stages of the second, when all models are open."""
    with tempfile.TemporaryDirectory() as name, Registry(("auto",)) as registry:
        folder = Path(name)
        clip = folder / "clip.mp4"
        make_sample_clip(clip)
        jobs = [
            ("photo", hopper_path(), astronaut_path(), folder / "photo.png"),
            ("video", hopper_path(), clip, folder / "video.mp4"),
        ]
        for title, source, target, output in jobs:
            paths = {"source_paths": [source], "target_path": target, "output_path": output}
            settings = make_settings(paths)
            run(settings, registry)
            show(title, run(settings, registry))


def run(settings: Settings, registry: Registry) -> Report:
    """Do one job and return its report."""
    (report,) = [event.report for event in run_job(settings, registry) if isinstance(event, Done)]
    return report


def show(title: str, report: Report) -> None:
    """Print the stages, the longest first."""
    per_frame_ms = 1000 * report.total_seconds / report.frames
    print(f"{title}: {report.frames} frames, {per_frame_ms:.0f} ms each, on {report.device}")
    stages = dict(report.seconds)
    stages["the rest"] = report.total_seconds - sum(stages.values())
    for stage, seconds in sorted(stages.items(), key=lambda item: -item[1]):
        print(f"  {stage:18} {seconds / report.total_seconds:6.1%}")
    media_s = sum(report.seconds[stage] for stage in MEDIA)
    print(f"  all of it is {report.total_seconds / media_s:.1f} times reading and writing")
    print(f"  peak memory {report.peak_memory_bytes / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
