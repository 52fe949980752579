"""Guards against memory that grows with every job, until a page that runs for a week is killed."""

import gc

import cv2
import psutil
import pytest

from facefusion_ui.events import Done
from facefusion_ui.processor.jobs import run_job
from facefusion_ui.registry.registry import Registry
from facefusion_ui.settings import make_settings

JOBS = 300
GROWTH_BYTES = 50_000_000


@pytest.mark.slow
def test_300_jobs_in_one_process_take_no_more_than_the_first(astronaut, hopper, tmp_path) -> None:
    source, target = tmp_path / "source.png", tmp_path / "target.png"
    cv2.imwrite(str(source), cv2.resize(hopper[60:440, 100:420], (160, 190)))
    cv2.imwrite(str(target), cv2.resize(astronaut[20:260, 130:340], (140, 160)))
    settings = make_settings(
        {"source_paths": [source], "target_path": target, "output_path": tmp_path / "out.png"}
    )
    process, used = psutil.Process(), []
    with Registry(("cpu",), emulate_bytes=100_000_000) as registry:
        for number in range(JOBS):
            *_, done = run_job(settings, registry)
            assert isinstance(done, Done)
            assert done.report.faces_swapped == 1
            if number % 20 == 2:
                registry.release_all()
                assert registry.free_bytes == 100_000_000
            if number in (2, JOBS - 1):
                gc.collect()
                used.append(process.memory_info().rss)
    assert used[1] - used[0] < GROWTH_BYTES
