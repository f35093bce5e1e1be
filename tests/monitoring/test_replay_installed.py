"""What a replay makes at a server whose database it uses: here the watch, by which what is seen is advised on."""

import pytest

from monitoring.models import Watch
from monitoring.replaying import installed

pytestmark = pytest.mark.django_db


def watches():
    return dict(Watch.objects.values_list("name", "scenario"))


def test_a_replay_names_the_scenario_of_the_watch_over_everything():
    installed.watch("one")
    assert watches() == {"all": "one"}
    installed.watch("other")
    assert watches() == {"all": "other"}


def test_what_was_said_of_that_watch_stays():
    Watch.objects.create(name="all", headroom=0.2, objective="ttft")
    installed.watch("one")
    watch = Watch.objects.get()
    assert (watch.scenario, watch.headroom, watch.objective) == ("one", 0.2, "ttft")


def test_beside_a_watch_that_somebody_has_made_none_is_added():
    Watch.objects.create(name="berlin", scenario="ours")
    installed.watch("one")
    assert watches() == {"berlin": "ours"}
