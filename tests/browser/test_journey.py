"""A capacity planner's whole day, by what is seen on the pages: from the case study and own files to the report.

With SCREENSHOTS=docs/screenshots it also makes the pictures of the documentation.
"""

import csv
import json
import os
import random
import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.test_optimiser import answer
from tests.patience import UNTIL_RESULT_MS

CONFIG = {
    "model_type": "qwen3_next", "num_hidden_layers": 48, "hidden_size": 2048, "num_attention_heads": 16,
    "num_key_value_heads": 2, "head_dim": 256, "full_attention_interval": 8, "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16,
    "linear_num_value_heads": 32, "max_position_embeddings": 262144, "torch_dtype": "bfloat16",
}  # fmt: skip
PRICES = """hardware,date,provider,kind,usd_per_gpu_hour
b200,2026-11-20,Our contract,on-demand,4.00
l40s,2026-11-20,Our contract,on-demand,1.00
"""
BENCHES = {
    "b200": "tokens,ttft_s\n1024,0.06\n8192,0.30\n32768,1.15\n131072,5.60\n",
    "l40s": "tokens,ttft_s\n1024,0.50\n8192,4.00\n32768,17.00\n131072,90.00\n",
}
MODEL, TRAFFIC, OURS, CHEAPER = "our-model", "our-hour", "our-service", "our-service-equal-cost"
TITLE = "Our service beside the published one"
HOMOGENEOUS, PRFAAS = "case-study-homogeneous", "case-study-prfaas-pd"


def request_log(requests=600, per_s=2.5, seed=1):
    """Prompts of 5,000 tokens in the middle, and some of a hundred thousand."""
    draw, at_s, rows = random.Random(seed), 0.0, ["arrival_s,input_tokens,output_tokens"]
    for _ in range(requests):
        at_s += draw.expovariate(per_s)
        rows.append(f"{at_s:.3f},{min(int(draw.lognormvariate(8.5, 1.2)), 131072)},{draw.randint(50, 500)}")
    return "\n".join(rows) + "\n"


def decode_limit():
    """req/s of one decode instance: 16 requests at once, a step of 30 ms for each token of the log's mean answer."""
    answers = [int(line["output_tokens"]) for line in csv.DictReader(request_log().splitlines())]
    return f"{16 / (0.030 * sum(answers) / len(answers)):.3f}"


