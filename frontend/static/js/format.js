// SI units become what a reader expects here and nowhere else in the scripts. A missing value is a dash.
const NONE = "–";

export const written = (digits, scale = 1) => {
  const format = new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (value) => (value == null ? NONE : format.format(value * scale));
};

export const rate = written(3);
export const seconds = written(2);
export const tokens = written(0);
export const gbps = written(2, 1e-9);
export const percent = written(1, 100);
export const ratio = written(3);

// Lengths on an axis: K is 1024.
export const lengthTicks = [128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072];
export const lengthTick = (value) => (value < 1024 ? String(value) : `${value / 1024}K`);

// Three significant digits: a slider's steps should not pretend to more.
export const rounded = (value) => Number(value.toPrecision(3));

const STAGES = { prfaas: "PrfaaS compute", link: "the link", pd_p: "PD-P", pd_d: "PD-D" };

export function boundBy(binding) {
  return binding.map((stage) => STAGES[stage]).join(" and ");
}
