"""Every page in both themes and on two screens: nothing that axe-core finds, and nothing wider than the window."""

import itertools
import json
import time
from pathlib import Path

import pytest

from frontend.urls import urlpatterns

AXE = (Path(__file__).parent / "vendor" / "axe-core" / "axe.min.js").read_text()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
WIDTHS = {"light": 1280, "dark": 390}
"""All rules are tried in both themes and at both widths: which colours there are does not move anything."""
CASE = "case-study-prfaas-pd"
H20, H200 = "internal-1t-hybrid-h20x8", "internal-1t-hybrid-h200x8"

PAGES = {
    "case-study": ["/case-study/", "/case-study/?t=abc&np=99&scenario=zzz"],
    "bandwidth-wall": ["/bandwidth-wall/?link=case-study-100g", "/bandwidth-wall/?gpus=many&headroom=2"],
    "accuracy": ["/accuracy/"],
    "accuracy-measurement": ["/accuracy/minimax-m2-5-b200x4-vllm-0-17-0-fp8/"],
    "accuracy-refit": ["/accuracy/minimax-m2-5-b200x4-vllm-0-17-0-fp8/refit/"],
    "comparisons": ["/compare/"],
    "comparison": ["/compare/case-study/", "/compare/nobody/"],
    "comparison-report": ["/compare/case-study/report/"],
    "comparison-scenario": [f"/compare/case-study/scenarios/{CASE}/"],
    "comparison-step": [f"/compare/case-study/step/?candidate={CASE}&tuned=true&factors=chips"],
    "save-comparison": ["/compare/case-study/save/"],
    "optimiser": ["/optimiser/"],
    "optimiser-clusters": [f"/optimiser/clusters/?scenario={CASE}"],
    "optimiser-question": [
        f"/optimiser/{problem}/?scenario={CASE}" for problem in ("equal_cost", "least_cost", "front", "break_even")
    ],
    "simulate": [f"/simulate/?scenario={CASE}"],
    "live": ["/live/", "/live/?at=yesterday&range=3weeks"],
    "live-sources": ["/live/sources/"],
    "live-replay": ["/live/replay/"],
    "new-live-source": ["/live/sources/new/"],
    "live-mapping": ["/live/mapping/"],
    "change-live-mapping": ["/live/mapping/vllm/"],
    "live-alerts": ["/live/alerts/"],
    "live-alert-rules": ["/live/alerts/rules/"],
    "new-live-alert-rule": [
        f"/live/alerts/rules/new/?kind={kind}" for kind in ("threshold", "rate", "forecast", "advice", "burn", "source")
    ],
    "change-live-alert-rule": ["/live/alerts/rules/source-lost/"],
    "remove-live-alert-rule": ["/live/alerts/rules/source-lost/remove/"],
    "live-silences": ["/live/alerts/silences/"],
    "new-live-silence": ["/live/alerts/silences/new/"],
    "live-receivers": ["/live/alerts/receivers/"],
    "new-live-receiver": ["/live/alerts/receivers/new/"],
    "live-annotations": ["/live/alerts/annotations/"],
    "new-live-annotation": ["/live/alerts/annotations/new/"],
    "live-hooks": ["/live/alerts/hooks/"],
    "new-live-hook": ["/live/alerts/hooks/new/"],
    "live-targets": ["/live/targets/"],
    "new-live-target": ["/live/targets/new/"],
    "new-live-pull": ["/live/pulls/new/"],
    "scenarios-page": ["/scenarios/"],
    "new-scenario": ["/scenarios/new/"],
    "scenario-page": [f"/scenarios/{CASE}/"],
    "import-page": ["/catalogue/import/?kind=model"],
    "jobs-page": ["/jobs/"],
    "catalogue": ["/catalogue/"],
    "catalogue-list": [
        f"/catalogue/{kind}/"
        for kind in ("hardware", "models", "profiles", "traffic", "links", "prices", "measurements")
    ],
    "catalogue-new": [f"/catalogue/{kind}/new/" for kind in ("models", "profiles", "traffic", "links", "prices")],
    "catalogue-entry": [
        "/catalogue/hardware/h200/",
        "/catalogue/models/internal-1t-hybrid/",
        f"/catalogue/profiles/{H20}/",
        "/catalogue/traffic/synthetic-conversations/",
        "/catalogue/traffic/case-study/",
        "/catalogue/links/aws-us-east-1-us-west-2/",
        "/catalogue/prices/h20-ucloud-compshare-undated/",
        "/catalogue/measurements/minimax-m2-5-b200x4-vllm-0-17-0-fp8/",
    ],
    "catalogue-edit": ["/catalogue/hardware/h200/edit/", "/catalogue/prices/h20-ucloud-compshare-undated/edit/"],
    "catalogue-clone": ["/catalogue/hardware/h200/clone/"],
    "catalogue-delete": ["/catalogue/hardware/h200/delete/"],
    "catalogue-history": ["/catalogue/hardware/h200/history/"],
    "catalogue-revision": ["/catalogue/hardware/h200/history/1/"],
}
"""Where each kind of page can be seen, by the name of its address; of jobs and imports see `made`."""
MADE = {
    "job-page", "import-preview", "live-source-page", "change-live-source", "revoke-live-token",
    "change-live-target", "change-live-pull", "remove-live-target", "remove-live-pull",
    "live-receiver-page", "change-live-receiver", "remove-live-receiver",
    "live-hook-page", "remove-live-hook", "revoke-live-hook-token", "live-alert-page",
    "change-live-annotation", "remove-live-annotation",
}  # fmt: skip
NO_PAGES = {
    "home", "logout", "case-study-under-load", "keep-scenario", "archive-scenario", "scenario-file",
    "job-result-json", "job-result-csv", "job-points", "job-scenario", "job-replications", "job-variants",
    "archive-comparison", "comparison-file", "comparison-table", "simulate-comparison",
    "catalogue-whole", "catalogue-csv", "catalogue-file", "catalogue-archive", "catalogue-restore",
    "catalogue-restore-revision", "test-live-target", "test-live-pull",
    "acknowledge-live-alert", "switch-live-alert-rule", "end-live-silence", "test-live-receiver", "switch-live-hook",
    "new-live-hook-token", "end-live-annotation",
    "switch-live-source", "new-live-token", "remove-live-mapping", "manage-quarantine",
}  # fmt: skip
"""Names of addresses that lead elsewhere, are downloads, or are only posted to. The API's own page is not among the
pages: it is Swagger's, whose colours and sizes are not ours."""

