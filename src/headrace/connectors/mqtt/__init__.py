"""MQTT topics, read and written through a broker such as mosquitto, with MQTT 3.1.1 or 5.

*Source*: at least once with QoS 1 and 2, at most once with QoS 0. A message is acknowledged to the broker
once the write-ahead log beside the checkpoint holds it. The session is persistent: the broker stores
messages while no run is connected. A QoS 1 message can be delivered twice after a broken connection;
redeliveries at QoS 2 are removed by their packet id.

*Sink*: at least once with QoS 1 and 2, at most once with QoS 0. An epoch is committed when the broker has
acknowledged every message of it; after a crash in between it is published again.

`headrace mqtt up` starts a local mosquitto, if it is installed; `headrace mqtt pub` and `sub` send and show
messages.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from headrace.access.options import Address
from headrace.connectors.base import Guarantee, ReadContext, Role, Writer
from headrace.connectors.extras import require_package
from headrace.connectors.message_sink import MessageWriter
from headrace.connectors.metadata import MetadataOption, metadata_field
from headrace.connectors.mqtt.address import BrokerAddress
from headrace.connectors.mqtt.topics import check_filter
from headrace.connectors.network.tls import TlsFiles
from headrace.connectors.options import DurationOption, MessageFormatOption, NamesOption, RetryTimeoutOption
from headrace.connectors.roles import SinkOption, SourceOption
from headrace.connectors.templates import NameTemplateOption, template_columns
from headrace.connectors.write_ahead_log import Receiver
from headrace.connectors.write_ahead_log.options import LoggedSource, QuietOption


class Mqtt(LoggedSource):
    """A source subscribes to topic filters; a sink publishes each row to a topic.

    A filter may have the wildcards `+` (one level) and `#` (all further levels, at the end), and may be
    shared between several subscribers: `$share/<group>/<filter>`. The topic of a sink is computed from
    columns: `building/{room}/alarm`. Retained messages, which the broker sends when a subscription begins,
    have `retained = true` in the metadata.

    >>> Mqtt(url="mqtt://localhost:1883", topics=["building/+/temperature"]).qos
    1
    >>> Mqtt(url="mqtt://localhost", topic="building/{room}/alarm", retain=True).sink_guarantee
    'at_least_once'
    """

    kind: ClassVar[str] = "mqtt"
    roles: ClassVar[frozenset[Role]] = frozenset({"source", "sink"})
    delivers: ClassVar[Guarantee] = "at_least_once"
    append_only: ClassVar[str] = "a topic"
    metadata_types: ClassVar[dict[str, str]] = {
        "topic": "string",
        "qos": "int",
        "retained": "boolean",
        "duplicate": "boolean",
        "received_at": "timestamp",
        "user_properties": "map<string,string>",
        "content_type": "string",
    }

    url: Annotated[str, Address(frozenset())] = Field(
        description="The broker: `mqtt://host:1883`, or with TLS `mqtts://host:8883`"
    )
    topics: SourceOption[NamesOption] = Field(
        default=(), description="The topic filters to subscribe to, such as `building/+/temperature`"
    )
    topic: SinkOption[NameTemplateOption | None] = Field(
        default=None, description="The topic of each row; `{column}` is the value of a column"
    )
    qos: int = Field(
        default=1, ge=0, le=2, description="The quality of service: 0 at most once, 1 at least once, 2 once"
    )
    retain: SinkOption[bool] = Field(
        default=False, description="Have the broker store the last message of each topic for new subscribers"
    )
    metadata: SourceOption[MetadataOption] = metadata_field(metadata_types, "{topic: sent_to}")
    format: MessageFormatOption = None
    value: SinkOption[NamesOption] = Field(
        default=(), description="The columns of the payload; default: all except those of the topic"
    )
    user_properties: SinkOption[NamesOption] = Field(
        default=(), description="Columns that are sent as user properties, as text; MQTT 5 only"
    )
    version: Literal["3.1.1", "5"] = Field(default="5", description="The version of the protocol")
    client_id: str | None = Field(
        default=None,
        min_length=1,
        description="The name of the session at the broker; default: `headrace-<pipeline>-<source or sink>`",
    )
    session: SourceOption[Literal["persistent", "clean"]] = Field(
        default="persistent",
        description="Whether the broker stores messages while no run is connected",
    )
    session_expiry: SourceOption[DurationOption] = Field(
        default="7 days", description="How long the broker stores them; MQTT 5 only"
    )
    user: str | None = Field(default=None, description="The user name; may also be in the URL")
    password: SecretStr | None = Field(default=None, description="The password, such as `${MQTT_PASSWORD}`")
    tls: TlsFiles | None = Field(default=None, description="Certificates for `mqtts://`")
    keepalive: DurationOption = Field(
        default="1 minute", description="How often an idle connection is checked"
    )
    retry_timeout: RetryTimeoutOption = "5 minutes"
    quiet: QuietOption = "1 second"

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        BrokerAddress.parse(url)
        return url

    @field_validator("version", mode="before")
    @classmethod
    def _check_version(cls, version: Any) -> Any:
        return str(version) if isinstance(version, int) else version

    @field_validator("topics")
    @classmethod
    def _check_topics(cls, topics: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(check_filter, topics))

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if bool(self.topics) == bool(self.topic):
            raise ValueError("expected `topics` for a source or `topic` for a sink")
        if self.version != "5" and self.user_properties:
            raise ValueError("user properties need MQTT 5: set version to 5")
        return self

    @property
    def address(self) -> BrokerAddress:
        """The broker's host and port, and the login."""
        address = BrokerAddress.parse(self.url)
        return address.with_login(self.user, self.password.get_secret_value() if self.password else None)

    @property
    def offset_identity(self) -> tuple[str, ...]:
        return (self.kind, f"broker {self.address.url}")

    @property
    def received_guarantee(self) -> Guarantee:
        return "at_least_once" if self.qos and self.session == "persistent" else "at_most_once"

    @property
    def sink_guarantee(self) -> Guarantee:
        return "at_least_once" if self.qos else "at_most_once"

    def stream_problem(self) -> tuple[str, str] | None:
        return None if self.topics else ("no topic filter is set", 'add topics=["building/+/temperature"]')

    @property
    def template_columns(self) -> tuple[str, ...]:
        """The columns from which a sink computes the topic."""
        return template_columns(self.topic or "")

    @property
    def address_columns(self) -> tuple[str, ...]:
        return (*self.template_columns, *self.user_properties)

    def receiver(self, context: ReadContext) -> Receiver:
        require_package("paho", extra="mqtt")
        from headrace.connectors.mqtt.receiver import MqttReceiver

        return MqttReceiver(self, context)

    def writer(self) -> Writer:
        require_package("paho", extra="mqtt")
        from headrace.connectors.mqtt.sink import MqttPublisher

        return MessageWriter(lambda context: MqttPublisher(self, context))
