"""Searching a catalogue: a word in the name counts more than one in the documentation."""

from lhkit.model.op_catalogue import Catalogue, CatalogueOp, group_of, sentence_for


def op(name, sentence, documentation="", role="step"):
    return CatalogueOp(
        f"transform.{name}", "x", group_of(f"transform.{name}", role), role, sentence, documentation
    )


CATALOGUE = Catalogue(
    ("host", "1", "0"),
    (
        op("a.reduce", "Splits nothing.", "A reduction is not split here."),
        op("b.split_reduction", "Does it.", ""),
        op("c.tile", "Splits a loop into tiles.", "For a reduction use another one."),
        op("d.pattern_split_reduction", "A set of patterns.", "", "pattern"),
        op("e.other", "Nothing.", "Nothing at all."),
    ),
)


def names(words):
    return [o.short_name for o in CATALOGUE.search(words)]


def test_names_come_before_sentences_and_those_before_documentation():
    assert names("split reduction") == ["b.split_reduction", "d.pattern_split_reduction", "a.reduce", "c.tile"]


def test_every_word_has_to_be_found_somewhere():
    assert names("split banana") == []
    assert names("tiles reduction") == ["c.tile"]


def test_the_beginning_of_a_word_is_enough():
    assert names("redu") == ["a.reduce", "b.split_reduction", "d.pattern_split_reduction", "c.tile"]


def test_no_words_find_nothing():
    assert names("") == []


def test_sentences_are_the_first_of_the_documentation():
    assert sentence_for("transform.x", "Does `this` or\n  that. And more.\n\nLater.") == "Does `this` or that."
    assert sentence_for("transform.x", "Takes e.g. a loop. More.") == "Takes e.g. a loop."
    assert sentence_for("transform.apply_cse", "Other.").startswith("Removes ops that compute")
