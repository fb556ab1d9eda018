"""Tuples whose items are made when somebody looks at them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, overload

T = TypeVar("T")


class LazyTuple(Sequence[T]):
    """An immutable sequence that equals the tuple of its items, which are made at the first use of any."""

    __slots__ = ("_items", "_make")

    def __init__(self, make: Callable[[], Iterable[T]]) -> None:
        """Make a sequence.

        Args:
            make: Gives the items; must give the same whenever it is called.
        """
        self._make: Callable[[], Iterable[T]] | None = make
        self._items: tuple[T, ...] | None = None

    def _all(self) -> tuple[T, ...]:
        # Two threads may both make the items; they are equal, and one of the two stays.
        make = self._make
        if self._items is None and make is not None:
            self._items = tuple(make())
            self._make = None
        return self._items or ()

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[T]:
        # What a sequence has of its own asks for one item after the other.
        return iter(self._all())

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self._all()[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazyTuple):
            return self._all() == other._all()
        return self._all() == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._all(),)
