"""Snakemake's logger plugin `scaling-limits`: writes the events of a run as JSON lines to a pipe.

Snakemake finds logger plugins by the name of their top-level package. `scaling-limits run` starts Snakemake with
`--logger scaling-limits` and reads the events to report progress.
"""

import contextlib
import json
from dataclasses import dataclass, field
from logging import LogRecord

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase

FIELDS = ("jobid", "job_id", "rule_name", "wildcards", "log", "stats")


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    """The options of the plugin, `--logger-scaling-limits-<field>`."""

    pipe: int | None = field(
        default=None,
        metadata={
            "help": "Open file descriptor that events are written to",
            "type": int,
            "required": True,
        },
    )


class LogHandler(LogHandlerBase):
    """Writes one JSON object for each event: `event`, `message`, and those of `FIELDS` that the event has."""

    def __post_init__(self) -> None:
        """Open the pipe."""
        assert isinstance(self.settings, LogHandlerSettings)
        assert self.settings.pipe is not None
        self._pipe = open(self.settings.pipe, "wb", buffering=0)  # noqa: SIM115

    def emit(self, record: LogRecord) -> None:
        """Write an event; a record without one is skipped."""
        event = getattr(record, "event", None)
        if event is None:
            return
        content = {"event": str(event), "message": record.getMessage()}
        content |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        # without a reader, Snakemake goes on
        with contextlib.suppress(OSError):
            self._pipe.write(json.dumps(content, default=str).encode() + b"\n")

    def close(self) -> None:
        """Close the pipe."""
        self._pipe.close()
        super().close()

    @property
    def writes_to_stream(self) -> bool:
        """False: Snakemake's own log is kept."""
        return False

    @property
    def writes_to_file(self) -> bool:
        """False: a pipe is no log file to name at the end."""
        return False

    @property
    def has_filter(self) -> bool:
        """True: `--quiet` does not apply to events."""
        return True

    @property
    def has_formatter(self) -> bool:
        """True: events are not formatted as text."""
        return True

    @property
    def needs_rulegraph(self) -> bool:
        """False."""
        return False
