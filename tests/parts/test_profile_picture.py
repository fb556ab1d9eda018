"""The words of a profile."""

from types import SimpleNamespace

from lhkit.parts.profile_picture import profile_words


def test_a_profile_names_no_folder():
    worst = SimpleNamespace(layer="", distance_ns=10.0, part=SimpleNamespace(name="part_1"))
    profile = SimpleNamespace(name="/home/me/mlp.mlir", kernel_ns=100.0, parts_ns=90.0, ranked=(worst,))
    assert profile_words(profile).startswith("mlp.mlir: 100 ns a call") and "/" not in profile_words(profile)