class Planner:
    """One tab and what a planner does in it."""

    def __init__(self, visitor, directory, pictures):
        self.visitor, self.page = visitor, visitor.page
        self.directory, self.pictures = directory, pictures

    def go(self, name):
        """By the navigation that every page has."""
        self.page.get_by_role("navigation", name="Main").get_by_role("link", name=name, exact=True).click()
        self.page.wait_for_load_state()

    def picture(self, name, *places):
        """From the top of the first of the places to the end of the last, as wide as the page."""
        boxes = [place.bounding_box() for place in places]
        scrolled = self.page.evaluate("scrollY")
        top = min(box["y"] for box in boxes) + scrolled
        height = max(box["y"] + box["height"] for box in boxes) + scrolled - top
        clip = {"x": 0, "y": max(top - 6, 0), "width": 1280, "height": height + 12}
        self.page.screenshot(path=self.pictures / f"{name}.png", clip=clip, full_page=True)

    def see(self, name):
        """A chart is drawn when it comes into view."""
        chart = self.page.locator(f'[data-chart="{name}"]')
        chart.wait_for(timeout=UNTIL_RESULT_MS)
        chart.scroll_into_view_if_needed()
        chart.locator(".main-svg").first.wait_for(timeout=UNTIL_RESULT_MS)
        return chart

    def part(self, title):
        """A section of the page: what it shows is worked out when it comes into view."""
        part = self.page.get_by_role("region", name=title, exact=True)
        part.get_by_role("heading", name=title, exact=True).scroll_into_view_if_needed()
        return part

    # --- 1 and 2: what is there, and what is brought ---

    def looks_round(self):
        self.visitor.open("/")
        table = self.page.locator('[data-form-view="exact"] table').first
        # ours beside the printed one
        expect(table.locator('[data-row="Λ_max"]')).to_contain_text("3.122")
        expect(table.locator('[data-row="Λ_max"]')).to_contain_text("3.24")

    def signs_in(self):
        self.page.get_by_role("link", name="Sign in", exact=True).click()
        self.visitor.sign_in()

    def hands_in(self, kind, name, text):
        path = self.directory / name
        path.write_text(text)
        self.go("Catalogue")
        self.page.get_by_role("link", name=re.compile("Import")).first.click()
        self.page.get_by_role("radio", name=kind).check()
        self.page.get_by_label("File").set_input_files(path)
        self.page.get_by_role("button", name="Read it").click()
        self.page.wait_for_url("**/catalogue/import/*/")

    def stores(self, entries=1):
        self.page.get_by_role("button", name=re.compile(f"^Store {entries} entr")).click()

    def brings_a_model(self):
        self.hands_in("Hugging Face config", f"{MODEL}.json", json.dumps(CONFIG))
        self.stores()
        expect(self.page).to_have_url(re.compile(f"/catalogue/models/{MODEL}/$"))

    def brings_prices(self):
        self.hands_in("Price list", "prices.csv", PRICES)
        self.stores(2)
        expect(self.page).to_have_url(re.compile("/catalogue/$"))

    def brings_a_benchmark(self, chip):
        self.hands_in("Benchmark result", f"our-{chip}.csv", BENCHES[chip])
        self.page.get_by_label("model", exact=True).select_option(MODEL)
        self.page.get_by_label("hardware", exact=True).select_option(chip)
        self.page.get_by_label("gpus_per_instance").fill("8")
        self.page.get_by_role("button", name="Read again").click()
        self.stores()
        expect(self.page).to_have_url(re.compile(f"/catalogue/profiles/our-{chip}/$"))

    def brings_a_trace(self):
        self.hands_in("Request trace", f"{TRAFFIC}.csv", request_log())
        self.stores()
        self.page.wait_for_url("**/jobs/*/")
        self.page.get_by_role("link", name=f"Open {TRAFFIC}").click(timeout=UNTIL_RESULT_MS)
        expect(self.page).to_have_url(re.compile(f"/catalogue/traffic/{TRAFFIC}/$"))

    def puts_a_scenario_together(self):
        page = self.page
        self.go("Scenarios")
        page.get_by_role("main").get_by_role("link", name=re.compile("New|Put one together")).first.click()
        page.get_by_label("Name").fill(OURS)
        page.get_by_label("Title").fill("Our service")
        page.get_by_label("Model").select_option(MODEL)
        page.get_by_label("Traffic").select_option(TRAFFIC)
        remote, local = (page.get_by_role("group", name=name) for name in ("PrfaaS: remote prefill", "PD: local"))
        remote.get_by_label("Profile").select_option("our-b200")
        remote.get_by_label("Instances").fill("2")
        remote.get_by_label("Link").select_option("aws-us-east-1-us-west-2")
        remote.get_by_label("Threshold t").fill("16000")
        local.get_by_label("Profile").select_option("our-l40s")
        local.get_by_label("Instances").fill("8")
        local.get_by_label("of them prefill").fill("4")
        local.get_by_label("Requests at once").fill("16")
        local.get_by_label("Decode step").fill("30")
        page.get_by_role("button", name="Store scenario").click()
        expect(page).to_have_url(re.compile(f"/scenarios/{OURS}/$"))

    # --- 3 to 5: what if, what is best, and under load ---

    def binds(self, words):
        expect(self.page.locator('[data-out="binding"]')).to_have_text(words)

    def moves(self):
        page = self.page
        self.visitor.whatif_ms()
        self.binds("Bound by PD-P.")
        page.get_by_label("Threshold t, log scale").fill("200")
        self.binds("Bound by PrfaaS compute.")
        page.get_by_label("Link bandwidth", exact=True).fill("0.5")
        self.binds("Bound by the link.")
        page.get_by_role("button", name="Reset", exact=True).click()
        page.get_by_role("slider", name="Split").fill("7")
        self.binds("Bound by PD-D.")
        expect(page.locator("#lambda-max")).to_have_text(decode_limit())

    def optimises(self):
        page = self.page
        page.get_by_role("link", name="What to buy instead?").click()
        page.get_by_role("button", name="Ask", exact=True).click()
        page.wait_for_url("**/jobs/*/")
        expect(answer(page)).to_contain_text(re.compile(r"carries \d+\.\d+ req/s for \d+\.\d\d USD/h: 1\.\d+ times"))
        expect(page.locator("[data-answer] .binding")).to_contain_text("Buy next: one")
        # the price is the one that was brought
        expect(page.locator('[data-table="prices"]')).to_contain_text("b200-our-contract-on-demand-2026-11-20")
        self.see("cost-parts")
        self.picture("optimiser", page.get_by_role("heading", level=1), page.locator("[data-costs]"))
        page.get_by_role("button", name="Save as scenario").click()
        page.wait_for_load_state()

    def simulates(self):
        page = self.page
        page.get_by_role("main").get_by_role("link", name="Simulate", exact=True).click()
        page.get_by_label("Requests", exact=True).fill("3000")
        page.get_by_label("Replications").fill("3")
        page.get_by_role("button", name="Simulate", exact=True).click()
        expect(answer(page)).to_have_text(re.compile(r"P90 TTFT is [\d.]+ s \[[\d.]+, [\d.]+\]; unloaded it would be"))
        self.see("ttft")
        # where it parts from the steady state is said in words
        expect(page.locator("[data-partings]")).to_contain_text("times the unloaded one")
        self.picture("simulate", page.get_by_role("heading", level=1), page.locator('[data-chart="ttft"]'))

    # --- 6: side by side ---

    def row(self, key):
        return self.page.locator(f'[data-table="comparison"] tr[data-row="{key}"]')

    def cell(self, key, title):
        """Of the deployment under that title; the unit stands before them all."""
        heads = self.page.locator('[data-table="comparison"] thead th')
        heads.first.wait_for()
        at = next(at for at, head in enumerate(heads.all_inner_texts()) if head.removesuffix(" baseline") == title)
        return self.row(key).locator("td").nth(at - 1)

    def puts_side_by_side(self):
        page = self.page
        self.go("Compare")
        page.get_by_role("button", name="Compare").click()
        expect(page.get_by_role("alert")).to_contain_text("none chosen")
        for name in (HOMOGENEOUS, PRFAAS, OURS, CHEAPER):
            page.get_by_role("checkbox", name=re.compile(f" {name}$")).check()
        page.get_by_role("button", name="Compare").click()
        page.wait_for_url("**/compare/-/**")
        page.get_by_label("Baseline", exact=True).select_option(label="Homogeneous PD")
        expect(page.locator('[data-table="comparison"] thead')).to_contain_text("Homogeneous PD baseline")
        page.get_by_label("changes to the baseline").check()
        # the paper prints 3.24 beside 2.11 req/s
        expect(self.cell("lambda_max_rps", "PrfaaS-PD")).to_contain_text("+53.6")
        page.get_by_label("values", exact=True).check()

    def prices_anew(self):
        page = self.page
        for chip, usd in (("b200", "3"), ("h200", "2"), ("h20", "1")):
            page.get_by_label(f"GPU-hour of {chip}", exact=True).fill(usd)
        # 16 GPUs at 3 dollars, and 96 at 1
        expect(self.cell("prfaas_usd_per_h", "Our service")).to_contain_text("48.00")
        expect(self.cell("usd_per_h", "Homogeneous PD")).to_contain_text("96.00")
        page.get_by_label("equal cost").check()
        # 32 + 64 GPUs at 2 and 1 dollars are dearer than 96 at 1
        expect(self.cell("gpus", "PrfaaS-PD")).not_to_contain_text("96")
        for title in ("Our service", "PrfaaS-PD"):
            assert float(re.match(r"[\d.]+", self.cell("usd_per_h", title).inner_text())[0]) <= 96 * 1.001
        page.get_by_label("as they are").check()
        expect(self.cell("gpus", "PrfaaS-PD")).to_contain_text("96")

    def moves_in_place(self):
        panel = self.page.get_by_role("region", name="What if")
        panel.get_by_label("Deployment").select_option(label="Our service")
        panel.get_by_role("slider", name="Split").fill("7")
        expect(self.cell("lambda_max_rps", "Our service")).to_contain_text(decode_limit())
        panel.get_by_role("button", name="Reset").click()
        expect(self.cell("lambda_max_rps", "Our service")).not_to_contain_text(decode_limit())

    def asks_where_the_gain_comes_from(self):
        page, part = self.page, self.part("Where the gain comes from")
        self.see("attribution-shapley")
        expect(part.get_by_label("Gain of")).to_have_value(PRFAAS)
        steps = part.locator("[data-steps] tr")
        # with faster chips 3 decode instances bind: 20 requests at once each, 1,024 tokens in steps of 25 ms
        expect(steps.nth(1)).to_contain_text("+ Chips")
        expect(steps.nth(1)).to_contain_text(f"{3 * 20 / (1024 * 0.025):.3f}")
        part.get_by_role("button", name="Chips later").click()
        expect(steps.nth(2)).to_contain_text("+ Chips")
        part.get_by_role("button", name="Chips earlier").click()
        expect(steps.nth(1)).to_contain_text("+ Chips")
        self.see("attribution-steps")
        self.picture("compare-attribution-light", part.locator(".head").first, part.locator("table").first)
        steps.nth(1).get_by_role("link", name="Open").click()
        page.wait_for_url("**/step/**")
        self.visitor.whatif_ms()
        expect(page.locator("#lambda-max")).to_have_text("2.344")
        page.get_by_role("link", name="Comparison, not stored").click()
        expect(self.cell("prfaas_usd_per_h", "Our service")).to_contain_text("48.00")

    def asks_what_it_depends_on(self):
        page, part = self.page, self.part("What it depends on")
        part.get_by_label("Deployment").select_option(label="PrfaaS-PD")
        expect(self.see("tornado-lambda_max_rps").locator("[data-caption]")).to_contain_text("PrfaaS-PD, 3.122 req/s")
        part = self.part("Where the ranking flips")
        part.get_by_label("First deployment").select_option(label="PrfaaS-PD")
        self.see("ratio-map")
        # by hand, at prices in those of an H20: (32 r + 64) / 3.122 = 96 / 2.033
        tie = part.get_by_role("row", name=re.compile("^Price of h200 "))
        expect(tie).to_contain_text("2.61")
        page.get_by_role("button", name="Dark").click()
        self.picture("compare-dark", part.get_by_role("heading").first, part.locator("[data-ties]"))
        page.get_by_role("button", name="Dark").click()
        part = self.part("How sure that is")
        self.see("spread")
        expect(part.locator("[data-sentence]")).to_contain_text(re.compile(r"is best in .* of 2,000 draws"))
        part = self.part("When it grows")
        self.see("growth")
        expect(part.locator("[data-sentences]")).to_contain_text("Homogeneous PD: It has no link.")

    def simulates_them(self):
        page = self.page
        part = self.part("Under load")
        part.get_by_label("Share", exact=True).fill("60")
        part.get_by_label("Requests", exact=True).fill("1000")
        part.get_by_label("Replications").fill("2")
        part.get_by_role("button", name="Simulate").click()
        page.wait_for_url("**#simulation")
        under_load = page.locator('[data-table="comparison"] tbody', has_text="60 %")
        expect(under_load).to_contain_text(re.compile(r"\[[\d.]+, [\d.]+\]"), timeout=UNTIL_RESULT_MS)

    def saves(self):
        page = self.page
        page.get_by_role("link", name="Save", exact=True).click()
        page.get_by_label("Name", exact=True).fill("for-the-boss")
        page.get_by_label("Title").fill(TITLE)
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page).to_have_url(re.compile("/compare/for-the-boss/$"))
        expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)
        expect(self.cell("prfaas_usd_per_h", "Our service")).to_contain_text("48.00")
        self.picture("compare-light", page.get_by_role("heading", level=1), self.row("usd_per_month"))

    def shown(self):
        return self.page.locator('[data-table="comparison"]').inner_text()

    def takes_files(self):
        """CSV and JSON say what the page shows, more exactly."""
        names = [HOMOGENEOUS, PRFAAS, OURS, CHEAPER]
        lines = list(csv.DictReader(self.downloads("CSV").read_text("utf-8-sig").splitlines()))
        rates = {line["scenario"]: float(line["value"]) for line in lines if line["metric"] == "lambda_max_rps"}
        found = json.loads(self.downloads("JSON").read_text())
        (row,) = [row for row in found["result"]["metrics"] if row["key"] == "lambda_max_rps"]
        assert [value["value"] for value in row["values"]] == list(rates.values())
        titles = {each["name"]: each["title"] for each in found["result"]["scenarios"]}
        for name in names:
            expect(self.cell("lambda_max_rps", titles[name])).to_contain_text(f"{rates[name]:.3f}")

    def downloads(self, name):
        with self.page.expect_download() as download:
            self.page.get_by_role("main").get_by_role("link", name=name, exact=True).click()
        return download.value.path()

    def hands_over_the_report(self):
        page = self.page
        page.get_by_role("link", name="Report", exact=True).click()
        # it is offered when all of it is worked out, seen or not
        expect(page.get_by_role("button", name="Print or save as PDF")).to_be_visible(timeout=UNTIL_RESULT_MS)
        written = page.pdf(print_background=True)
        assert written.startswith(b"%PDF")
        assert len(re.findall(rb"/Type\s*/Page\b", written)) > 1
        assert TITLE.encode("utf-16-be").hex().upper().encode() in written  # as PDF writes what is not plain
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=self.pictures / "report.png")
        page.get_by_role("link", name=TITLE).click()


