"""Datasets, algorithms and rows of the table that the user gives names to: in `config/config.yaml`, or in the file of
an own experiment. All are known everywhere; a file whose names are wrong stops its own experiment only.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from scaling_limits import algorithms
from scaling_limits.configuration import allowed_keys
from scaling_limits.configuration.files import read_tree, validate, yaml_files
from scaling_limits.configuration.models import OwnNames
from scaling_limits.configuration.trees import Origin, Tree, origin_at
from scaling_limits.datasets import catalogue
from scaling_limits.errors import ConfigurationError, ScalingLimitsError
from scaling_limits.parameterisations.table import TABLE, Row

FOLDER = "config/experiments"
UNFORESEEN = "a fault of the program"
_DATASETS, _ALGORITHMS, _ROWS = "data.datasets", "algorithms", "parameterisations"


class OwnPart(NamedTuple):
    """What has a name: of a row, the scheme and the update rule together."""

    kind: str
    name: str
    value: Path | Row
    origin: Origin


def _named(row: Row) -> str:
    return f"{row.scheme} with {row.update_rule}"


def _taken(kind: str) -> Collection[str]:
    """Names that the user's own parts may not have: those of the project, and of installed packages."""
    if kind == _ROWS:
        return [_named(row) for row in TABLE]
    return {_DATASETS: catalogue.registry, _ALGORITHMS: algorithms.registry}[kind].modules


def parts(root: Path, said: Tree, names: OwnNames) -> list[OwnPart]:
    """The parts that a file names, with where it does; paths are below `root`.

    Raises:
        ConfigurationError: a name that a file's name could not have, or that one of the project has.
    """
    found = []
    for kind, paths in ((_DATASETS, names.data.datasets), (_ALGORITHMS, names.algorithms)):
        for name, path in paths.items():
            origin = origin_at(said, (*kind.split("."), name))
            if not allowed_keys.NAME.fullmatch(name):
                raise ConfigurationError(kind, f"'{name}': {allowed_keys.NAMED}", place=origin)
            found.append(OwnPart(kind, name, root / Path(path), origin))
    rows = origin_at(said, (_ROWS,))
    found += [OwnPart(_ROWS, _named(row), row, rows) for row in names.parameterisations]
    for kind, name, _, origin in found:
        if name in _taken(kind):
            raise ConfigurationError(
                kind, f"'{name}' is one of the project; choose another name", place=origin
            )
    return found


def problem(experiment: str, check: Callable[[], object]) -> str | None:
    """Return what is wrong with an own experiment by a check; None if nothing is.

    An exception that no check foresees is a fault of the program, and stops this experiment only.
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
    """Those of `config/config.yaml` (`given`), and those of the experiments' files, read when first asked for."""

    def __init__(self, root: Path, given: Sequence[OwnPart]) -> None:
        self._root = root
        self._given = given

    @property
    def datasets(self) -> dict[str, Path]:
        """Files of datasets by name."""
        return dict(self._files(_DATASETS))

    @property
    def algorithms(self) -> dict[str, Path]:
        """Files of algorithms by name."""
        return dict(self._files(_ALGORITHMS))

    @property
    def rows(self) -> list[Row]:
        """Rows of the table of parameterisations; one that is said in two files is one row."""
        given = [part.value for part in self._given if isinstance(part.value, Row)]
        others = {p.name: p.value for p in self._of_experiments if isinstance(p.value, Row)}
        return given + [row for row in others.values() if row not in given]

    @property
    def faults(self) -> dict[str, str]:
        """The errors in the names of an experiment's file, by experiment."""
        return self._read[1]

    def _files(self, kind: str) -> Iterator[tuple[str, Path]]:
        for part in (*self._given, *self._of_experiments):
            if part.kind == kind and isinstance(part.value, Path):
                yield part.name, part.value

    @property
    def _of_experiments(self) -> Iterator[OwnPart]:
        return chain.from_iterable(self._read[0].values())

    @cached_property
    def _read(self) -> tuple[dict[str, list[OwnPart]], dict[str, str]]:
        """The parts of sound files, and what is wrong with the others."""
        found: dict[str, list[OwnPart]] = {}
        faults: dict[str, str] = {}
        for path in yaml_files(self._root, FOLDER):
            named: list[OwnPart] = []
            wrong = problem(path.stem, partial(self._of_file, path, named))
            if wrong is not None:
                faults[path.stem] = wrong
            else:
                found[path.stem] = named
        everywhere = [*self._given, *chain.from_iterable(found.values())]
        for experiment, named in found.items():
            clashes = [_clash(part, everywhere) for part in named]
            if any(clashes):
                faults[experiment] = "\n".join(filter(None, clashes))
        return {name: named for name, named in found.items() if name not in faults}, faults

    def _of_file(self, path: Path, named: list[OwnPart]) -> None:
        """Add the parts that a file names to those that are `named`."""
        said = read_tree(path, f"{FOLDER}/{path.name}").only(allowed_keys.OWN)
        for part in parts(self._root, said, validate(OwnNames, said)):
            refuse_unusable(part)
            named.append(part)


def refuse_unusable(part: OwnPart) -> None:
    """Refuse files that are not there, and algorithms that cannot be read or imported.

    Raises:
        ConfigurationError: starts with the part's origin.
    """
    kind, name, file, origin = part
    if isinstance(file, Row):
        return
    if kind == _DATASETS and not file.is_file():
        raise ConfigurationError(f"{kind}.{name}", f"{file} is not there", place=origin)
    if kind == _ALGORITHMS:
        try:
            algorithms.own.check(name, file.as_posix())
            algorithms.own.declaration(file.as_posix())
        except ConfigurationError as error:
            raise ConfigurationError(None, error, place=origin) from None
        except Exception as error:
            # the file's own, from what it does when it is imported for its settings
            problem = f"{file}: cannot be imported: {error!r}"
            raise ConfigurationError(f"{kind}.{name}", problem, place=origin) from error


def _clash(part: OwnPart, everywhere: Sequence[OwnPart]) -> str | None:
    """That another part has the name of this one, and where."""
    for other in everywhere:
        if (other.kind, other.name) == (part.kind, part.name) and other.value != part.value:
            return (
                f"{part.origin}: {part.kind}: '{part.name}' is something else at {other.origin}; "
                "give one of them another name"
            )
    return None
