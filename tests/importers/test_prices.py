from datetime import date

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.documents.errors import DocumentError
from planner.entries import check
from planner.importers.chips import likely
from planner.importers.prices import read_many
from tests.examples import examples
from tests.importers.bench import tried, write

HEADER = "hardware,date,provider,region,kind,usd_per_gpu_hour,source\n"


def documents(tmp_path, text, choices=None):
    return [imported.document for imported in read_many(write(tmp_path, text), choices or {})]


def refused(tmp_path, text, choices=None):
    with pytest.raises(DocumentError) as caught:
        read_many(write(tmp_path, text), choices or {})
    return str(caught.value)


def test_an_offer_a_line_becomes_an_entry_a_line(tmp_path):
    text = HEADER + "H200,2026-08-19,RunPod secure,us-east,on-demand,3.99,list\nh20,,,,spot,1.5,\n"
    first, second = documents(tmp_path, text)
    assert first == {
        "name": "h200-runpod-secure-us-east-on-demand-2026-08-19",
        "hardware": "h200",
        "date": "2026-08-19",
        "provider": "RunPod secure",
        "region": "us-east",
        "kind": "on_demand",
        "usd_per_gpu_hour": 3.99,
        "provenance": {"usd_per_gpu_hour": {"kind": "user", "source": "list"}},
    }
    assert (second["name"], second["date"]) == ("h20-spot", None)


def test_a_purchase_has_its_write_off_and_its_power(tmp_path):
    text = "hardware,kind,usd_per_gpu,amortisation_years,usd_per_kwh,pue\nh200,purchase,30000,4,0.1,1.3\n"
    (document,) = documents(tmp_path, text)
    assert document["purchase"] == {"usd_per_gpu": 30000, "amortisation_years": 4, "usd_per_kwh": 0.1, "pue": 1.3}
    assert check("prices", document).purchase.usd_per_gpu_hour(700) == pytest.approx(30000 / (4 * 8766) + 0.091)


def test_the_price_of_a_node_is_divided_by_its_gpus(tmp_path):
    (document,) = documents(tmp_path, "gpu,kind,USD per hour,GPUs\nh200,on_demand,32,8\n")
    assert document["usd_per_gpu_hour"] == 4.0


def test_offers_of_the_same_day_get_names_of_their_own(tmp_path):
    row = "h200,2026-08-19,A,,spot,1,\n"
    names = [document["name"] for document in documents(tmp_path, HEADER + row * 3)]
    assert names == ["h200-a-spot-2026-08-19", "h200-a-spot-2026-08-19-2", "h200-a-spot-2026-08-19-3"]


def names(tmp_path, *rows):
    """Of offers that come in a file each, and so cannot be told apart by a number."""
    return [documents(tmp_path, HEADER + row + "\n")[0]["name"] for row in rows]


def test_offers_of_two_regions_have_two_names(tmp_path):
    found = names(tmp_path, "h200,2026-08-19,A,us-east,spot,1,", "h200,2026-08-19,A,eu-west,spot,1,")
    assert found == ["h200-a-us-east-spot-2026-08-19", "h200-a-eu-west-spot-2026-08-19"]


def test_providers_that_no_name_can_be_made_of_are_told_apart_all_the_same(tmp_path):
    rows = [
        f"h200,2026-08-19,{provider},,spot,1," for provider in ("阿里云", "腾讯云", "阿里云 Cloud", "腾讯云 Cloud", "")
    ]
    found = names(tmp_path, *rows)
    assert len(set(found)) == len(rows)
    assert found == names(tmp_path, *rows)
    assert all(name.startswith("h200-") and name.endswith("-spot-2026-08-19") for name in found)


CHIPS = {
    "h100": {"title": "NVIDIA H100 SXM 80GB", "vendor": "NVIDIA"},
    "h200": {"title": "NVIDIA H200", "memory_bytes": 1.41e11},
    "mi300x": {"title": "AMD Instinct MI300X", "vendor": "AMD"},
    "rtx-pro-6000": {"title": "NVIDIA RTX PRO 6000 Blackwell Server 96GB"},
}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("NVIDIA H200 SXM", "h200"),
        ("H200 141 GB", "h200"),
        ("nvidia h100 80GB sxm5", "h100"),
        ("AMD Instinct MI300X OAM", "mi300x"),
        ("RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000"),
        ("NVIDIA H100 PCIe", ""),  # another chip, which the catalogue has not
        ("NVIDIA H200 NVL", ""),
        ("8x H200", ""),
        ("NVIDIA", ""),
        ("A100 80GB", ""),
    ],
)
def test_a_chip_is_known_by_its_title_where_only_one_can_be_meant(text, name):
    assert likely(text, CHIPS) == name


