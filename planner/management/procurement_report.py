"""The answer to a question of cost as lines for a terminal."""

from __future__ import annotations

from typing import Any

from planner.management.report import STAGES, figure

PERCENTILES = (("mean", "mean"), ("P50", "p50"), ("P90", "p90"), ("P99", "p99"))
PARTS = {
    "prfaas": "PrfaaS",
    "prefill": "PD prefill",
    "decode": "PD decode",
    "link_time": "link by the month",
    "link_volume": "link by the byte",
}


def lines(result: dict[str, Any]) -> str:
    """What to buy, what it carries and costs, beside what is given and what no PrfaaS would carry."""
    if result["problem"] == "clusters":
        return "\n".join(_clusters(result))
    rows = [f"{result['scenario']}: {result['problem']} ({result['form']} form)"]
    rows += {"break_even": _tie, "front": _front}.get(result["problem"], _answer)(result)
    rows += [f"  price              {price['hardware']} {price['usd_per_gpu_hour']:.4g} USD/GPU-hour, {price['kind']}: "
             f"{price['source']}" for price in result["prices"]]  # fmt: skip
    rows += [f"  provenance         {result['provenance']} (the weakest kind used)"]
    return "\n".join([*rows, *(f"  note               {note}" for note in result["notes"])])


def _answer(result: dict[str, Any]) -> list[str]:
    rows = []
    if result["budget_usd_per_h"] is not None:
        rows.append(f"  budget             {result['budget_usd_per_h']:.2f} USD/h")
    if result["refusal"]:
        rows.append(f"  {result['refusal']}")
    for title, place in (("best", "best"), ("without PrfaaS", "without_prfaas")):
        if result[place]:
            rows += _purchase(title, result[place])
    given = result["given"]
    rows.append(f"  {'as given':<18} Λ_max {given['lambda_max_rps']:.3f} req/s, {given['cost']['usd_per_h']:.2f} USD/h")
    if result["gain"] is not None:
        gain = "carries {:.3f} times" if result["problem"] == "equal_cost" else "costs 1/{:.3f} of"
        rows.append(f"  gain               {gain.format(result['gain'])} what the best without PrfaaS does")
    if best := result["given_at_best"]:
        split = f"N_p/N_d {best['prefill_instances']:g}/{best['decode_instances']:g}"
        t = figure(best["threshold_tokens"], "{:,.0f} tokens")
        rows.append(
            f"  {'given at its best':<18} Λ_max {best['lambda_max_rps']:.3f} req/s at {split}, t {t}: "
            f"{figure(best['gain'], '{:.3f}')} times the best without PrfaaS for the same money"
        )
    for listed in result["listed"]:
        prices = ", ".join(f"{each['hardware']} {each['usd_per_gpu_hour']:.4g}" for each in listed["prices"])
        gain = figure(listed["gain"], "{:.3f}")
        rows.append(f"  at listed prices   {prices} USD/GPU-hour: given at its best, {gain} times the best without")
    if result["distance_to_bound"] is not None:
        better = "less" if result["problem"] == "least_cost" else "more"
        rows.append(f"  bound              {result['distance_to_bound']:.2%} {better}, with fractions of instances")
    if result["buy_next"]:
        rows.append(f"  {result['buy_next']}")
    return [*rows, f"  searched           {result['combinations']:,} deployments", _searched(result)]


