// JSON over fetch. Every refusal, also a dead network, becomes a Refused with a list of {field, value, message}.
export class Refused extends Error {
  constructor(status, errors) {
    super(errors[0]?.message ?? "Refused.");
    this.status = status;
    this.errors = errors;
  }
}

const token = document.querySelector('meta[name="csrf-token"]').content;
const sentence = (message) => [{ field: null, value: null, message }];
const PATIENCE_MS = 20000;

async function request(url, options, read = null) {
  let response;
  try {
    response = await fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS), ...options });
  } catch {
    throw new Refused(0, sentence("The server does not answer."));
  }
  const isJson = response.headers.get("Content-Type")?.includes("json");
  const document = isJson ? await response.json() : null;
  if (!response.ok) {
    throw new Refused(response.status, document?.errors ?? sentence(`The server answered ${response.status}.`));
  }
  return read && !isJson ? read(response) : document;
}

export const get = (url) => request(url, { headers: { Accept: "application/json" } });

const send = (method) => (url, body = {}) =>
  request(url, {
    method,
    headers: { Accept: "application/json", "Content-Type": "application/json", "X-CSRFToken": token },
    body: JSON.stringify(body),
  });

export const post = send("POST");
export const put = send("PUT");
export const patch = send("PATCH");
export const remove = (url) => request(url, { method: "DELETE", headers: { Accept: "application/json", "X-CSRFToken": token } });

// What is no JSON: a text to paste elsewhere.
export const getText = (url) => request(url, { headers: { Accept: "*/*" } }, (response) => response.text());

export const signIn = (loginUrl) => `${loginUrl}?next=${encodeURIComponent(location.pathname + location.search)}`;
