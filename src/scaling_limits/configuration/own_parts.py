"""User-defined datasets, algorithms and rows of exponents.

They are named in `config/config.yaml` or in the file of a user's experiment. All names are valid everywhere, but a file
with invalid names stops only the experiment in it.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from scaling_limits import algorithms, source
from scaling_limits.configuration import allowed_keys
from scaling_limits.configuration.files import read_tree, yaml_files
from scaling_limits.configuration.models import OwnNames
from scaling_limits.configuration.trees import Origin, Tree, origin_at
from scaling_limits.configuration.validation import validate
from scaling_limits.datasets import catalogue
from scaling_limits.errors import ConfigurationError, ScalingLimitsError
from scaling_limits.parameterisations.table import TABLE, Row
from scaling_limits.registry import Registry

FOLDER = "config/experiments"
UNFORESEEN = "a fault of the program"
_DATASETS, _ALGORITHMS, _ROWS = "data.datasets", "algorithms", "parameterisations"


class OwnPart(NamedTuple):
    """A user-defined part: its kind, name, file or row, and origin.

    The name of a row combines scheme and update rule.
    """

    kind: str
    name: str
    value: Path | Row
    origin: Origin


def _row_name(row: Row) -> str:
    return f"{row.scheme} with {row.update_rule}"


def _reserved_names(kind: str) -> Collection[str]:
    """Return the names that user-defined parts must not have: those of the project and of installed packages."""
    if kind == _ROWS:
        return [_row_name(row) for row in TABLE]
    return {_DATASETS: catalogue.registry, _ALGORITHMS: algorithms.registry}[kind].modules


def parts(root: Path, tree: Tree, names: OwnNames) -> list[OwnPart]:
    """Return the parts that a file names, with their origins; paths are relative to `root`.

    Raises:
        ConfigurationError: a name contains invalid characters, or belongs to a part of the project.
    """
    declared = []
    for kind, paths in ((_DATASETS, names.data.datasets), (_ALGORITHMS, names.algorithms)):
        for name, path in paths.items():
            origin = origin_at(tree, (*kind.split("."), name))
            if not allowed_keys.NAME.fullmatch(name):
                raise ConfigurationError(kind, f"'{name}': {allowed_keys.NAMED}", place=origin)
            declared.append(OwnPart(kind, name, root / Path(path), origin))
    rows = origin_at(tree, (_ROWS,))
    declared += [OwnPart(_ROWS, _row_name(row), row, rows) for row in names.parameterisations]
    for kind, name, _, origin in declared:
        if name in _reserved_names(kind):
            raise ConfigurationError(
                kind, f"'{name}' is one of the project; choose another name", place=origin
            )
    return declared


def problem(experiment: str, check: Callable[[], object]) -> str | None:
    """Return the error that a check finds in a user's experiment, or None.

    An exception that the check does not foresee is a bug of the program, and stops only this experiment.
    """
    try:
        check()
    except ScalingLimitsError as error:
        return str(error)
    except Exception as error:
        file = f"{FOLDER}/{experiment}.yaml"
        return f"{file}: {UNFORESEEN}, which should say what is wrong here: {error!r}"
    return None


class OwnParts:
    """The user-defined parts of `config/config.yaml` (`main_parts`) and of the experiments' files.

    Experiments' files are read when they are first needed.
    """

    def __init__(self, root: Path, main_parts: Sequence[OwnPart]) -> None:
        self._root = root
        self._main_parts = main_parts

    @property
    def datasets(self) -> dict[str, Path]:
        """The files of user-defined datasets by name."""
        return dict(self._files(_DATASETS))

    @cached_property
    def algorithms(self) -> Registry[object]:
        """The registry of algorithms with the user's files.

        Raises:
            ConfigurationError: an algorithm of `config/config.yaml` is unusable.
        """
        for part in self._main_parts:
            if part.kind == _ALGORITHMS:
                refuse_unusable(part)
        return algorithms.registry.with_files(dict(self._files(_ALGORITHMS)))

    @property
    def rows(self) -> list[Row]:
        """The user-defined rows of exponents; equal rows in two files count once."""
        rows = [part.value for part in self._main_parts if isinstance(part.value, Row)]
        further = {p.name: p.value for p in self._experiment_parts if isinstance(p.value, Row)}
        return rows + [row for row in further.values() if row not in rows]

    @property
    def faults(self) -> dict[str, str]:
        """The errors in the names of user-defined parts, by experiment."""
        return self._read[1]

    def _files(self, kind: str) -> Iterator[tuple[str, Path]]:
        for part in (*self._main_parts, *self._experiment_parts):
            if part.kind == kind and isinstance(part.value, Path):
                yield part.name, part.value

    @property
    def _experiment_parts(self) -> Iterator[OwnPart]:
        return chain.from_iterable(self._read[0].values())

    @cached_property
    def _read(self) -> tuple[dict[str, list[OwnPart]], dict[str, str]]:
        """The parts of valid files, and the errors of the others."""
        by_experiment: dict[str, list[OwnPart]] = {}
        faults: dict[str, str] = {}
        for path in yaml_files(self._root, FOLDER):
            declared: list[OwnPart] = []
            error = problem(path.stem, partial(self._append_declared, path, declared))
            if error is not None:
                faults[path.stem] = error
            else:
                by_experiment[path.stem] = declared
        all_parts = [*self._main_parts, *chain.from_iterable(by_experiment.values())]
        for experiment, declared in by_experiment.items():
            clashes = [_clash(part, all_parts) for part in declared]
            if any(clashes):
                faults[experiment] = "\n".join(filter(None, clashes))
        return {
            name: declared for name, declared in by_experiment.items() if name not in faults
        }, faults

    def _append_declared(self, path: Path, declared: list[OwnPart]) -> None:
        """Append the parts that a file names to `declared`."""
        tree = read_tree(path, f"{FOLDER}/{path.name}").only(allowed_keys.OWN)
        for part in parts(self._root, tree, validate(OwnNames, tree)):
            refuse_unusable(part)
            declared.append(part)


def refuse_unusable(part: OwnPart) -> None:
    """Reject files that do not exist, and algorithms that cannot be read or imported.

    Raises:
        ConfigurationError: the part is unusable; the message starts with its origin.
    """
    kind, name, file, origin = part
    if isinstance(file, Row):
        return
    if kind == _DATASETS and not file.is_file():
        raise ConfigurationError(f"{kind}.{name}", f"{file} is not there", place=origin)
    if kind == _ALGORITHMS:
        registry = algorithms.registry.with_files({name: file})
        try:
            # before the file is imported for its settings
            source.refuse_untracked(registry.module(name))
            registry.part(name)
        except ConfigurationError as error:
            raise ConfigurationError(f"{kind}.{name}", error, place=origin) from error


def _clash(part: OwnPart, all_parts: Sequence[OwnPart]) -> str | None:
    """Return an error if another part has the same kind and name, but another value."""
    for other in all_parts:
        if (other.kind, other.name) == (part.kind, part.name) and other.value != part.value:
            return (
                f"{part.origin}: {part.kind}: '{part.name}' is something else at {other.origin}; "
                "give one of them another name"
            )
    return None
