"""The base of all typed models: immutable, strict about names, finite."""

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """Immutable and hashable where its fields are; unknown names, infinities and NaN are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Extended(Strict):
    """A model whose subclasses declare further fields, of which a static type checker knows nothing."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str, /) -> Any:
            """The value of a field."""
