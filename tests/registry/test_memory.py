"""Guards the reading of the card: a limit that is passed, a level that comes too late, a card that
is mistaken for another."""

import pynvml
import pytest

from facefusion_ui.registry import memory
from facefusion_ui.registry.memory import DriverReading, Memory, driver_name
from facefusion_ui.registry.virtual_card import VirtualCard

GB = 1_000_000_000


def test_a_limit_is_kept_by_the_programs_own_account() -> None:
    counted = Memory(None)
    assert counted.free_bytes(0) is None
    assert counted.level(0) == "ok"
    counted.limit_bytes = 4 * GB
    assert counted.total_bytes == 4 * GB
    assert counted.free_bytes(GB) == 3 * GB
    assert counted.free_bytes(5 * GB) == 0


def test_the_smaller_of_limit_and_card_holds() -> None:
    card = VirtualCard(2 * GB)
    held = card.hold(GB // 2)
    read = Memory(card)
    assert (read.total_bytes, read.free_bytes(0)) == (2 * GB, 2 * GB - GB // 2)
    read.limit_bytes = GB
    assert (read.total_bytes, read.free_bytes(0)) == (GB, GB)
    read.limit_bytes = 8 * GB
    assert read.total_bytes == 2 * GB
    held.close()


@pytest.mark.parametrize(
    ("total_gb", "held_gb", "level"),
    [
        (8, 0, "ok"),
        (8, 6.7, "ok"),
        (8, 6.9, "tight"),  # 85 %
        (2, 1.6, "tight"),  # less than 512 MB free
        (8, 7.9, "critical"),
        (8, 9, "critical"),
    ],
)
def test_the_level_tells_how_near_the_end_is(total_gb, held_gb, level) -> None:
    counted = Memory(None)
    counted.limit_bytes = int(total_gb * GB)
    assert counted.level(int(held_gb * GB)) == level


@pytest.mark.parametrize(
    ("device_id", "visible", "name"),
    [
        (0, None, 0),
        (1, "", 1),
        (0, "3", 3),
        (1, "2, 0", 0),
        (0, "GPU-5ca1ab1e,GPU-0", "GPU-5ca1ab1e"),
        (5, "1,2", 2),
    ],
)
def test_cudas_number_is_turned_into_the_drivers(device_id, visible, name) -> None:
    assert driver_name(device_id, visible) == name


def test_a_machine_without_a_driver_has_no_reading() -> None:
    try:
        DriverReading(0)
    except pynvml.NVMLError:
        assert memory.RESERVE_BYTES >= 512_000_000
    else:
        pytest.skip("this machine has a card")
