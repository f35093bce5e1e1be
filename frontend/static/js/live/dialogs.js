// What is typed on the screen: sent by REST, with what is refused beside its field.
import { patch, post, put, Refused, remove, signIn } from "../api.js";
import { tokens } from "../format.js";
import { fromField, moment, toField, zoneName } from "./zone.js";

const dialog = (name) => document.querySelector(`[data-dialog="${name}"]`);
const BY_HAND = new Set([...dialog("annotate").querySelector("[name=kind]").options].map(({ value }) => value));
const words = (text) => text.split(",").map((each) => each.trim()).filter(Boolean);

export class Dialogs {
  constructor({ api, login, signed_in: isSignedIn, scenarios }) {
    Object.assign(this, { api, login, isSignedIn });
    for (const name of scenarios) dialog("watch").querySelector("select[name=scenario]").add(new Option(name, name));
    for (const cancel of document.querySelectorAll("dialog [data-cancel]")) cancel.addEventListener("click", () => cancel.closest("dialog").close());
    for (const name of ["enter", "annotate", "watch"]) {
      dialog(name).querySelector("form").addEventListener("submit", (event) => {
        event.preventDefault();
        this.send(dialog(name));
      });
    }
  }

  // Opens a form, filled; what is sent, and what is done with the answer, come with it. Who may not is asked to sign in.
  open(name, values, send, done = () => {}) {
    if (!this.isSignedIn) return location.assign(signIn(this.login));
    const opened = dialog(name);
    const form = opened.querySelector("form");
    for (const [field, value] of Object.entries(values)) form.elements[field].value = value;
    Object.assign(this, { sending: send, done });
    this.errors(opened, []);
    opened.showModal();
    return form;
  }

  async send(opened, sending = this.sending, done = this.done) {
    const form = opened.querySelector("form");
    this.errors(opened, []);
    try {
      const answer = await sending(form.elements);
      opened.close();
      done(answer);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if ([401, 403].includes(error.status)) location.assign(signIn(this.login));
      this.errors(opened, error.errors);
    }
  }

  // A mistake stands beside its field; one of no field of this form, below all.
  errors(opened, errors) {
    const { elements } = opened.querySelector("form");
    const of = ({ field }) => String(field ?? "").split(".")[0];
    for (const place of opened.querySelectorAll("[data-error]")) {
      const { error: name } = place.dataset;
      const said = errors.filter((each) => (name ? of(each) === name : !elements[of(each)])).map(({ message }) => message);
      place.textContent = said.join(" ");
      if (!name) continue;
      elements[name].toggleAttribute("aria-invalid", said.length > 0);
      if (said.length) elements[name].setAttribute("aria-invalid", "true");
    }
    opened.querySelector("[aria-invalid]")?.focus();
  }

  // --- the forms ---

  // `entered` tells what was entered last of each kind: it can be withdrawn, and is unknown then.
  enter(watch, what, zone, entered, done) {
    const chosen = what === "instances" ? "instances.prefill" : what;
    const entering = `${this.watch(watch)}entered/`;
    const form = this.open("enter", { what: chosen, value: "" }, ({ what: field, value }) =>
      post(entering, { what: field.value, value: number(value, "value") }), done);
    if (!form) return () => {};
    const { what: field } = form.elements;
    const button = form.querySelector("[data-withdraw]");
    const tell = () => {
      const said = entered()[field.value];
      form.querySelector("[data-entered]").textContent = said ? `Entered last: ${tokens(said.value)}${said.by ? ` by ${said.by}` : ""}, ${moment(said.at_ms, zone)}.` : "";
      button.hidden = !said;
    };
    field.onchange = tell;
    button.onclick = () => this.send(dialog("enter"), () => remove(`${entering}${field.value}/`), done);
    tell();
    return tell;
  }

  // A new one from `note.ts_ms` on, or one that is there; its `watch` is empty where it is of all.
  annotate(note, zone, done) {
    const { id = null, text = "", kind = "note", watch, ts_ms: from, end_ms: until = null } = note;
    const place = id === null ? `${this.api}annotations/` : `${this.api}annotations/${id}/`;
    this.offerKind(kind);
    const values = { text, kind, ts_ms: toField(from, zone), end_ms: until === null ? "" : toField(until, zone) };
    const form = this.open("annotate", values, (elements) => {
      const begin = elements.ts_ms.value === values.ts_ms ? Math.round(from) : fromField(elements.ts_ms.value, zone);
      const end = elements.end_ms.value === values.end_ms ? until : elements.end_ms.value ? fromField(elements.end_ms.value, zone) : null;
      const said = { text: elements.text.value, kind: elements.kind.value, watch, ts_ms: begin, end_ms: end };
      return id === null ? post(place, said) : patch(place, said);
    }, done);
    if (!form) return;
    form.querySelector("h2").textContent = id === null ? "Annotate" : `Change annotation ${id}`;
    form.querySelector("[data-note-zone]").textContent = `Times: ${zoneName(zone, from)}.`;
    this.offerRemoval("annotate", id !== null, "Delete it for all", () => remove(place).then(() => null), done);
  }

  // What another system has told may stay of its kind.
  offerKind(kind) {
    const { kind: choice } = dialog("annotate").querySelector("form").elements;
    for (const option of [...choice.options]) if (!BY_HAND.has(option.value)) option.remove();
    if (!BY_HAND.has(kind)) choice.add(new Option(kind, kind));
  }

  editWatch(watch, done) {
    const given = watch ?? { name: "", title: "", scenario: "", links: [], clusters: [], headroom: 0.1, objective: "throughput" };
    const { name, title, scenario, objective } = given;
    const values = { name, title, scenario, objective, links: given.links.join(", "), clusters: given.clusters.join(", "), headroom: Number((100 * given.headroom).toPrecision(6)) };
    const form = this.open("watch", values, (elements) => this.storeWatch(elements, watch), done);
    if (!form) return;
    form.querySelector("h2").textContent = watch ? `Change ${watch.name}` : "New watch";
    form.elements.name.readOnly = Boolean(watch);
    this.offerRemoval("watch", Boolean(watch), "Delete it, and what was entered of it", () => remove(this.watch(watch.name)).then(() => null), done);
  }

  // Asked for twice, as it cannot be taken back.
  offerRemoval(name, isThere, surely, removing, done) {
    const button = dialog(name).querySelector("[data-remove]");
    button.hidden = !isThere;
    button.textContent = "Delete";
    let isSure = false;
    button.onclick = () => {
      if (isSure) return this.send(dialog(name), removing, done);
      isSure = true;
      button.textContent = surely;
      return undefined;
    };
  }

  storeWatch(elements, watch) {
    const body = {
      name: elements.name.value.trim(), title: elements.title.value.trim(), scenario: elements.scenario.value,
      links: words(elements.links.value), clusters: words(elements.clusters.value), headroom: number(elements.headroom, "headroom") / 100, objective: elements.objective.value,
    };
    return watch ? put(this.watch(watch.name), body) : post(`${this.api}watches/`, body);
  }

  setObjective(watch, objective) {
    return patch(this.watch(watch), { objective });
  }

  watch(name) {
    return `${this.api}watches/${encodeURIComponent(name)}/`;
  }

  help() {
    dialog("help").showModal();
  }
}

function number(element, field) {
  const value = element.valueAsNumber;
  if (Number.isFinite(value)) return value;
  throw new Refused(0, [{ field, value: element.value, message: "Type a number." }]);
}