def test_for_what_a_chip_was_taken_is_shown_and_can_be_chosen(tmp_path):
    path = write(tmp_path, HEADER + "NVIDIA H200 SXM,,A,,spot,1,\nh100,,A,,spot,1,\nH100 PCIe,,A,,spot,1,\n")
    first, second, third = read_many(path, {}, CHIPS)
    assert [each.document["hardware"] for each in (first, second, third)] == ["h200", "h100", "h100-pcie"]
    assert [(each.field, each.value, each.choices) for each in first.assumptions[:2]] == [
        ("hardware:nvidia-h200-sxm", "h200", tuple(CHIPS)),
        ("hardware:h100-pcie", "", ("", *CHIPS)),
    ]
    choices = {"hardware:H100 PCIe": "h100", "hardware:nvidia-h200-sxm": "mi300x"}
    found = [each.document["hardware"] for each in read_many(path, choices, CHIPS)]
    assert found == ["mi300x", "h100", "h100"]
    for choices, told in (
        ({"hardware:h300": "h200"}, "hardware:h300: 'h200' stands for no name of the list"),
        ({"hardware:H100 PCIe": "h300"}, "hardware:H100 PCIe: 'h300' is no chip of the catalogue"),
    ):
        with pytest.raises(DocumentError, match=told):
            read_many(path, choices, CHIPS)


def test_accents_are_only_dropped(tmp_path):
    assert names(tmp_path, "h200,,Société Zürich,,spot,1,") == ["h200-societe-zurich-spot"]


def test_a_choice_with_broken_unicode_is_refused(tmp_path):
    assert "broken Unicode" in refused(
        tmp_path, "hardware,usd_per_gpu_hour\nh200,1\n", {"kind": "spot", "provider": "\ud800"}
    )


def test_long_names_that_begin_alike_stay_apart(tmp_path):
    rows = [f"h200,{day},{'very long provider ' * 8},somewhere,spot,1," for day in ("2026-08-19", "2026-08-20")]
    found = names(tmp_path, *rows)
    assert len(set(found)) == 2
    assert all(len(name) <= 100 for name in found)


def test_what_the_file_has_no_column_of_is_chosen(tmp_path):
    text = "usd_per_gpu_hour\n4\n"
    (document,) = documents(tmp_path, text, {"hardware": "h200", "kind": "reserved", "date": "2026-11-01"})
    assert (document["hardware"], document["kind"], document["date"]) == ("h200", "reserved", "2026-11-01")
    assert "line 2: hardware is missing: give it a column, or choose hardware" in refused(
        tmp_path, text, {"kind": "spot"}
    )


def test_a_choice_that_is_not_open_is_refused(tmp_path):
    told = refused(
        tmp_path, "usd_per_gpu_hour\n4\n", {"hardware": "h200", "kind": "spot", "colour": "red", "regoin": "x"}
    )
    assert "colour: 'red' is no choice of a price list; open are: currency, date, hardware" in told
    assert "regoin: 'x'" in told


def test_another_currency_is_refused_unless_there_are_dollars_beside_it(tmp_path):
    euros = "hardware,kind,price_per_gpu_hour,currency\nh200,spot,4,EUR\n"
    assert "line 2, currency: 'EUR' must be USD: convert the price" in refused(tmp_path, euros)
    both = "hardware,kind,usd_per_gpu_hour,eur_per_gpu_hour,currency\nh200,spot,4,3.5,EUR\n"
    assert documents(tmp_path, both)[0]["usd_per_gpu_hour"] == 4
    dollars = "hardware,kind,price_per_gpu_hour,currency\nh200,spot,4,usd\n"
    assert documents(tmp_path, dollars)[0]["usd_per_gpu_hour"] == 4


def test_a_price_whose_currency_nobody_says_is_refused(tmp_path):
    assert "line 2, currency: must be USD" in refused(tmp_path, "hardware,kind,price,gpus\nh200,spot,4,1\n")