def _purchase(title: str, purchase: dict[str, Any]) -> list[str]:
    pd, remote, cost = purchase["pd"], purchase["prfaas"], purchase["cost"]
    fleet = f"{pd['prefill_instances']:g} + {pd['decode_instances']:g} × {pd['gpus_per_instance']} {pd['hardware']}"
    if remote:
        prfaas = f"{remote['instances']:g} × {remote['gpus_per_instance']} {remote['hardware']}"
        fleet = f"{prfaas} over {purchase['link']}, {fleet}"
    paid = ", ".join(f"{PARTS[part]} {share:.1%}" for part, share in cost["shares"].items() if share)
    bound = " and ".join(STAGES[stage] for stage in purchase["binding"])
    rows = [
        f"  {title:<18} {fleet}, t {figure(purchase['threshold_tokens'], '{:,.0f} tokens')}",
        f"  {'':<18} Λ_max {purchase['lambda_max_rps']:.3f} req/s, bound by {bound}, "
        f"egress {purchase['egress_bps'] / 1e9:.2f} Gbps",
        f"  {'':<18} {cost['usd_per_h']:.2f} USD/h: {paid}",
        f"  {'':<18} {figure(cost['usd_per_million_input_tokens'], '{:.4f}')} USD per million input tokens, "
        f"{figure(cost['usd_per_million_output_tokens'], '{:.4f}')} per million output tokens",
    ]
    if ttft := purchase["ttft_loaded_s"]:
        seconds = ", ".join(f"{name} {figure(ttft[key], '{:.2f} s')}" for name, key in PERCENTILES)
        rows.append(f"  {'':<18} TTFT under load, by approximation: {seconds}")
    return rows


def _front(result: dict[str, Any]) -> list[str]:
    """A line for each point of the front."""
    rows = [f"  {'req/s':>8} {'USD/h':>10} {'P' + str(result['percentile']) + ' TTFT':>10}  PrfaaS / prefill / decode"]
    for point in result["points"]:
        pd, remote = point["pd"], point["prfaas"]
        fleet = f"{remote['instances']:g} × {remote['hardware']}" if remote else "none"
        rows.append(
            f"  {point['rate_rps']:>8.3f} {point['cost']['usd_per_h']:>10.2f} "
            f"{figure(point['ttft_loaded_s'][f'p{result["percentile"]}'], '{:.2f} s'):>10}  "
            f"{fleet} / {pd['prefill_instances']:g} / {pd['decode_instances']:g} × {pd['hardware']}, "
            f"t {figure(point['threshold_tokens'], '{:,.0f}')}"
        )
    rows += [f"  {result['refusal']}"] if result["refusal"] else []
    return [*rows, _searched(result)]


def _searched(result: dict[str, Any]) -> str:
    searched = result["searched"]
    gap = "" if searched["gap"] == 0 else f", gap {figure(searched['gap'], '{:.1%}')} for want of time"
    return f"  tried              {searched['tried']:,}, could not be better {searched['pruned']:,}{gap}"


def _tie(result: dict[str, Any]) -> list[str]:
    ties = ", ".join(f"{tie:.5g}" for tie in result["ties"]) or "nowhere in this range"
    rows = [f"  gain over the best without PrfaaS at equal cost, ties at {result['parameter']} {ties}"]
    return rows + [
        f"  {value:>14.6g}     {figure(gain, '{:.4f}')}"
        for value, gain in zip(result["values"], result["gain"], strict=True)
    ]


def _clusters(result: dict[str, Any]) -> list[str]:
    """A fleet: what binds, then every PD cluster with its routes, then the links."""
    bound = " and ".join(f"{STAGES[each['stage']]} {each['name']}" for each in result["binding"])
    rows = [
        f"{result['scenario']}: several clusters ({result['form']} form)",
        f"  Λ_max              {result['lambda_max_rps']:.3f} req/s, bound by {bound}",
    ]
    for pd in result["pd"]:
        split = f"N_p/N_d {pd['prefill_instances']:g}/{pd['decode_instances']:g}"
        stay = f"{pd['local_fraction']:.1%} stay, TTFT unloaded {pd['ttft_unloaded_mean_s']:.2f} s"
        rows.append(f"  {pd['name']:<18} {pd['lambda_rps']:.3f} req/s, {split}, {stay}")
        rows += [
            f"  {'':<18} {route['fraction']:.1%} to {route['prfaas']} over {route['link']}, longer than "
            f"{figure(route['threshold_tokens'], '{:,.0f} tokens')}"
            for route in pd["routes"]
        ]
    for link in result["links"]:
        rows.append(f"  link {link['name']:<13} {link['egress_bps'] / 1e9:.2f} Gbps")
    rows.append(f"  provenance         {result['provenance']} (the weakest kind used)")
    return [*rows, *(f"  note               {note}" for note in result["notes"])]
