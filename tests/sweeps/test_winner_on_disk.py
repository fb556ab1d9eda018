"""What a sweep declares is on the disk when it says so."""

import os
from pathlib import Path

import lhkit

KNOBS = {"block_m": [32], "block_n": [32], "tile_m": [4, 8], "tile_n": [16]}


def test_records_and_confirmation_are_synced_by_default(tmp_path, monkeypatch):
    synced = []
    original = os.fsync

    def fsync(descriptor):
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        original(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    lhkit.sweep(
        lhkit.payloads.matmul(128, 128, 128),
        "matmul_block_tile_vectorize.mlir",
        knobs=KNOBS,
        store=tmp_path / "s.jsonl",
        confirm_seconds=5,
    )
    assert synced.count("s.jsonl") == 1
    assert "s.confirmed.jsonl" in synced


def test_ranking_at_a_lower_level_keeps_its_records_apart(tmp_path):
    asked = {"knobs": KNOBS, "store": tmp_path / "s.jsonl", "confirm": False}
    payload, schedule = lhkit.payloads.matmul(128, 128, 128), "matmul_block_tile_vectorize.mlir"
    ranked = lhkit.sweep(payload, schedule, rank_level=0, **asked).result()
    full = lhkit.sweep(payload, schedule, **asked).result()
    again = lhkit.sweep(payload, schedule, rank_level=0, **asked).result()
    assert full.known == 0
    assert again.known == 2
    assert {r.environment for r in ranked.records} != {r.environment for r in full.records}


def test_who_was_ranked_low_is_confirmed_at_the_level_asked_for(tmp_path, monkeypatch):
    from lhkit.sweeps import confirmation_run

    levels, compiled = [], confirmation_run.compile_kernel

    def spy(*arguments, **options):
        levels.append(options["opt_level"])
        return compiled(*arguments, **options)

    monkeypatch.setattr(confirmation_run, "compile_kernel", spy)
    lhkit.sweep(
        lhkit.payloads.matmul(128, 128, 128),
        "matmul_block_tile_vectorize.mlir",
        knobs=KNOBS,
        rank_level=0,
        store=tmp_path / "s.jsonl",
        confirm_seconds=5,
    )
    assert set(levels) == {3}
