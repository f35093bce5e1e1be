"""Alert rules and alerts over REST."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from monitoring.alerts import acknowledging, kinds, rules, silences
from monitoring.api.given import REFUSED, body, by, now_ms, refusing
from monitoring.api.query import WINDOW, moment, whole
from monitoring.models import Alert, AlertRule, Silence

MOST, USUAL = 500, 100
STATES = {
    "open": Q(state__in=("pending", "firing")),
    "pending": Q(state="pending"),
    "firing": Q(state="firing"),
    "resolved": Q(state="resolved"),
    "all": Q(),
}
SHOWN = (
    "id", "state", "reason", "severity", "watch", "figure", "labels", "text", "value", "since_ms", "fired_ms",
    "resolved_ms", "runbook", "runbook_url", "acknowledged_by", "acknowledged_ms", "comment",
)  # fmt: skip


class RuleDescriptionSerializer(serializers.Serializer[Any]):
    """What may be said of a rule; of a new one at least its name and kind. `spec` has the fields of its kind."""

    name = serializers.CharField(required=False)
    title = serializers.CharField(required=False)
    kind = serializers.CharField(required=False, help_text=f"One of {', '.join(kinds.KINDS)}.")
    watch = serializers.CharField(required=False)
    spec = serializers.DictField(
        required=False,
        help_text="; ".join(f"{kind}: {', '.join(field.name for field in of)}" for kind, of in kinds.KINDS.items()),
    )
    for_s = serializers.FloatField(required=False)
    no_data = serializers.CharField(required=False, help_text="alert, ok or keep.")
    no_data_for_s = serializers.FloatField(required=False)
    severity = serializers.CharField(required=False, help_text="critical, warning or info.")
    labels = serializers.DictField(child=serializers.CharField(), required=False)
    runbook = serializers.CharField(required=False)
    runbook_url = serializers.CharField(required=False)
    enabled = serializers.BooleanField(required=False)


class RuleSerializer(RuleDescriptionSerializer):
    """A rule, why it could not be evaluated if so, and who changed it last."""

    problem = serializers.CharField()
    changed_at = serializers.DateTimeField()
    changed_by = serializers.CharField()


class AlertSerializer(serializers.Serializer[Any]):
    """An alert; times in epoch milliseconds."""

    id = serializers.IntegerField()
    rule = serializers.CharField()
    state = serializers.CharField(help_text="pending, firing or resolved.")
    reason = serializers.CharField(help_text="value or no_data.")
    severity = serializers.CharField()
    watch = serializers.CharField()
    figure = serializers.CharField()
    labels = serializers.DictField(child=serializers.CharField())
    text = serializers.CharField()
    value = serializers.FloatField(allow_null=True)
    since_ms = serializers.IntegerField()
    fired_ms = serializers.IntegerField(allow_null=True)
    resolved_ms = serializers.IntegerField(allow_null=True)
    runbook = serializers.CharField()
    runbook_url = serializers.CharField()
    acknowledged_by = serializers.CharField()
    acknowledged_ms = serializers.IntegerField(allow_null=True)
    comment = serializers.CharField()
    silenced_until_ms = serializers.IntegerField(allow_null=True)


class AlertsSerializer(serializers.Serializer[Any]):
    """Alerts, the newest first; `more` says how many others there are."""

    alerts = AlertSerializer(many=True)
    more = serializers.IntegerField()


class CommentSerializer(serializers.Serializer[Any]):
    """Why, if somebody says so."""

    comment = serializers.CharField(required=False)


def rule_as_json(rule: AlertRule) -> dict[str, Any]:
    """As the API shows it."""
    later = {"problem": rule.problem, "changed_at": rule.changed_at, "changed_by": rule.changed_by}
    return {**rules.described(rule), **later}


def alert_as_json(alert: Alert, silenced: list[Silence]) -> dict[str, Any]:
    """As the API shows it."""
    shown = {field: getattr(alert, field) for field in SHOWN}
    until = None if alert.state == Alert.State.RESOLVED else silences.until(silenced, alert.labels)
    return {**shown, "rule": alert.rule_name, "silenced_until_ms": until}


class RulesView(APIView):
    """What is alerted on."""

    @extend_schema(operation_id="live_alert_rules_list", summary="All alert rules", responses=RuleSerializer(many=True))
    def get(self, request: Request) -> Response:
        return Response([rule_as_json(each) for each in AlertRule.objects.all()])

    @extend_schema(
        operation_id="live_alert_rules_create",
        summary="A new alert rule",
        request=RuleDescriptionSerializer,
        responses={201: RuleSerializer, 400: REFUSED},
    )
    def post(self, request: Request) -> Response:
        rule = AlertRule()
        with refusing():
            rules.store(rule, body(request, rules.FIELDS), by(request))
        address = reverse("live-alert-rule", args=[rule.name], request=request)
        return Response(rule_as_json(rule), status.HTTP_201_CREATED, headers={"Location": address})


class RuleView(APIView):
    """One rule."""

    @extend_schema(operation_id="live_alert_rules_retrieve", summary="An alert rule", responses=RuleSerializer)
    def get(self, request: Request, name: str) -> Response:
        return Response(rule_as_json(get_object_or_404(AlertRule, name=name)))

    @extend_schema(
        operation_id="live_alert_rules_update",
        summary="Change an alert rule",
        request=RuleDescriptionSerializer,
        responses={200: RuleSerializer, 400: REFUSED},
    )
    def patch(self, request: Request, name: str) -> Response:
        rule = get_object_or_404(AlertRule, name=name)
        with refusing():
            rules.store(rule, body(request, rules.FIELDS), by(request))
        return Response(rule_as_json(rule))

    @extend_schema(
        operation_id="live_alert_rules_delete",
        summary="Delete an alert rule; its alerts are resolved and stay as history",
        responses={204: None},
    )
    def delete(self, request: Request, name: str) -> Response:
        get_object_or_404(AlertRule, name=name).delete()
        return Response(status=status.HTTP_204_NO_CONTENT)


class AlertsView(APIView):
    """What is pending, fires, or did."""

    @extend_schema(
        operation_id="live_alerts_list",
        summary="Alerts",
        parameters=[
            OpenApiParameter("state", str, enum=list(STATES), description="Default: open, pending and firing ones."),
            OpenApiParameter("rule", str, description="Name of a rule."),
            OpenApiParameter("watch", str, description="Name of a watch."),
            OpenApiParameter("severity", str, enum=list(AlertRule.Severity.values)),
            WINDOW[0],
            WINDOW[1],
            OpenApiParameter("limit", int, description=f"From 1 to {MOST}; default {USUAL}."),
        ],
        responses={200: AlertsSerializer, 400: REFUSED},
    )
    def get(self, request: Request) -> Response:
        given = request.query_params
        limit = whole(given, "limit", USUAL, 1, MOST)
        found = _chosen(request)
        silenced = silences.active(now_ms())
        rows = [alert_as_json(each, silenced) for each in found[:limit]]
        return Response({"alerts": rows, "more": max(found.count() - limit, 0)})


def _chosen(request: Request) -> QuerySet[Alert]:
    """Raises ValidationError."""
    given, now = request.query_params, now_ms()
    state = given.get("state", "open")
    if state not in STATES:
        raise ValidationError({"state": f"must be one of {', '.join(STATES)}, got {state[:60]!r}"})
    found = Alert.objects.filter(STATES[state])
    if given.get("start"):
        start_ms = moment(given, "start", now, now)
        found = found.filter(Q(resolved_ms=None) | Q(resolved_ms__gte=start_ms))
    if given.get("end"):
        found = found.filter(since_ms__lt=moment(given, "end", now, now))
    for field, column in (("rule", "rule_name"), ("watch", "watch"), ("severity", "severity")):
        if given.get(field):
            found = found.filter(**{column: given[field]})
    return found


class AlertView(APIView):
    """One alert."""

    @extend_schema(operation_id="live_alerts_retrieve", summary="An alert", responses=AlertSerializer)
    def get(self, request: Request, alert_id: int) -> Response:
        alert = get_object_or_404(Alert, pk=alert_id)
        return Response(alert_as_json(alert, silences.active(now_ms())))


class AcknowledgeView(APIView):
    """Somebody has seen it."""

    permission_classes = (IsAuthenticated,)

    @extend_schema(
        operation_id="live_alerts_acknowledge",
        summary="Acknowledge an alert",
        request=CommentSerializer,
        responses={200: AlertSerializer, 400: REFUSED},
    )
    def post(self, request: Request, alert_id: int) -> Response:
        alert = get_object_or_404(Alert, pk=alert_id)
        given = body(request, ("comment",))
        if unknown := [field for field in given if field != "comment"]:
            raise ValidationError({str(unknown[0])[:100]: "is not a field here; allowed: comment"})
        with refusing():
            acknowledging.acknowledge(alert, by(request), given.get("comment", ""), now_ms())
        return Response(alert_as_json(alert, silences.active(now_ms())))

    @extend_schema(
        operation_id="live_alerts_unacknowledge",
        summary="Take the acknowledgement of an alert back",
        responses={204: None, 400: REFUSED},
    )
    def delete(self, request: Request, alert_id: int) -> Response:
        with refusing():
            acknowledging.take_back(get_object_or_404(Alert, pk=alert_id))
        return Response(status=status.HTTP_204_NO_CONTENT)
