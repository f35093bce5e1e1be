// Seconds for new tokens behind a cached prefix.
import { lengthAxis, logAxis, short } from "./axes.js";
import { groupChart } from "./groups.js";

export const cachedPrefill = groupChart({
  key: "cached", over: "new_tokens", label: "new tokens", unit: "s",
  nameOf: ({ cached_tokens: cached }) => `${short(cached)} cached`,
  empty: "Nobody measured prefill behind a cached prefix: add points of new and cached tokens to see what a prefix saves.",
  caption: (groups) => (groups[0].fit
    ? "Points as given; lines are the fit t₀ + a·n + b·n·(n + 2c) of n new tokens behind c cached ones."
    : "Points as given, joined: too few of them tell a fit."),
  axes: (x, y, width) => ({ xaxis: lengthAxis("newly prefilled", Math.min(...x), Math.max(...x), width), yaxis: logAxis("T<sub>prefill</sub>, s", y) }),
});
