"""Scenario documents for tests: the shipped one, random valid ones, and ways to spoil them."""

from copy import deepcopy

from hypothesis import strategies as st

from planner.scenario import load

BASE = "case-study-prfaas-pd"
LENGTHS = [128, 1024, 4096, 8192, 32768, 131072, 1_000_000]


def shipped(name=BASE):
    """A shipped scenario as a complete document, free to be changed."""
    return load(name).document()


def changed(path, value, name=BASE):
    """A shipped document with the value at a path of keys and indices replaced."""
    document = shipped(name)
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return document


def nodes(value, path=()):
    """The path of every part of a document, the whole left out."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield (*path, key)
        yield from nodes(part, (*path, key))


NODES = list(nodes(shipped()))

huge = st.sampled_from([10**400, -(10**400), 2**63, 1e308, -1e308, 1e-308, 5e-324, 0, -1, 1e18, 10**18])
scalars = st.none() | st.booleans() | st.integers() | st.floats() | huge | st.text(max_size=8)
broken = st.sampled_from(["\ud800", "a\x00b", "a\nb", "", "6e9", "NaN", "unlimited", "exact", "pd"])
json_values = st.recursive(
    scalars | broken,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6) | broken, inner, max_size=4),
    max_leaves=8,
)


@st.composite
def spoilt(draw):
    """The shipped document with one part replaced, taken out, or an unknown one put beside it."""
    path = draw(st.sampled_from(NODES))
    how = draw(st.sampled_from(["replace", "replace", "remove", "add"]))
    document = deepcopy(shipped())
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    if how == "replace":
        holder[path[-1]] = draw(json_values)
    elif how == "remove":
        del holder[path[-1]]
    elif isinstance(holder, dict):
        holder[draw(st.text(max_size=6) | broken)] = draw(json_values)
    else:
        holder.append(draw(json_values))
    return document


@st.composite
def curves(draw, quantity, least, most):
    """Tokens and values of a curve whose points rise."""
    tokens = sorted(draw(st.lists(st.sampled_from(LENGTHS), min_size=3, max_size=6, unique=True)))
    values = sorted(draw(st.lists(st.floats(least, most), min_size=len(tokens), max_size=len(tokens))))
    kind = draw(st.sampled_from(["log_log", "quadratic"]))
    return {"tokens": tokens, quantity: values, "interpolation": kind}


input_tokens = st.fixed_dictionaries(
    {
        "distribution": st.just("truncated_log_normal"),
        "mu": st.floats(6, 12),
        "sigma": st.floats(0.2, 2),
        "min": st.integers(1, 500),
        "max": st.integers(20_000, 1_000_000),
    }
) | st.fixed_dictionaries(
    {
        "distribution": st.just("empirical"),
        "samples": st.lists(st.integers(1, 200_000) | st.floats(1, 200_000), min_size=1, max_size=30),
    }
)


@st.composite
def documents(draw):
    """A valid scenario document, anywhere within what a planner may mean."""
    remote = draw(st.booleans())
    document = shipped() if remote else shipped("case-study-homogeneous")
    n_p, n_d = draw(st.integers(0, 12)), draw(st.integers(0, 12))
    document["clusters"][-1].update(prefill_instances=n_p, decode_instances=n_d, instances=n_p + n_d)
    document["model"]["s_kv"] = draw(curves("bytes", 1e6, 1e10))
    for profile in document["model"]["profiles"]:
        profile.update(draw(curves("seconds", 0.01, 100.0)))
    document["traffic"]["input_tokens"] = draw(input_tokens)
    document["traffic"]["output_tokens"] = draw(st.integers(1, 10_000))
    document["decode"] = {"max_batch": draw(st.integers(1, 256)), "step_s": draw(st.floats(0.001, 1))}
    document["title"] = draw(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=12))
    if remote:
        document["clusters"][0]["instances"] = draw(st.integers(0, 12))
        bandwidth = st.sampled_from([0, 1e9, "unlimited"]) | st.floats(1e6, 1e13)
        document["links"][0]["bandwidth_bps"] = draw(bandwidth)
        document["routing"]["threshold_tokens"] = draw(st.sampled_from([0, 1, 1e9]) | st.floats(100, 200_000))
    free = st.lists(st.sampled_from(document["free"]), unique=True)
    document["free"] = draw(free)
    return document
