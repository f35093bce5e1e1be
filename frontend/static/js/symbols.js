// Λ_max and BS_max with their index set below.
export function symbols(text) {
  const holder = document.createElement("span");
  for (const part of text.split(/(\b[A-Z]{1,2}_[a-z-]+|[ΘΛΦ]_[a-z-]+)/)) {
    const [, symbol, index] = part.match(/^([A-ZΘΛΦ]{1,2})_([a-z-]+)$/) ?? [];
    if (!symbol) {
      holder.append(part);
      continue;
    }
    const below = document.createElement("sub");
    below.textContent = index;
    holder.append(symbol, below);
  }
  return holder;
}
