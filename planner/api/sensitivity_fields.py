"""What goes in and comes out of tornado, heat map, uncertainty and growth over REST."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from planner.api.comparisons import ComparisonRequestSerializer
from planner.comparing.questions import MOST_DRAWS, MOST_POINTS
from planner.engine.throughput import Stage
from planner.engine.varying import Outcome

STAGES = [stage.value for stage in Stage]
RATIOS = [Outcome.LAMBDA_MAX.value, Outcome.COST.value, Outcome.TTFT_P90.value]


def _figure(text: str = "", **options: Any) -> serializers.FloatField:
    return serializers.FloatField(allow_null=True, help_text=text, **options)


# --- requests ----------------------------------------------------------------------------------------------------


class InputRangeSerializer(serializers.Serializer[Any]):
    """Factors between which one input is varied."""

    input = serializers.CharField(help_text="Name of an input.")
    low = serializers.FloatField(help_text="A factor, from 1/64.")
    high = serializers.FloatField(help_text="A factor, to 64.")


class SensitivityRequestSerializer(ComparisonRequestSerializer):
    """The comparison, the scenario in it, and how far its inputs are varied."""

    scenario = serializers.CharField(required=False, help_text="The baseline where it is not said.")
    share = serializers.FloatField(default=0.2, help_text="Every input is varied by this share either way.")
    ranges = InputRangeSerializer(many=True, required=False)
    loaded = serializers.BooleanField(default=False, help_text="TTFT P90 under load as well.")
    load = serializers.FloatField(default=0.85, help_text="Share of what is carried, at each value its own.")
    rate_rps = serializers.FloatField(required=False, help_text="A rate instead, the same at every value.")
    retuned = serializers.BooleanField(default=False, help_text="The best threshold at each value as well.")


class AxisRequestSerializer(serializers.Serializer[Any]):
    """One input, in both scenarios where both have it."""

    input = serializers.CharField(help_text="Name of an input.")
    scenario = serializers.CharField(required=False, help_text="In this one alone; needed for t and counts of both.")
    low = serializers.FloatField(default=0.5, help_text="A factor, from 1/64.")
    high = serializers.FloatField(default=2.0, help_text="A factor, to 64.")


class HeatMapRequestSerializer(ComparisonRequestSerializer):
    """The comparison, the two scenarios, the outcome and the two inputs."""

    first = serializers.CharField(required=False)
    second = serializers.CharField(required=False, help_text="The baseline where it is not said.")
    outcome = serializers.CharField(default=Outcome.COST.value, help_text=", ".join(RATIOS))
    x = AxisRequestSerializer(required=False, help_text="A chip's price where it is not said.")
    y = AxisRequestSerializer(required=False, help_text="The mean prompt length where it is not said.")
    points = serializers.IntegerField(default=21, help_text=f"Of either axis, 3 to {MOST_POINTS}.")


class SigmasSerializer(serializers.Serializer[Any]):
    """Assumed 1-sigma of a figure's relative error, in ln, by the kind of its provenance."""

    measured = serializers.FloatField(default=0.02)
    published = serializers.FloatField(default=0.05)
    inferred = serializers.FloatField(default=0.15)
    estimated = serializers.FloatField(default=0.25)
    user = serializers.FloatField(default=0.10)


class UncertaintyRequestSerializer(ComparisonRequestSerializer):
    """The comparison, and what is assumed of its figures' errors."""

    draws = serializers.IntegerField(default=2000, help_text=f"100 to {MOST_DRAWS}.")
    seed = serializers.IntegerField(default=1)
    sigmas = SigmasSerializer(required=False)
    uncertain_prices = serializers.BooleanField(default=True, help_text="Whether prices are uncertain too.")


class GrowthRequestSerializer(ComparisonRequestSerializer):
    """The comparison, multiples of its traffic, and of how fast prefill chips are."""

    traffic = serializers.ListField(child=serializers.FloatField(), required=False, help_text="1, 2 and 4.")
    chips = serializers.ListField(child=serializers.FloatField(), required=False, help_text="1, 2 and 4.")
    remote_only = serializers.BooleanField(default=False, help_text="PrfaaS alone has the faster chips.")
    retuned = serializers.BooleanField(default=False, help_text="The best threshold in each case.")


# --- results -----------------------------------------------------------------------------------------------------


