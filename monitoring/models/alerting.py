"""What is alerted on, what was, who is told, and annotations from whatever side they come."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from monitoring.models.secrets import Secret


class AlertRule(models.Model):
    """What makes an alert; `spec` has the fields of its kind, see monitoring.alerts.kinds."""

    class Kind(models.TextChoices):
        """What is looked at."""

        THRESHOLD = "threshold", "a figure beyond a level"
        RATE = "rate", "a figure that changes fast"
        FORECAST = "forecast", "a figure that is about to reach a level"
        ADVICE = "advice", "a recommendation that differs from what is in force"
        BURN = "burn", "an SLO whose error budget burns"
        SOURCE = "source", "a source of telemetry that is lost"

    class Severity(models.TextChoices):
        """How bad it is."""

        CRITICAL = "critical"
        WARNING = "warning"
        INFO = "info"

    class NoData(models.TextChoices):
        """What is made of a figure that nobody tells."""

        ALERT = "alert", "an alert"
        OK = "ok", "nothing is wrong"
        KEEP = "keep", "as it was last"

    name = models.SlugField(max_length=100, unique=True)
    title = models.CharField(max_length=200, blank=True, default="")
    kind = models.CharField(max_length=20, choices=Kind.choices)
    watch = models.CharField(max_length=100, blank=True, default="", help_text="Name of a watch; none: of all.")
    spec = models.JSONField(default=dict)
    for_s = models.FloatField(default=60.0, help_text="So long it must hold without a break.")
    no_data = models.CharField(max_length=10, choices=NoData.choices, default=NoData.KEEP)
    no_data_for_s = models.FloatField(default=120.0, help_text="After so long without data that holds.")
    severity = models.CharField(max_length=10, choices=Severity.choices, default=Severity.WARNING)
    labels = models.JSONField(default=dict, help_text="Of its alerts, beside those that each has by itself.")
    runbook = models.TextField(blank=True, default="")
    runbook_url = models.CharField(max_length=500, blank=True, default="")
    enabled = models.BooleanField(default=True)
    problem = models.CharField(max_length=300, blank=True, default="", help_text="Why it could not be evaluated.")
    changed_at = models.DateTimeField(auto_now=True)
    changed_by = models.CharField(max_length=150, blank=True, default="")

    class Meta:
        ordering: ClassVar[list[str]] = ["name"]

    def __str__(self) -> str:
        return self.name


class Alert(models.Model):
    """An alert that is pending, fires, or did. Its row is all that a process knows of it: another one goes on."""

    class State(models.TextChoices):
        """Pending ones that never fired leave no row."""

        PENDING = "pending"
        FIRING = "firing"
        RESOLVED = "resolved"

    rule = models.ForeignKey(AlertRule, on_delete=models.SET_NULL, null=True, related_name="alerts")
    rule_name = models.CharField(max_length=100, help_text="As it was called then.")
    key = models.CharField(max_length=250, help_text="Of what: watch and figure, or source.")
    watch = models.CharField(max_length=100, blank=True, default="")
    figure = models.CharField(max_length=150, blank=True, default="")
    state = models.CharField(max_length=10, choices=State.choices)
    reason = models.CharField(max_length=10, default="value", help_text="value, or no_data.")
    severity = models.CharField(max_length=10)
    labels = models.JSONField(default=dict)
    text = models.CharField(max_length=500, blank=True, default="")
    runbook = models.TextField(blank=True, default="")
    runbook_url = models.CharField(max_length=500, blank=True, default="")
    value = models.FloatField(null=True)
    since_ms = models.BigIntegerField(help_text="Since when it holds; while it fires: since when it does.")
    fired_ms = models.BigIntegerField(null=True)
    resolved_ms = models.BigIntegerField(null=True)
    seen_ms = models.BigIntegerField(default=0, help_text="When its value and text were written last.")
    blind_ms = models.BigIntegerField(null=True, help_text="Since when there is no data.")
    acknowledged_by = models.CharField(max_length=150, blank=True, default="")
    acknowledged_ms = models.BigIntegerField(null=True)
    comment = models.CharField(max_length=500, blank=True, default="", help_text="Of who acknowledged it.")

    class Meta:
        ordering: ClassVar[list[str]] = ["-since_ms", "-pk"]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["state", "since_ms"], name="alert_state"),
            models.Index(fields=["resolved_ms"], name="alert_resolved"),
        ]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            # Two leaders that do not know of one another cannot both begin it.
            models.UniqueConstraint(
                fields=["rule", "key"], condition=~models.Q(state="resolved"), name="alert_once_at_a_time"
            )
        ]

    def __str__(self) -> str:
        return f"{self.rule_name} {self.key}: {self.state}"


class Silence(models.Model):
    """Alerts with these labels are told to nobody for a while; they are seen all the same."""

    matchers = models.JSONField(help_text="Label to value, in which * stands for any characters; all must match.")
    starts_ms = models.BigIntegerField()
    until_ms = models.BigIntegerField(db_index=True)
    by = models.CharField(max_length=150, blank=True, default="")
    comment = models.CharField(max_length=500, blank=True, default="")

    class Meta:
        ordering: ClassVar[list[str]] = ["-until_ms", "-pk"]

    def __str__(self) -> str:
        return f"{self.matchers} until {self.until_ms}"


class Note(models.Model):
    """An annotation: at a time, or from one to another; open while `end_ms` of a span is not known."""

    class Kind(models.TextChoices):
        """What it is, or of another system where it comes from."""

        NOTE = "note", "a note"
        DEPLOY = "deploy", "a deployment"
        THRESHOLD = "threshold", "another threshold"
        MAINTENANCE = "maintenance", "work on something"
        INCIDENT = "incident", "something broke"
        ALERTMANAGER = "alertmanager", "from an Alertmanager"
        GRAFANA = "grafana", "from a Grafana"
        ALERT = "alert", "an alert of ours"

    ts_ms = models.BigIntegerField(db_index=True)
    end_ms = models.BigIntegerField(null=True)
    is_open = models.BooleanField(default=False, help_text="A span that has not ended yet.")
    kind = models.CharField(max_length=20, choices=Kind.choices, default=Kind.NOTE)
    text = models.CharField(max_length=1000)
    tags = models.JSONField(default=dict)
    watch = models.CharField(max_length=100, blank=True, default="")
    by = models.CharField(max_length=150, blank=True, default="")
    fingerprint = models.CharField(max_length=200, unique=True, null=True, blank=True)
    subject = models.CharField(
        max_length=200, blank=True, default="", db_index=True, help_text="What the sender calls the same alert by."
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["-ts_ms", "-pk"]

    def __str__(self) -> str:
        return self.text[:60]


class Receiver(models.Model):
    """Whom alerts are sent to, and how that went last."""

    class Kind(models.TextChoices):
        """How it is spoken to."""

        ALERTMANAGER = "alertmanager", "Alertmanager, API v2"
        WEBHOOK = "webhook", "webhook: JSON, signed"

    name = models.SlugField(max_length=100, unique=True)
    kind = models.CharField(max_length=20, choices=Kind.choices)
    url = models.CharField(max_length=500)
    secret_file = models.CharField(
        max_length=100, blank=True, default="", help_text="Its name in the credentials' directory."
    )
    matchers = models.JSONField(default=dict, help_text="Only alerts with these labels; {}: all.")
    timeout_s = models.FloatField(default=5.0)
    repeat_s = models.FloatField(default=60.0, help_text="Of an Alertmanager: how often it is told what fires.")
    enabled = models.BooleanField(default=True)
    due_ms = models.BigIntegerField(default=0, help_text="Not asked again before.")
    failures = models.PositiveIntegerField(default=0, help_text="In a row.")
    last_sent_ms = models.BigIntegerField(null=True)
    last_error = models.CharField(max_length=500, blank=True, default="")
    last_error_ms = models.BigIntegerField(null=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["name"]

    def __str__(self) -> str:
        return self.name


class Delivery(models.Model):
    """A message to a webhook: written with what it tells of, sent afterwards, tried again until it is taken."""

    receiver = models.ForeignKey(Receiver, on_delete=models.CASCADE, related_name="deliveries")
    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=10, help_text="firing or resolved.")
    payload = models.JSONField()
    created_ms = models.BigIntegerField()
    claimed_ms = models.BigIntegerField(default=0, help_text="Until then somebody is sending it.")
    attempts = models.PositiveIntegerField(default=0)
    done_ms = models.BigIntegerField(null=True)
    given_up = models.BooleanField(default=False)
    error = models.CharField(max_length=500, blank=True, default="")

    class Meta:
        ordering: ClassVar[list[str]] = ["pk"]
        verbose_name_plural = "deliveries"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["receiver", "alert", "event"], name="delivery_once")
        ]

    def __str__(self) -> str:
        return f"{self.event} to {self.receiver_id}"


class Hook(models.Model):
    """Who may tell us of events: an Alertmanager, a Grafana, a program. They become annotations."""

    class Kind(models.TextChoices):
        """What it sends."""

        ALERTMANAGER = "alertmanager", "Alertmanager's webhook"
        GRAFANA = "grafana", "Grafana's webhook"
        API = "api", "annotations by the API"

    name = models.SlugField(max_length=100, unique=True)
    kind = models.CharField(max_length=20, choices=Kind.choices)
    watch = models.CharField(max_length=100, blank=True, default="", help_text="That its events are of; none: all.")
    enabled = models.BooleanField(default=True)
    last_seen_ms = models.BigIntegerField(null=True)
    accepted = models.PositiveBigIntegerField(default=0, help_text="Events.")
    last_error = models.CharField(max_length=500, blank=True, default="")
    last_error_ms = models.BigIntegerField(null=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["name"]

    def __str__(self) -> str:
        return self.name


class HookToken(Secret):
    """A secret by which a hook is known; only its hash is kept."""

    hook = models.ForeignKey(Hook, on_delete=models.CASCADE, related_name="tokens")

    def __str__(self) -> str:
        return f"{self.hook_id}: {self.hint}…"


class Remembered(models.Model):
    """A figure every ten seconds, of those whose course a rule looks at: who leads next begins with them."""

    watch = models.CharField(max_length=100)
    figure = models.CharField(max_length=150)
    ts_ms = models.BigIntegerField()
    value = models.FloatField()

    class Meta:
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=["ts_ms"], name="remembered_time")]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["watch", "figure", "ts_ms"], name="remembered_once")
        ]

    def __str__(self) -> str:
        return f"{self.watch} {self.figure} = {self.value:g}"
