"""Importing in a real browser: bring a file, see how it was read, answer what it does not say, store it."""

import gzip
import json
import re

import pytest
from playwright.sync_api import expect

from planner.catalog.traces.generate import conversations
from tests.patience import UNTIL_RESULT_MS

HYBRID = {
    "model_type": "qwen3_next", "architectures": ["Qwen3NextForCausalLM"], "num_hidden_layers": 8, "hidden_size": 1024,
    "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 128, "full_attention_interval": 4,
    "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 8,
    "linear_num_value_heads": 16, "max_position_embeddings": 32768, "torch_dtype": "bfloat16",
}  # fmt: skip

FALCON = {
    "model_type": "falcon_h1", "num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 4, "head_dim": 64,
    "num_key_value_heads": 2, "mamba_d_ssm": 1024, "mamba_d_state": 64, "mamba_n_heads": 16, "mamba_d_head": 64,
    "mamba_n_groups": 1, "mamba_d_conv": 4, "max_position_embeddings": 8192, "torch_dtype": "bfloat16",
}  # fmt: skip


@pytest.fixture
def brings(visitor, tmp_path):
    """Signs in and hands in a file."""

    def bring(kind, name, content):
        path = tmp_path / name
        path.write_bytes(content)
        page = visitor.open(f"/catalogue/import/?kind={kind}")
        if page.get_by_label("Username").count():
            visitor.sign_in()
        page.get_by_label("File").set_input_files(path)
        page.get_by_role("button", name="Read it").click()
        page.wait_for_url("**/catalogue/import/*/")
        return page

    return bring


def test_a_config_is_read_its_assumption_answered_and_the_model_stored(brings):
    page = brings("model", "tiny-hybrid.json", json.dumps(HYBRID).encode())
    mapping = page.get_by_role("region", name="Mapping")
    expect(mapping).to_contain_text("full_attention_interval")
    page.get_by_label("state_dtype").select_option("bf16")
    page.get_by_label("Title").fill("A tiny hybrid")
    page.get_by_role("button", name="Read again").click()
    expect(page.get_by_label("state_dtype")).to_have_value("bf16")
    page.get_by_role("button", name="Store 1 entry").click()
    expect(page).to_have_url(re.compile("/catalogue/models/tiny-hybrid/$"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("A tiny hybrid")
    # 2 full layers of 2 heads of 128 + 128 in bf16: 2 KiB a token.
    expect(page.locator("main")).to_contain_text("bf16")


def test_a_config_that_is_not_understood_is_refused_and_nothing_is_offered(brings):
    page = brings("model", "rwkv.json", b'{"model_type": "rwkv", "num_hidden_layers": 32}')
    expect(page.get_by_role("alert")).to_contain_text("rwkv")
    expect(page.get_by_role("button", name=re.compile("Store"))).to_have_count(0)


def test_a_trace_is_stored_by_a_job_with_progress_and_linked(brings):
    page = brings("trace", "busy-hour.jsonl.gz", gzip.compress(conversations().encode()))
    expect(page.get_by_role("region", name="Mapping")).to_contain_text("input_length")
    page.get_by_role("button", name="Store 1 entry").click()
    page.wait_for_url("**/jobs/*/")
    expect(page.get_by_role("link", name="Open busy-hour")).to_be_visible(timeout=UNTIL_RESULT_MS)
    page.get_by_role("link", name="Open busy-hour").click()
    expect(page).to_have_url(re.compile("/catalogue/traffic/busy-hour/$"))


def test_a_broken_price_list_is_told_by_line(brings):
    text = "hardware,date,provider,kind,usd_per_gpu_hour\nh200,2026-11-01,Acme,on_demand,cheap\n"
    page = brings("prices", "prices.csv", text.encode())
    expect(page.get_by_role("alert")).to_contain_text("line 2")


def test_storing_takes_what_the_fields_show_though_nothing_was_read_again(brings):
    page = brings("model", "falcon-h1.json", json.dumps(FALCON).encode())
    page.get_by_label("state_dtype").select_option("bf16")
    page.get_by_label("Title").fill("A falcon")
    page.get_by_role("button", name="Store 1 entry").click()
    expect(page).to_have_url(re.compile("/catalogue/models/falcon-h1/$"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("A falcon")
    document = page.request.get(page.url.replace("/models/falcon-h1/", "/models/falcon-h1.json")).json()
    assert {layer["state_dtype"] for layer in document["layers"] if layer["kind"] == "recurrent"} == {"bf16"}


def test_a_trace_is_stored_in_the_unit_and_under_the_name_that_the_fields_show(brings):
    page = brings("trace", "in-microseconds.jsonl", conversations().encode())
    page.get_by_label("timestamp_unit").select_option("us")
    page.get_by_label("Name in the catalogue").fill("quick-hour")
    page.get_by_role("button", name="Store 1 entry").click()
    page.wait_for_url("**/jobs/*/")
    expect(page.get_by_role("link", name="Open quick-hour")).to_be_visible(timeout=UNTIL_RESULT_MS)
    page.locator("summary", has_text="Frozen input document").click()
    expect(page.locator("main")).to_contain_text('"timestamp_unit": "us"')


def test_the_enter_key_reads_again_and_stores_nothing(brings):
    page = brings("model", "by-enter.json", json.dumps(FALCON).encode())
    page.get_by_label("Title").fill("Only read")
    page.get_by_label("Title").press("Enter")
    expect(page.get_by_text("Nothing is stored yet.")).to_be_visible()
    expect(page.get_by_label("Title")).to_have_value("Only read")
    assert page.request.get(page.url.split("/import/")[0] + "/models/by-enter/").status == 404


def test_pasted_text_over_the_limit_comes_back_with_what_to_do(visitor):
    page = visitor.open("/catalogue/import/")
    visitor.sign_in()
    page.locator("#text").evaluate("(area) => { area.value = 'x'.repeat(9 * 2 ** 20); }")
    page.get_by_role("button", name="Read it").click()
    expect(page.get_by_role("alert")).to_be_focused(timeout=UNTIL_RESULT_MS)
    page.get_by_role("alert").get_by_role("link", name="Its text").click()
    expect(page.locator("#text")).to_be_focused()
    # The browser tells of the status of the page itself; nothing else may be told.
    assert all("413" in told for told in visitor.complaints)
    visitor.complaints.clear()


def test_a_title_without_a_blank_widens_no_page(visit, tmp_path):
    visitor = visit(width=390)
    page = visitor.open("/catalogue/import/?kind=model")
    visitor.sign_in()
    path = tmp_path / "wide.json"
    path.write_text(json.dumps(HYBRID))
    page.get_by_label("File").set_input_files(path)
    page.get_by_role("button", name="Read it").click()
    title = "W" * 200
    page.get_by_label("Title").fill(title)
    page.get_by_role("button", name="Read again").click()
    expect(page.get_by_label("Title")).to_have_value(title)
    widths = [page.evaluate("document.documentElement.scrollWidth")]
    page.get_by_role("button", name="Store 1 entry").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    for address in ("", "edit/", "history/"):
        page.goto(page.url.split("/wide/")[0] + f"/wide/{address}")
        widths.append(page.evaluate("document.documentElement.scrollWidth"))
    for address in ("/catalogue/models/", "/scenarios/new/", "/catalogue/profiles/new/"):
        visitor.open(address)
        widths.append(page.evaluate("document.documentElement.scrollWidth"))
    assert max(widths) <= 390, widths
