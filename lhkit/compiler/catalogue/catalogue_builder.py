"""The catalogue of transform ops, asked of the bindings and of the compiler itself."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from lhkit.compiler.catalogue.catalogue_classless import classless_skeletons
from lhkit.compiler.catalogue.catalogue_kinds import attribute_spec, elided_bool
from lhkit.compiler.catalogue.catalogue_passes import registered_passes
from lhkit.compiler.catalogue.corrections import ASSEMBLIES, REGION_KINDS, REGIONS, STARTS, STRUCTURAL
from lhkit.compiler.catalogue.form_reader import attribute_value
from lhkit.compiler.catalogue.op_classes import Skeleton, skeletons
from lhkit.compiler.catalogue.op_examples import with_examples
from lhkit.compiler.catalogue.op_queries import (
    ANY_OP,
    Trial,
    ask_constraints,
    first_trial,
    kinds_of,
    required_attributes,
    role_of,
    scratch_op,
    settle,
    type_for,
)
from lhkit.compiler.extension.own_op_registry import known_ops
from lhkit.compiler.ir.bindings import HOST, ir, new_context
from lhkit.model.bindings_host import host_version
from lhkit.model.op_catalogue import (
    AttributeSpec,
    Catalogue,
    CatalogueOp,
    OperandSpec,
    RegionKind,
    RegionSpec,
    ResultSpec,
    Role,
)
from lhkit.model.op_words import group_of, sentence_for
from lhkit.model.own_catalogue import catalogue_op


@functools.cache
def introspect(lhkit_version: str) -> Catalogue:
    """Return the catalogue of the bindings that are installed."""
    found, specs = _described_ops(), op_specs()
    with new_context():
        ops = tuple(with_examples(op, trial, specs) for op, trial in found.values())
        passes = registered_passes()
    return Catalogue((HOST, host_version(HOST), lhkit_version), ops, passes)


def op_specs() -> Mapping[str, CatalogueOp]:
    """Return the catalogue's ops by name, without examples, and those that are defined in Python."""
    own = {op.name: catalogue_op(op) for op in known_ops()}
    return {name: op for name, (op, _) in _described_ops().items()} | own


@functools.cache
def _described_ops() -> Mapping[str, tuple[CatalogueOp, Trial | None]]:
    with new_context():
        all_ops = sorted([*skeletons(), *classless_skeletons()], key=lambda s: s.name)
        return {s.name: _introspect_op(s) for s in {s.name: s for s in all_ops}.values()}


def _introspect_op(skeleton: Skeleton) -> tuple[CatalogueOp, Trial | None]:
    """Return an op without examples, and the smallest instance that is valid, if it may stand as a step."""
    role: Role = "structural" if skeleton.name in STRUCTURAL else role_of(skeleton.name)
    trial = first_trial(skeleton, REGIONS.get(skeleton.name, ()))
    types, attributes = STARTS.get(skeleton.name, ({}, {}))
    trial = trial.with_changes(types={k: list(v) for k, v in types.items()}, attributes=attributes)
    problem = "structural" if role == "structural" else settle(trial)
    asked = {} if problem else ask_constraints(trial)
    op = _described(skeleton, role, asked, trial)
    if role == "structural":
        note = f"{skeleton.name} {STRUCTURAL[skeleton.name]}"
        return dataclasses.replace(op, note=note, assembly=ASSEMBLIES.get(skeleton.name)), None
    if problem:
        return dataclasses.replace(op, note=f"no valid instance found: {problem}"), None
    module = ir.Module.parse(trial.text())
    return _with_answers(op, trial, scratch_op(module, role)), trial


def _described(skeleton: Skeleton, role: Role, asked: Mapping[str, str], trial: Trial) -> CatalogueOp:
    documentation = skeleton.documentation
    return CatalogueOp(
        name=skeleton.name,
        extension=skeleton.extension,
        group=group_of(skeleton.name, role),
        role=role,
        sentence=sentence_for(skeleton.name, documentation),
        documentation=documentation,
        operands=tuple(
            OperandSpec(a.name, kinds_of(c), a.count, type_for(c) if c else ANY_OP, None, c)
            for a in skeleton.operands
            for c in [asked.get(a.name, "")]
        ),
        attributes=tuple(attribute_spec(n, cls, asked.get(n, ""), trial) for n, cls in skeleton.attributes),
        results=tuple(
            ResultSpec(a.name, kinds_of(c), a.count, type_for(c) if c else ANY_OP, c)
            for a in skeleton.results
            for c in [asked.get(f"->{a.name}", "")]
        ),
        regions=_regions(skeleton),
        segments=skeleton.segments,
    )


def _regions(skeleton: Skeleton) -> tuple[RegionSpec, ...]:
    body: RegionKind = "body"
    kinds = REGION_KINDS.get(skeleton.name, tuple(body for _ in skeleton.regions))
    return tuple(RegionSpec(r.name, kind, r.count) for r, kind in zip(skeleton.regions, kinds, strict=True))


def _with_answers(op: CatalogueOp, trial: Trial, instance: Any) -> CatalogueOp:
    """Return an op with the defaults that an instance shows, and which attributes it cannot do without."""
    required = required_attributes(trial)
    attributes = tuple(
        dataclasses.replace(_with_default(a, trial, instance), is_required=a.name in required)
        for a in op.attributes
    )
    return dataclasses.replace(op, attributes=attributes)


def _with_default(spec: AttributeSpec, trial: Trial, instance: Any) -> AttributeSpec:
    if spec.name in trial.attributes:
        return spec
    if spec.name in instance.attributes:
        return dataclasses.replace(spec, default=attribute_value(instance.attributes[spec.name], spec))
    return dataclasses.replace(spec, default=elided_bool(trial, spec.name)) if spec.kind == "bool" else spec