PRICES = [{"name": "h200", "usd_per_gpu_hour": 2.0}, {"name": "h20", "usd_per_gpu_hour": 1.0}]
FEW = {"prfaas": [{"profile": H200, "most": 2}], "pd": [{"profile": H20, "most": 4}]}
SIMULATION = {"scenario": CASE, "load": 0.6, "requests": 2000, "replications": 2}
QUESTION = {"scenario": CASE, "prices": PRICES}
BREAK_EVEN = {"problem": "break_even", "vary": {"parameter": "price_ratio", "lowest": 1.0, "highest": 5.0}}
JOBS = [
    ("simulations", SIMULATION),
    ("studies", {"kind": "sweep", "simulation": SIMULATION, "vary": "load", "values": [0.5, 0.7]}),
    ("procurement", QUESTION | FEW | {"problem": "equal_cost"}),
    ("procurement", QUESTION | FEW | {"problem": "front", "rate_rps": 1.2, "rates": 2}),
    ("procurement", QUESTION | BREAK_EVEN),
    (
        "procurement",
        {
            "problem": "clusters",
            "prfaas": [{"name": "west", "hardware": "h200", "gpus_per_instance": 8, "instances": 4}],
            "links": [{"name": "a", "bandwidth_bps": 100e9}],
            "pd": [{"name": "one", "scenario": CASE, "share": 1.0, "routes": [{"prfaas": "west", "link": "a"}]}],
        },
    ),
]
"""One job of each kind whose answer has a page of its own, as small as it may be."""
ASKED = {
    "targets": {"name": "no-metrics", "url": "http://127.0.0.1:9/metrics", "labels": {"role": "prefill"}},
    "pulls": {"name": "no-prometheus", "url": "http://127.0.0.1:9", "queries": [{"query": "up"}]},
}
"""A target and a server of queries, neither of which answers."""
UNKNOWN_THRESHOLD = {
    "name": "no-t", "title": "Nobody tells the threshold", "kind": "threshold", "no_data": "alert", "no_data_for_s": 0,
    "spec": {"figure": "threshold_tokens", "fire": 1e9, "clear": 1e9}, "runbook": "Enter it by hand.",
}  # fmt: skip
"""A rule that fires by itself."""
CONFIG = {
    "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 512, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 8192, "torch_dtype": "bfloat16",
}  # fmt: skip


