// The one-letter provenance mark; its title says the kind, and where the figure comes from.
export function mark(kind, source) {
  const element = document.createElement("abbr");
  element.className = `prov prov-${kind}`;
  element.title = `${kind}: ${source}`;
  element.dataset.kind = kind;
  element.textContent = kind[0];
  return element;
}