def test_every_line_that_is_wrong_is_told_and_nothing_comes_of_the_others(tmp_path):
    text = HEADER + "h200,2026-08-19,A,,spot,1,\nh200,19.08.2026,A,,spot,1,\nh200,,A,,spot,-1,\nh200,,A,,lease,1,\n"
    told = refused(tmp_path, text)
    assert "line 3, date: '19.08.2026' must be a day as YYYY-MM-DD" in told
    assert "line 4, usd_per_gpu_hour: '-1' must be at least 0" in told
    assert "line 5, kind: 'lease' must be one of on_demand, spot, reserved, blended, purchase" in told


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("h200,2026-02-30,A,,spot,1,", "line 2, date: '2026-02-30' must be a day"),
        ("h200,,A,,spot,nan,", "line 2, usd_per_gpu_hour: 'nan' must be a finite number"),
        ("h200,,A,,spot,inf,", "line 2, usd_per_gpu_hour: 'inf' must be a finite number"),
        ('h200,,A,,spot,"1,234.50",', "line 2, usd_per_gpu_hour: '1,234.50' has thousands separators"),
        ('h200,,A,,spot,"3,99",', "line 2, usd_per_gpu_hour: '3,99' has a decimal comma; write 1234.5"),
        ("h200,,A,,spot,$4,", "line 2, usd_per_gpu_hour: '$4' must be a number, as 1234.5"),
        ("h200,,A,,spot,0,", "line 2, usd_per_gpu_hour: 0 must be greater than 0"),
        ("h200,,A,,spot,,", "line 2: needs a price an hour, and has none"),
        ("h200,,A,,spot,1e20,", "line 2, usd_per_gpu_hour: 1e+20 must be at most 1e+18"),
        ("h200,,A,,spot,1e30,", "line 2, usd_per_gpu_hour: '1e30' must be at most 1e+21"),
        (",,A,,spot,1,", "line 2, hardware: is missing"),
        ("***,,A,,spot,1,", "line 2, hardware"),
        ("h200,,A,,,1,", "line 2, kind: must be one of"),
        ("h200,,A,,purchase,1,", "line 2, usd_per_gpu: is needed for a purchase"),
        ("h200,,A,spot,1,", "line 2: has 6 cells where the header has 7"),
    ],
)
def test_an_offer_that_cannot_be_is_refused_by_line_and_column(tmp_path, row, told):
    assert told in refused(tmp_path, HEADER + row + "\n")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        (HEADER, "is the only line"),
        ("hardware,kind,eur_per_gpu_hour\nh200,spot,1\n", "none is a price: usd_per_gpu_hour"),
        ("hardware,gpu,kind,usd_per_gpu_hour\na,b,spot,1\n", "column gpu: is the same as column hardware"),
        ("hardware,kind,usd_per_hour\nh200,spot,32\n", "line 2, gpus: must be a whole number from 1 to 10000"),
        ("hardware,kind,usd_per_hour,gpus\nh200,spot,32,0\n", "line 2, gpus: 0.0 must be a whole number"),
        ("hardware,kind,usd_per_gpu_hour,usd_per_hour,gpus\nh200,spot,4,32,8\n", "needs one price an hour, has 2"),
        (
            "hardware,usd_per_gpu,amortisation_years,usd_per_kwh,pue\nh200,30000,4,0.1,0.5\n",
            "line 2, pue: 0.5 must be at least 1",
        ),
    ],
)
def test_a_list_that_cannot_be_is_refused(tmp_path, text, told):
    assert told in refused(tmp_path, text)


offers = st.fixed_dictionaries(
    {
        "hardware": st.from_regex(r"[a-z][a-z0-9]{0,9}", fullmatch=True),
        "date": st.dates(date(2000, 1, 1)).map(str),
        "provider": st.text("abc DEF,\"'", max_size=12).map(str.strip),
        "kind": st.sampled_from(["on_demand", "spot", "reserved", "blended"]),
        "usd_per_gpu_hour": st.floats(1e-3, 1e4),
    }
)


@given(st.lists(offers, min_size=1, max_size=8))
@settings(examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_was_written_is_read(tmp_path, given):
    def cell(value):
        return '"' + str(value).replace('"', '""') + '"'

    header = list(given[0])
    text = ",".join(header) + "\n" + "".join(",".join(cell(one[name]) for name in header) + "\n" for one in given)
    found = documents(tmp_path, text)
    assert [{name: document[name] for name in header} for document in found] == given
    assert len({document["name"] for document in found}) == len(given)


@given(st.text(alphabet=st.sampled_from('hardwe,;"\n\r\tusd_pgo12.-9 nakiµ\x00€'), max_size=200))
@settings(examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nothing_but_a_document_error_comes_of_any_text(tmp_path, text):
    problem, found = tried(read_many, write(tmp_path, HEADER + text), {})
    assert found or problem.errors
