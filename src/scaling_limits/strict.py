"""The base of all typed models: immutable, strict about names, finite."""

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """Immutable and hashable where its fields are; unknown names, infinities and NaN are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
