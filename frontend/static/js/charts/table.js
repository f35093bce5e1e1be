// The table behind a chart, as HTML and as CSV: {columns: [{label, unit, write?}], rows: [[number | null]]}.
const heading = ({ label, unit }) => (unit ? `${label}, ${unit}` : label);

function row(cells, tag) {
  const element = document.createElement("tr");
  for (const text of cells) {
    const cell = document.createElement(tag);
    if (tag === "th") cell.scope = "col";
    cell.textContent = text;
    element.append(cell);
  }
  return element;
}

export function fill(container, table) {
  if (!table) return container.replaceChildren();
  const { columns, rows } = table;
  const element = document.createElement("table");
  element.className = "data";
  const head = element.createTHead();
  head.append(row(columns.map(heading), "th"));
  const body = element.createTBody();
  for (const values of rows) body.append(row(values.map((value, at) => columns[at].write(value)), "td"));
  return container.replaceChildren(element);
}

const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

// Full precision, in the units of the header; an empty field is "none".
export function toCsv({ columns, rows }) {
  const lines = [columns.map(heading), ...rows.map((values) => values.map((value, at) => plain(value, columns[at])))];
  return lines.map((cells) => cells.map((cell) => quoted(String(cell))).join(",")).join("\n") + "\n";
}

function plain(value, { scale = 1 }) {
  if (value == null) return "";
  return typeof value === "number" ? value * scale : value;
}