def fired(server):
    """The number of an alert that fires, as it does as soon as the server has looked."""
    end = time.monotonic() + 60
    while not (alerts := server.request("GET", "/api/v1/live/alerts/?state=firing&rule=no-t").document["alerts"]):
        assert time.monotonic() < end
        time.sleep(0.1)
    return alerts[0]["id"]


@pytest.fixture(scope="module")
def made(server, half_hour):
    """Addresses of what is not there from the beginning: jobs that ended, a file that was read, what is scraped."""
    replay = (f"live/watches/{half_hour.watch}/replays", half_hour.window | {"replications": 2})
    answers = [server.request("POST", f"/api/v1/{address}/", body) for address, body in [*JOBS, replay]]
    refused = [answer for answer in answers if answer.status != 201]
    assert not refused, [answer.document for answer in refused]
    jobs = [answer.document["id"] for answer in answers]
    read = server.bring("model", "tiny.json", json.dumps(CONFIG).encode())
    for job in jobs:
        ended = server.when_ended(job, within_s=60)
        assert ended["state"] == "succeeded", ended
    asked = [
        f"/live/{kind}/{described['name']}/"
        for kind, described in ASKED.items()
        if server.request("POST", f"/api/v1/live/{kind}/", described).status == 201
    ]
    assert len(asked) == len(ASKED)
    source = server.request("POST", "/api/v1/live/sources/", {"name": "gateway-a", "labels": {"role": "router"}})
    token = server.request("POST", "/api/v1/live/sources/gateway-a/tokens/")
    assert (source.status, token.status) == (201, 201)
    sources = [f"/live/sources/gateway-a/{end}" for end in ("", "change/", f"tokens/{token.document['id']}/revoke/")]
    receiver = {"name": "pager", "kind": "webhook", "url": "http://127.0.0.1:9/", "matchers": {"severity": "page"}}
    silence = {"matchers": {"link": "works*"}, "until_ms": round(time.time() * 1000) + 3_600_000, "comment": "works"}
    for address, body in (
        ("receivers", receiver),
        ("hooks", {"name": "grafana-a", "kind": "grafana"}),
        ("silences", silence),
        ("alert-rules", UNKNOWN_THRESHOLD),
    ):
        assert server.request("POST", f"/api/v1/live/{address}/", body).status == 201
    told = server.request("POST", "/api/v1/live/hooks/grafana-a/tokens/").document["id"]
    note = server.request("POST", "/api/v1/live/annotations/", {"text": "router 1.4 rolled out", "tags": {"by": "ci"}})
    sources += [f"/live/alerts/annotations/{note.document['id']}/{end}" for end in ("", "remove/")]
    sources += [f"/live/alerts/receivers/pager/{end}" for end in ("", "change/", "remove/")]
    sources += [f"/live/alerts/{fired(server)}/"]
    sources += [f"/live/alerts/hooks/grafana-a/{end}" for end in ("", "remove/", f"tokens/{told}/revoke/")]
    pages = [f"/jobs/{job}/" for job in jobs] + [f"/catalogue/import/{read['id']}/"]
    return pages + sources + asked + [f"{address}remove/" for address in asked]


