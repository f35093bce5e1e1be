"""The parts of a simulation over REST, field by field; the document itself checks them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.serializers import BooleanField, ChoiceField, FloatField, IntegerField, ListField

from planner.engine.simulation import CacheRouting, Choice
from planner.engine.simulation.faults import Place

PLACES = [place.value for place in Place]
Fields = serializers.Serializer[Any]


class PrefillSerializer(Fields):
    """How instances take their prompts."""

    choice = ChoiceField([choice.value for choice in Choice], default="shared", help_text="Which instance takes it.")
    ageing = FloatField(default=0.0, help_text="Of shortest: seconds of prefill that a second of waiting is worth.")
    batch_tokens = IntegerField(default=0, help_text="Prompts are prefilled together up to these; 0: each alone.")
    chunk_tokens = IntegerField(default=0, help_text="After these the next that waits has its turn; 0: in one go.")


class DecodeSerializer(Fields):
    """How decode steps: by request, or by iteration with steps of base_s + request_s · requests + token_s · tokens."""

    iterations = BooleanField(default=False)
    base_s = FloatField(required=False, help_text="Without it, the scenario's step.")
    request_s = FloatField(default=0.0)
    token_s = FloatField(default=0.0)
    memory_bytes = FloatField(required=False, help_text="For the KVCaches of an instance.")


class TcpSerializer(Fields):
    """What bounds transfers, in the place of what the scenario's link says."""

    connections = IntegerField(required=False, help_text="Of a transfer; 8 where nobody says.")
    window_bytes = FloatField(required=False, help_text="Of each connection.")
    loss = FloatField(required=False, help_text="Share of packets, from 0 to below 1.")


class BackgroundSerializer(Fields):
    """Use of the link by others: constant has share, diurnal the next three, recorded interval_s and shares."""

    kind = ChoiceField(["constant", "diurnal", "recorded"])
    share = serializers.JSONField(required=False, help_text="A share of the bandwidth, or recorded ones.")
    mean_share = FloatField(required=False)
    amplitude = FloatField(required=False)
    peak_hour = FloatField(required=False, help_text="UTC; replications begin at midnight.")
    interval_s = FloatField(required=False)


class FluctuationSerializer(Fields):
    """The link's capacity wanders about its mean."""

    sd_share = FloatField(help_text="Standard deviation, as a share of the mean.")
    relaxation_s = FloatField(help_text="Its memory.")
    step_s = FloatField(default=1.0)
    most_share = FloatField(default=2.0)


class OutagesSerializer(Fields):
    """The link is up and down in turn."""

    mean_up_s = FloatField()
    mean_down_s = FloatField()


class LinkWindowSerializer(Fields):
    """The link carries no more for a while, from the beginning of each replication."""

    begin_s = FloatField()
    end_s = FloatField()
    bps = FloatField(default=0.0)


class RecordingSerializer(Fields):
    """What the link was seen to carry, in its bandwidth's place; after its end it begins anew."""

    interval_s = FloatField()
    bps = ListField(child=FloatField())


class WeatherSerializer(Fields):
    """What changes what the link carries; all of it composes."""

    background = BackgroundSerializer(required=False)
    fluctuation = FluctuationSerializer(required=False)
    outages = OutagesSerializer(required=False)
    windows = LinkWindowSerializer(many=True, required=False)
    recording = RecordingSerializer(required=False)


class PathSerializer(Fields):
    """One of several ways that the link consists of; what it does not say is as the simulation has it."""

    share = FloatField(help_text="Of the link's bandwidth; the shares sum to 1.")
    rtt_s = FloatField(required=False)
    tcp = TcpSerializer(required=False)
    weather = WeatherSerializer(required=False)


class FaultSerializer(Fields):
    """Instances that are down for a while."""

    place = ChoiceField(PLACES)
    begin_s = FloatField()
    end_s = FloatField()
    instances = IntegerField(required=False, help_text="Without it, all.")


class FailuresSerializer(Fields):
    """Each instance of a place is up and down in turn, for exponential times."""

    place = ChoiceField(PLACES)
    mean_up_s = FloatField()
    mean_down_s = FloatField()


class SparesSerializer(Fields):
    """Hot spares of a place."""

    place = ChoiceField(PLACES)
    instances = IntegerField()
    ready_s = FloatField(default=0.0, help_text="After an instance went down.")


class TrackSerializer(Fields):
    """t over time, as it was recorded, in the place of the scenario's."""

    interval_s = FloatField()
    tokens = serializers.ListField(child=FloatField(), help_text="One for each interval; the last one lasts.")


class RolesSerializer(Fields):
    """When PD instances change their role; {} takes all as they are."""

    period_s = FloatField(default=60.0, help_text="Between two looks.")
    high = FloatField(default=0.85, help_text="Busy share from which a role is short.")
    room = FloatField(default=0.8, help_text="Busy share that the other role may have after it gave an instance.")
    patience = FloatField(default=2.0, help_text="Looks in a row at which it is short.")
    least_prefill = IntegerField(default=1)
    least_decode = IntegerField(default=1)
    delay_s = FloatField(default=60.0, help_text="From empty until it serves.")
    calm = FloatField(
        default=10.0, min_value=1, help_text="Looks in a row after which an instance that can be spared goes back."
    )
    retunes = BooleanField(default=True, help_text="t becomes the best one of the new split.")


class PromptsSerializer(Fields):
    """What requests have in common: the scenario's recorded trace, or generated sessions.

    Of a trace there is jitter_s; all else is of sessions, and as their kind has it where it is left out.
    """

    source = ChoiceField(["trace", "sessions"])  # type: ignore[assignment] # a field of that name
    jitter_s = FloatField(required=False)
    kind = ChoiceField(["chat", "agents"], default="chat")
    systems = IntegerField(required=False, help_text="Different system prompts.")
    system_tokens = IntegerField(required=False)
    first = serializers.JSONField(required=False, help_text="Tokens of the first input, or their distribution.")
    added = serializers.JSONField(required=False, help_text="Tokens that a turn adds, or their distribution.")
    output = serializers.JSONField(required=False, help_text="Tokens of answers, or their distribution.")
    mean_turns = FloatField(required=False)
    think_s = FloatField(required=False, help_text="Mean time between two turns.")
    think_cv = FloatField(required=False)
    most_tokens = IntegerField(required=False, help_text="A session ends before it would be longer.")


class CachesSerializer(Fields):
    """A prefix cache in each cluster. They need prompts."""

    pd_bytes = FloatField()
    prfaas_bytes = FloatField()
    block_tokens = IntegerField(default=512)
    routing = ChoiceField(
        [routing.value for routing in CacheRouting],
        default="by_bandwidth",
        help_text="What is judged against t: all of the prompt, what the PD cluster's cache leaves, the better one's.",
    )
    copies = BooleanField(default=True, help_text="A better prefix in the other cluster is copied.")
    state_every = IntegerField(default=0, help_text="Blocks between kept recurrent states; 0: of whole prompts only.")
    keeps_answers = BooleanField(default=True)


class BrownOutSerializer(LinkWindowSerializer):
    """One window of weather, in short."""