class ComparedInputSerializer(serializers.Serializer[Any]):
    """A figure that outcomes may rest on; `reason` says why it cannot be varied."""

    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment] # a field of that name, never bound to data
    unit = serializers.CharField()
    value = _figure("In the unit; of a curve, at the mean length.")
    path = serializers.CharField(help_text="Where it stands in the scenario, or in the comparison.")
    kind = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment] # as above
    is_decision = serializers.BooleanField()
    varies = serializers.BooleanField()
    reason = serializers.CharField()


class RetunedBarSerializer(serializers.Serializer[Any]):
    """The outcome at the best threshold."""

    low = _figure()
    high = _figure()


class TornadoBarSerializer(serializers.Serializer[Any]):
    """What one input does to one outcome."""

    input = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment] # as above
    unit = serializers.CharField(help_text="Of the input.")
    kind = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment] # as above
    is_decision = serializers.BooleanField()
    has_influence = serializers.BooleanField()
    low_factor = serializers.FloatField()
    high_factor = serializers.FloatField()
    low_input = _figure()
    high_input = _figure()
    spread = _figure("Greatest less least of low, as given and high.")
    low = _figure()
    high = _figure()
    elasticity = _figure("Percent of the outcome for a percent of the input; null under load.")
    retuned = RetunedBarSerializer(allow_null=True)


class ComparedOutcomeSerializer(serializers.Serializer[Any]):
    """One outcome, and how it is called."""

    outcome = serializers.CharField(help_text=", ".join(Outcome))
    label = serializers.CharField()  # type: ignore[assignment] # as above
    unit = serializers.CharField()
    formula = serializers.CharField()
    better = serializers.CharField(help_text="more or less.")
    kind = serializers.CharField(help_text="The weakest kind that it may rest on; empty where it has no value.")


class TornadoOutcomeSerializer(ComparedOutcomeSerializer):
    """An outcome with its bars, the widest first, those without influence last."""

    value = _figure()
    retuned_value = _figure()
    bars = TornadoBarSerializer(many=True)


class LoadedAtSerializer(serializers.Serializer[Any]):
    """The rate of TTFT under load."""

    share = _figure()
    rate_rps = _figure()


class ResultHeadSerializer(serializers.Serializer[Any]):
    """What every result has."""

    comparison = serializers.CharField()
    form = serializers.CharField()
    provenance = serializers.CharField(help_text="The weakest kind that the result may rest on.")
    notes = serializers.ListField(child=serializers.CharField())
    version = serializers.CharField()


class SensitivitySerializer(ResultHeadSerializer):
    """Tornados of one scenario."""

    scenario = serializers.CharField()
    title = serializers.CharField()
    share = serializers.FloatField()
    load = LoadedAtSerializer()
    retuned = serializers.BooleanField()
    outcomes = TornadoOutcomeSerializer(many=True)
    inputs = ComparedInputSerializer(many=True)


class MovedInputSerializer(serializers.Serializer[Any]):
    """An input of one or of both scenarios."""

    input = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment] # as above
    unit = serializers.CharField()
    value = _figure("In the first scenario that has it.")
    kind = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment] # as above
    is_decision = serializers.BooleanField()
    moves_in = serializers.ListField(child=serializers.CharField())


class HeatMapAxisSerializer(MovedInputSerializer):
    """An axis of a heat map."""

    factors = serializers.ListField(child=serializers.FloatField())
    values = serializers.ListField(child=serializers.FloatField(), allow_null=True)


class PriceRatioSerializer(serializers.Serializer[Any]):
    """A chip's price over another one's."""

    to = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment] # as above
    ratio = serializers.FloatField()


class TieSerializer(MovedInputSerializer):
    """Where two scenarios tie as one input alone changes; null where they do not from 1/8 to 8 times."""

    factor = _figure()
    at = _figure("In the input's unit.")
    price_ratios = PriceRatioSerializer(many=True)
    sentence = serializers.CharField()


class TiePointSerializer(serializers.Serializer[Any]):
    """A point of a break-even line."""

    x_factor = serializers.FloatField()
    y_factor = serializers.FloatField()


