"""What the catalogue's detail pages draw, as plain numbers: one address an entry."""

from __future__ import annotations

from typing import Any, ClassVar

from django.core.cache import cache
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from planner import store
from planner.api.evaluate import Computed, ErrorsSerializer
from planner.charts import charts
from planner.charts.fits import fits
from planner.models import Entry


def _table(text: str, *, can_lack: bool = False) -> serializers.DictField:
    return serializers.DictField(help_text=text, allow_null=can_lack)


def _tables(text: str, *, can_lack: bool = False) -> serializers.ListField:
    return serializers.ListField(child=serializers.DictField(), help_text=text, allow_null=can_lack)


class ModelChartsSerializer(serializers.Serializer[Any]):
    """Of a model."""

    s_kv = _table(
        "`tokens`, `used_bytes` as scenarios read S_kv, `parts` by KV dtype in `block_level_bytes` and "
        "`request_level_bytes` (null without layers), `measured` points or null."
    )
    kv_rate = _tables("Φ_kv of one instance, a profile each: `tokens`, `bps`, `points`, `measured_tokens` (range).")


class ProfileChartsSerializer(serializers.Serializer[Any]):
    """Of a profile."""

    prefill = _table("`tokens`, `seconds`, `fit_seconds` of t0 + a·l + b·l² (null of two points), `points`, range.")
    residuals = _table("At each of `tokens`, relative: `curve`, `fit`, `left_out`; `falls` between which times fall.")
    kv_rate = _tables("Φ_kv of one instance, as of a model.")
    cached = _table("Seconds against new tokens: `groups` by cached tokens, with `points` and `fit`.", can_lack=True)
    decode = _table("Seconds a step against batch: `groups` by context, with `points` and `fit`.", can_lack=True)


class TrafficChartsSerializer(serializers.Serializer[Any]):
    """Of a traffic."""

    lengths = _tables("Histogram by `edges_tokens` and `share`, and `cdf`, of input, uncached input, output.")
    arrivals = _table("The process: `expected` rate over time, `states` of an MMPP, and a `sample` of it.")
    prefix = _table("Cached share of the tokens against prompt length: `curve`, `points`.", can_lack=True)
    is_recorded = serializers.BooleanField(help_text="Whether distributions can be fitted to the input lengths.")


class LinkChartsSerializer(serializers.Serializer[Any]):
    """Of a link."""

    background = _table("`share` of the bandwidth that others use from each of `seconds` on.", can_lack=True)
    tcp = _table("Bit/s against `connections`: by window, and by loss after Mathis et al.", can_lack=True)


class HardwareChartsSerializer(serializers.Serializer[Any]):
    """Of a chip."""

    prices = _table("`offers`, each with `date` (or null) and `usd_per_gpu_hour`, undated ones last.")


class PriceChartsSerializer(HardwareChartsSerializer):
    """Of an offer: all offers for the same chip."""

    this = serializers.CharField(help_text="Name of the offer itself.")


class FitSerializer(serializers.Serializer[Any]):
    """A family at its most likely parameters, and how far it is from the record."""

    parameters = _table("As `input_tokens` of a traffic has them.")
    free_parameters = serializers.IntegerField()
    aic = serializers.FloatField()
    bic = serializers.FloatField()
    ks_distance = serializers.FloatField(help_text="Greatest difference of the shares of requests up to any length.")
    large_ks = serializers.FloatField(help_text="Beyond it, keep the empirical lengths.")
    warning = serializers.CharField(allow_null=True)
    edges_tokens = serializers.ListField(child=serializers.FloatField())
    share = serializers.ListField(child=serializers.FloatField())
    cdf = _table("`tokens` and `share`.")
    qq = _table("Quantiles at each `probability`: `recorded_tokens`, `fitted_tokens`.")


class FitsSerializer(serializers.Serializer[Any]):
    """Every family, the best by BIC first; null where the lengths are no record."""

    fits = FitSerializer(many=True, allow_null=True)


class OfEntry(Computed):
    """Something computed from a stored entry, archived or not."""

    kind: ClassVar[str]

    def entry(self, name: str) -> Entry:
        """Raises NotFound."""
        found = store.named(self.kind, name)
        if found is None:
            raise NotFound(f"No {self.kind} of the name {name}.")
        return found


NOT_FOUND = {404: OpenApiResponse(ErrorsSerializer, description="There is no such entry.")}
SERIALIZERS: dict[str, type[serializers.Serializer[Any]]] = {
    "hardware": HardwareChartsSerializer,
    "models": ModelChartsSerializer,
    "profiles": ProfileChartsSerializer,
    "traffic": TrafficChartsSerializer,
    "links": LinkChartsSerializer,
    "prices": PriceChartsSerializer,
}


def charts_view(of_kind: str) -> type[OfEntry]:
    """The view of a kind's charts."""

    class ChartsView(OfEntry):
        """The curves of an entry."""

        kind = of_kind

        @extend_schema(
            operation_id=f"{of_kind}_charts",
            summary="An entry's charts as numbers, SI units",
            responses={200: SERIALIZERS[of_kind], **NOT_FOUND},
        )
        def get(self, request: Request, name: str) -> Response:
            return Response(charts(self.entry(name)))

    return ChartsView


class FitsView(OfEntry):
    """Distributions fitted to the recorded input lengths of a traffic; the first answer takes seconds."""

    kind = "traffic"

    @extend_schema(
        operation_id="traffic_fits",
        summary="Distributions fitted to recorded lengths",
        responses={200: FitsSerializer, **NOT_FOUND},
    )
    def get(self, request: Request, name: str) -> Response:
        entry = self.entry(name)
        key = f"fits:{entry.pk}:{entry.revision}"
        found = cache.get_or_set(key, lambda: {"fits": fits(entry.document)}, timeout=None)
        return Response(found)


CHARTS = {kind: charts_view(kind) for kind in SERIALIZERS}
