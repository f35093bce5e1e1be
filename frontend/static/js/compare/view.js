// What is shown, as the address has it: every change goes there first, and from there to the server.
const WRITE_AFTER_MS = 250;

export class View {
  constructor() {
    this.query = new URLSearchParams(location.search);
  }

  get text() {
    return this.query.toString();
  }

  set(name, value) {
    if (value === "" || value == null) this.query.delete(name);
    else this.query.set(name, value);
    this.write();
  }

  // A price that is none stands in the address: without it, the stored one would hold.
  empty(name) {
    this.query.set(name, "");
    this.write();
  }

  // Fields of a scenario, by path: those that are given, and none of the `paths` beside them.
  change(scenario, paths, values) {
    for (const path of paths) this.query.delete(`set.${scenario}.${path}`);
    for (const [path, value] of Object.entries(values)) this.query.set(`set.${scenario}.${path}`, JSON.stringify(value));
    this.write();
  }

  held(scenario, path) {
    const text = this.query.get(`set.${scenario}.${path}`);
    return text === null ? undefined : JSON.parse(text);
  }

  // Browsers limit how often an address may change: a drag writes it once, at its end.
  write() {
    clearTimeout(this.writing);
    this.writing = setTimeout(() => {
      history.replaceState(null, "", this.text ? `?${this.text}` : location.pathname);
      for (const link of document.querySelectorAll("[data-with-query]")) link.search = this.text;
      for (const link of document.querySelectorAll("[data-sign-in]")) link.search = `?next=${encodeURIComponent(location.pathname + location.search)}`;
      for (const form of document.querySelectorAll("[data-simulate]")) form.action = `${form.action.split("?")[0]}?${this.text}`;
    }, WRITE_AFTER_MS);
  }
}

// One address, one view: the table's controls and those of what is worked out beside it write into the same.
export const view = new View();
