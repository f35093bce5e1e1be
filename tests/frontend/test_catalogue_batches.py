"""The largest batch on a profile's page: by the speed of a step, and by what fits beside the weights."""

import pytest

from planner import store
from planner.models import Entry

pytestmark = pytest.mark.django_db
# s0 = 10 ms, s1 = 0.1 ms a request, s2 = 10 ns a request and token of context.
STEPS = [
    {"batch": batch, "context_tokens": context, "seconds": 0.010 + 1e-4 * batch + 1e-8 * batch * context}
    for batch in (1.0, 64.0)
    for context in (1024.0, 32768.0)
]


@pytest.fixture
def profile(shipped):
    entry = Entry.objects.get(kind="profiles", name="ring-2-5-1t-h200x8")
    return lambda **more: store.update(entry, {**entry.document, **more}, revision=entry.revision)


def cells(client):
    page = client.get("/catalogue/profiles/ring-2-5-1t-h200x8/").content.decode()
    table = page.split('aria-label="Largest batch, table"')[1].split("</table>")[0]
    row = next(row for row in table.split("<tr>") if "<td>32K</td>" in row)
    return [cell.split("</td>")[0] for cell in row.split("<td>")[1:]]


def test_memory_holds_what_is_left_of_it_over_s_kv(client, profile):
    profile(weight_bytes=1e12)
    # 8 GPUs of 141 GB less 1 TB leave 128 GB; 640 MiB a request of 32K.
    assert cells(client)[:2] == ["32K", f"{128e9 // (640 * 2**20):.0f}"]


def test_the_slo_binds_until_memory_does(client, profile):
    profile(decode=STEPS)
    # 25 ms a step: 15 ms over 0.1 ms + 32,768 times 10 ns.
    assert cells(client)[2] == f"{0.015 // (1e-4 + 1e-8 * 32768):.0f}"
    profile(decode=STEPS, weight_bytes=1.12e12)
    assert cells(client)[1:4] == ["11", '11 <span class="soft">memory</span>', '11 <span class="soft">memory</span>']


def test_what_is_missing_for_a_limit_is_said(client, profile):
    page = client.get("/catalogue/profiles/ring-2-5-1t-h200x8/").content.decode()
    assert "needs decode steps at several batches and contexts" in page
    assert "needs the bytes of the weights" in page
