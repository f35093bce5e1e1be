// Small things done once a second: only what has changed is written, and rows stay who they are.
export function text(place, value) {
  if (place.textContent !== value) place.textContent = value;
}

// With the indices of symbols set below: "Λ_max".
export function spelled(place, value) {
  if (place.dataset.said === value) return;
  place.dataset.said = value;
  place.replaceChildren(...value.split(/([A-ZΘΛΦ]_[a-z-]+)/).map((part, at) => (at % 2 ? symbol(part) : part)));
}

function symbol(part) {
  const made = document.createElement("span");
  const below = document.createElement("sub");
  [made.textContent, below.textContent] = part.split("_");
  made.append(below);
  return made;
}

export const out = (within, name, value) => text(within.querySelector(`[data-out="${name}"]`), value);

export function attribute(element, name, value) {
  if (value === null || value === false) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
  } else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

export const hide = (element, is) => { if (element.hidden !== is) element.hidden = is; };

// Children for items, by their keys, in the items' order. `make(item)` gives an element, `show(element, item)` writes into it.
export function keyed(parent, items, key, make, show) {
  const there = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let before = null;
  for (const item of items) {
    const name = String(key(item));
    const element = there.get(name) ?? make(item);
    element.dataset.key = name;
    there.delete(name);
    const next = before ? before.nextElementSibling : parent.firstElementChild;
    if (next !== element) parent.insertBefore(element, next);
    show(element, item);
    before = element;
  }
  for (const gone of there.values()) gone.remove();
}

// `cells` are [name, class, label]; the label stands before the value where a row is a card.
export function row(cells) {
  const made = document.createElement("tr");
  for (const [name, className, label] of cells) {
    const cell = document.createElement("td");
    cell.dataset.out = name;
    if (className) cell.className = className;
    if (label) cell.dataset.label = label;
    made.append(cell);
  }
  return made;
}
