"""Importing in a real browser: bring a file, see how it was read, answer what it does not say, store it."""

import gzip
import json
import re

import pytest
from playwright.sync_api import expect

from planner.catalog.traces.generate import conversations

HYBRID = {
    "model_type": "qwen3_next", "architectures": ["Qwen3NextForCausalLM"], "num_hidden_layers": 8, "hidden_size": 1024,
    "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 128, "full_attention_interval": 4,
    "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 8,
    "linear_num_value_heads": 16, "max_position_embeddings": 32768, "torch_dtype": "bfloat16",
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
    expect(page.get_by_role("link", name="Open busy-hour")).to_be_visible(timeout=30_000)
    page.get_by_role("link", name="Open busy-hour").click()
    expect(page).to_have_url(re.compile("/catalogue/traffic/busy-hour/$"))


def test_a_broken_price_list_is_told_by_line(brings):
    text = "hardware,date,provider,kind,usd_per_gpu_hour\nh200,2026-11-01,Acme,on_demand,cheap\n"
    page = brings("prices", "prices.csv", text.encode())
    expect(page.get_by_role("alert")).to_contain_text("line 2")
