"""Rules of alerts, and the channels that notify: the document of `headrace serve --alerts`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from headrace.connectors.options import seconds_of
from headrace.durations import microseconds
from headrace.errors import DurationError, OptionError, validation_message
from headrace.yaml.variables import expand

Kind = Literal["lag", "latency", "watermark_delay", "restarts", "row_accounting", "no_data", "failed"]

CONDITIONS: Mapping[Kind, str] = {
    "lag": "records wait in the sources",
    "latency": "the latency p99 is high",
    "watermark_delay": "the watermark is behind the clock",
    "no_data": "no rows arrive",
    "restarts": "the job restarts again and again",
    "row_accounting": "a step loses rows",
    "failed": "the job has failed",
}
"""The conditions in words, as the form of the dashboard shows them."""


def _check_duration(text: str) -> str:
    try:
        microseconds(text, where="duration")
    except DurationError as error:
        raise ValueError(str(error)) from None
    return text


DurationText = Annotated[str, AfterValidator(_check_duration), Field(max_length=100)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class AlertRule(_Model):
    """A condition on the metrics of a job.

    >>> AlertRule(alert="lag", above=1000, for_="1 minute").seconds
    60.0
    """

    alert: Kind = Field(description="The condition.")
    above: float = Field(
        default=0,
        ge=0,
        allow_inf_nan=False,
        description="Threshold: records, seconds of latency or delay, restarts.",
    )
    for_: DurationText = Field(
        default="0 seconds", alias="for", description="How long the condition holds before the alert fires."
    )
    within: DurationText = Field(
        default="10 minutes", description="The period of `restarts` and `row_accounting`."
    )
    job: str | None = Field(default=None, max_length=200, description="Only jobs of this name; default: all.")
    name: str | None = Field(default=None, max_length=100, description="Default: the condition.")

    @property
    def label(self) -> str:
        """The name under which the rule is shown and silenced."""
        return self.name or self.alert

    @property
    def seconds(self) -> float:
        """The time for which the condition must hold."""
        return seconds_of(self.for_)

    @property
    def period(self) -> float:
        """The period over which counters are compared, in seconds."""
        return seconds_of(self.within)


def describe(rule: AlertRule) -> str:
    """Return the condition of a rule in words.

    >>> describe(AlertRule(alert="lag", above=1000, for_="1 minute")), describe(AlertRule(alert="failed"))
    ('more than 1,000 records, for 1 minute', 'the job has failed')
    >>> describe(AlertRule(alert="restarts", above=2))
    'more than 2 restarts within 10 minutes'
    """
    number = f"{rule.above:,.10g}"
    words = {
        "lag": f"more than {number} records",
        "latency": f"p99 above {number} seconds",
        "watermark_delay": f"more than {number} seconds",
        "restarts": f"more than {number} restarts within {rule.within}",
        "row_accounting": f"a step does not balance, within {rule.within}",
        "no_data": f"no rows for {number} seconds" if rule.above else "no rows",
        "failed": "the job has failed",
    }[rule.alert]
    return f"{words}, for {rule.for_}" if rule.seconds else words


class Webhook(_Model):
    """Posts each notification as JSON."""

    url: str = Field(pattern=r"^https?://", description="The address.")
    timeout: float = Field(default=10, gt=0, description="In seconds.")


class Email(_Model):
    """Sends each notification as a mail."""

    host: str = Field(description="The SMTP server.")
    port: int = Field(default=25, ge=1, le=65535)
    sender: str = Field(alias="from")
    to: list[str] = Field(min_length=1)
    user: str | None = None
    password: str | None = Field(default=None, repr=False, description="As `${SMTP_PASSWORD}`.")
    tls: bool = Field(default=False, description="Use STARTTLS; the certificate is verified.")


class Channels(_Model):
    """The channels that notify."""

    console: bool = True
    webhook: Webhook | None = None
    email: Email | None = None


class AlertSettings(_Model):
    """Rules and channels."""

    rules: list[AlertRule] = Field(
        default_factory=lambda: [
            AlertRule(alert="failed"),
            AlertRule(alert="row_accounting"),
            AlertRule(alert="restarts", above=2),
        ]
    )
    notify: Channels = Field(default_factory=Channels)
    group_wait: DurationText = Field(
        default="10 seconds", description="Alerts of a job within this time are one notification."
    )

    @model_validator(mode="after")
    def _check_names(self) -> AlertSettings:
        for first, second in combinations(self.rules, 2):
            if first.label == second.label and (first.job == second.job or None in (first.job, second.job)):
                raise ValueError(f"two rules for the same jobs are named `{first.label}`; set `name`")
        return self

    @property
    def wait_seconds(self) -> float:
        """The time for which the first alert of a job waits for others."""
        return seconds_of(self.group_wait)


def load_settings(file: Path, environment: Mapping[str, str] | None = None) -> AlertSettings:
    """Read rules and channels from a YAML document; `${NAME}` is replaced from the environment.

    Raises:
        OptionError: the file cannot be read, or is invalid.
    """
    try:
        text = expand(file.read_text(), os.environ if environment is None else environment)
        return AlertSettings.model_validate(YAML(typ="safe").load(text) or {})
    except OSError as error:
        raise OptionError(f"cannot be read: {error.strerror}", where=str(file)) from None
    except YAMLError as error:
        raise OptionError(f"not a YAML document: {error}", where=str(file)) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise OptionError(validation_message(first), where=f"{file}: {where}") from None