def found(page):
    """What axe-core complains of: the rule, the element, and what is wrong with it."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE)
    # None of the rules looks into style sheets or sounds, which it would fetch again for each page.
    options = {"runOnly": RULES, "resultTypes": ["violations"], "preload": False}
    answer = page.evaluate("(options) => axe.run(document, options)", options)
    return [
        f"{rule['id']}: {' '.join(map(str, node['target']))}: {' '.join(node['failureSummary'].split())}"
        for rule in answer["violations"]
        for node in rule["nodes"]
    ]


def draw_all(page):
    """Charts are drawn, or say that there is nothing to draw, when they come into view."""
    for chart in page.locator("[data-chart]").all():
        if chart.is_visible():
            chart.scroll_into_view_if_needed()
            chart.locator(".main-svg:visible, [data-empty]:visible").first.wait_for()


WIDER = """() => [...document.querySelectorAll("table.cards")]
  .filter(({ parentElement: { scrollWidth, clientWidth } }) => scrollWidth > clientWidth).length"""
"""Tables whose rows are cards on a phone, so that nothing there is out of sight."""


def complaints(page, theme):
    """What is wrong with the page in the tab."""
    width = WIDTHS[theme]
    page.set_viewport_size({"width": width, "height": 900})
    if (wide := page.evaluate("() => document.documentElement.scrollWidth")) > width:
        yield f"at {width} px: it is {wide} px wide"
    if width < 640 and page.evaluate(WIDER):
        yield f"at {width} px: a table of cards scrolls sideways"
    yield from (f"{theme}, at {width} px: {each}" for each in found(page))


def seen_in(page, address, themes):
    """What is wrong with the page in one theme, which it has, and then in the other."""
    wrong = []
    for theme in themes:
        if theme != themes[0]:
            page.locator("[data-theme-toggle]").click()
        assert page.locator("html").get_attribute("data-bs-theme") == theme
        draw_all(page)
        wrong += [f"{address} {each}" for each in complaints(page, theme)]
    return wrong


def test_no_page_keeps_anybody_out(visit, made):
    visitor = visit(color_scheme="light")
    wrong = []
    themes = ["light", "dark"]
    for address in ["/login/", *itertools.chain(*PAGES.values()), *made, "/no-such-page/"]:
        page = visitor.open(address)
        wrong += seen_in(page, address, themes)
        themes.reverse()  # the next page is first seen as this one was last
        if address == "/login/":
            visitor.sign_in()
    # The browser itself tells of the page that is not there, and of what was refused.
    visitor.complaints = [told for told in visitor.complaints if "with a status of 4" not in told]
    assert not wrong, "\n".join(wrong)


MISTAKES = {
    f"/simulate/?scenario={CASE}": ("Requests", "Simulate"),
    f"/optimiser/equal_cost/?scenario={CASE}": ("Target utilisation", "Ask"),
    "/catalogue/hardware/new/": ("Memory GB", "Store hardware"),
    "/live/replay/": ("From", "Replay"),
}
"""Something that is no number, and what sends it."""


def test_no_form_that_tells_of_mistakes_does(visitor, half_hour):
    page, wrong, themes = visitor.open("/login/"), [], ["light", "dark"]
    visitor.sign_in()
    for address, (label, button) in MISTAKES.items():
        visitor.open(address)
        page.get_by_label(label, exact=True).fill("few")
        page.get_by_role("button", name=button, exact=True).click()
        page.locator("[aria-invalid=true]").first.wait_for()
        wrong += seen_in(page, address, themes)
        themes.reverse()
    assert not wrong, "\n".join(wrong)


def test_every_kind_of_page_is_among_them():
    names = {each.name for each in urlpatterns if hasattr(each, "name")}
    assert names - {"login"} - MADE - NO_PAGES <= PAGES.keys()