def same_for_another(visit, planner):
    """The address of a view shows the same numbers to somebody who has nothing else."""
    page = planner.page
    page.get_by_label("GPU-hour of b200", exact=True).fill("5")
    expect(page).to_have_url(re.compile(r"price\.b200=5"))
    expect(planner.cell("prfaas_usd_per_h", "Our service")).to_contain_text("80.00")
    other = Planner(visit(), planner.directory, planner.pictures)
    other.page.goto(page.url)
    assert other.shown() == planner.shown()


def test_a_planner_goes_from_the_case_study_to_a_report_for_the_boss(visit, tmp_path):
    pictures = Path(os.environ.get("SCREENSHOTS") or tmp_path)
    planner = Planner(visit(), tmp_path, pictures)
    planner.looks_round()
    planner.signs_in()
    planner.brings_a_model()
    planner.brings_prices()
    for chip in BENCHES:
        planner.brings_a_benchmark(chip)
    planner.brings_a_trace()
    planner.puts_a_scenario_together()
    planner.moves()
    planner.optimises()
    planner.simulates()
    planner.puts_side_by_side()
    planner.prices_anew()
    planner.moves_in_place()
    planner.asks_where_the_gain_comes_from()
    planner.asks_what_it_depends_on()
    planner.simulates_them()
    planner.saves()
    planner.takes_files()
    planner.hands_over_the_report()
    same_for_another(visit, planner)
