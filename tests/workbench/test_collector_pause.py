"""The garbage collector rests while a command is executed, and works again afterwards."""

import gc

import pytest

from lhkit.workbench.jobs import CollectorPause


@pytest.fixture(autouse=True)
def enabled():
    gc.enable()
    yield
    gc.enable()


def test_it_is_off_during_commands_and_on_when_the_hand_rests():
    pause = CollectorPause(rest_s=0)
    pause.begin()
    assert not gc.isenabled()
    pause.end_soon()
    pause.timer.join()
    assert gc.isenabled()


def test_a_command_that_follows_soon_keeps_it_off():
    pause = CollectorPause(rest_s=3600)
    pause.begin()
    pause.end_soon()
    first = pause.timer
    pause.begin()
    first.join()  # it was cancelled
    assert not gc.isenabled()
    pause.end_soon()
    assert pause.timer is not first and pause.timer.is_alive()
    pause.timer.cancel()


def test_a_hand_that_never_rests_does_not_keep_it_off_for_ever():
    pause = CollectorPause(rest_s=3600, most_s=-1)
    pause.begin()
    pause.end_soon()
    pause.timer.join()
    assert gc.isenabled()


def test_who_has_turned_it_off_keeps_it_off():
    gc.disable()
    pause = CollectorPause(rest_s=0)
    pause.begin()
    pause.end_soon()
    assert pause.timer is None and not gc.isenabled()
