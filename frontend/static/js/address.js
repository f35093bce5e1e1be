// The what-if state in the page's address, so that reloading, signing in and sharing keep it.
const NAMES = { scenario: "scenario", threshold: "t", split: "np", bandwidth: "bps", form: "form" };

export function readAddress() {
  const query = new URLSearchParams(location.search);
  const state = {};
  for (const [name, key] of Object.entries(NAMES)) {
    const text = query.get(key);
    if (text === null || text === "") continue;
    state[name] = ["scenario", "form"].includes(name) ? text : Number(text);
  }
  return state;
}

let waiting;

// Browsers limit how often an address may change: a drag writes it once, at its end. What is not of `state` stays: the
// deployment of a comparison is known by it.
export function writeAddress(state, standard, then) {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const query = new URLSearchParams(location.search);
    for (const [name, key] of Object.entries(NAMES)) {
      if (!(name in state)) continue;
      if (state[name] != null && state[name] !== standard[name]) query.set(key, state[name]);
      else query.delete(key);
    }
    history.replaceState(null, "", query.size ? `?${query}` : location.pathname);
    then();
  }, 250);
}