class HeatMapSerializer(ResultHeadSerializer):
    """First over second; rows by y, columns by x."""

    first = serializers.CharField()
    second = serializers.CharField()
    titles = serializers.ListField(child=serializers.CharField())
    outcome = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment] # as above
    unit = serializers.CharField()
    formula = serializers.CharField()
    better = serializers.CharField(help_text="more or less.")
    values = serializers.ListField(child=_figure(), help_text="The outcome of each as it is given.")
    as_given = _figure("Their ratio as they are given.")
    leader = serializers.CharField(allow_null=True, help_text="Who is better as they are given; null where they tie.")
    x = HeatMapAxisSerializer()
    y = HeatMapAxisSerializer()
    ratio = serializers.ListField(child=serializers.ListField(child=_figure()))
    ties = serializers.ListField(child=TiePointSerializer(many=True), help_text="Lines on which the ratio is 1.")
    break_even = TieSerializer(many=True)


class SpreadSerializer(serializers.Serializer[Any]):
    """An outcome over the draws."""

    as_given = _figure()
    p05 = _figure()
    p50 = _figure()
    p95 = _figure()
    mean = _figure()


class UncertainOutcomeSerializer(ComparedOutcomeSerializer):
    """Spread by scenario, and who beats whom: row i, column j is the probability that i beats j."""

    spread = serializers.ListField(child=SpreadSerializer(allow_null=True))
    beats = serializers.ListField(child=serializers.ListField(child=_figure()), allow_null=True)
    beats_error = serializers.ListField(child=serializers.ListField(child=_figure()), allow_null=True)
    best = serializers.ListField(child=_figure(), allow_null=True)
    best_error = serializers.ListField(child=_figure(), allow_null=True)


class ComparedScenarioSerializer(serializers.Serializer[Any]):
    """A scenario of the comparison."""

    name = serializers.CharField()
    title = serializers.CharField()


class AssumptionsSerializer(serializers.Serializer[Any]):
    """What is assumed of errors."""

    sigmas = SigmasSerializer()
    uncertain_prices = serializers.BooleanField()


class UncertainInputSerializer(ComparedInputSerializer):
    """A figure, what is assumed of its error, and where it has the same draws."""

    sigma = serializers.FloatField()
    used_in = serializers.ListField(child=serializers.CharField())


class UncertaintySerializer(ResultHeadSerializer):
    """How sure the comparison is."""

    draws = serializers.IntegerField()
    seed = serializers.IntegerField()
    assumptions = AssumptionsSerializer()
    scenarios = ComparedScenarioSerializer(many=True)
    outcomes = UncertainOutcomeSerializer(many=True)
    inputs = UncertainInputSerializer(many=True)


class GrowthCellSerializer(serializers.Serializer[Any]):
    """One traffic on one fleet."""

    traffic = serializers.FloatField()
    offered_rps = serializers.FloatField()
    carried_rps = serializers.FloatField()
    is_carried = serializers.BooleanField()
    utilisation = serializers.DictField(child=serializers.FloatField(), help_text="By stage.")
    egress_bps = serializers.FloatField()
    link_share = _figure()


class SpeedSerializer(serializers.Serializer[Any]):
    """A fleet with faster chips."""

    chips = serializers.FloatField()
    threshold_tokens = _figure()
    offload_fraction = serializers.FloatField()
    lambda_max_rps = serializers.FloatField()
    stage_lambda_rps = serializers.DictField(child=_figure(), help_text="By stage, where it saturates.")
    binding = serializers.ListField(child=serializers.ChoiceField(STAGES))
    saturates_at = serializers.DictField(child=_figure(), help_text="By stage, in multiples of today's traffic.")
    cells = GrowthCellSerializer(many=True)


class LinkBindsSerializer(serializers.Serializer[Any]):
    """The smallest speed-up at which the link binds; null where it never does."""

    as_given = _figure("At the given t.")
    other_stages_aside = _figure("At the given t, if stages that do not become faster were no limit.")
    retuned = _figure("At the best t, from 1 to 64; null where it was not asked for.")


class GrownSerializer(ComparedScenarioSerializer):
    """One scenario's fleet."""

    base_rps = serializers.FloatField(help_text="Traffic of 1 ×.")
    base = serializers.CharField(help_text="What it is.")
    link_usable_bps = _figure()
    link_binds_from = LinkBindsSerializer()
    binds_before_link = serializers.ListField(child=serializers.CharField())
    sentence = serializers.CharField()
    speeds = SpeedSerializer(many=True)
    kind = serializers.CharField()


class GrowthSerializer(ResultHeadSerializer):
    """The same fleets under more traffic and with faster chips."""

    traffic = serializers.ListField(child=serializers.FloatField())
    chips = serializers.ListField(child=serializers.FloatField())
    remote_only = serializers.BooleanField()
    retuned = serializers.BooleanField()
    scenarios = GrownSerializer(many=True)
