// What the made-up reports are put together from.
export const column = (id, label, kind, unit = "", doc = "") => ({ id, label, unit, kind, doc });
const KINDS = { ps: "duration_ps", B: "bytes", "FLOP/s": "rate", "B/s": "rate", FLOP: "float", "FLOP/B": "float", "": "text" };
const kindOf = (v, unit) => KINDS[unit] ?? (Number.isInteger(v) ? "int" : "share");
export const value = (v, unit, status = "derived", doc = "") => ({
  value: v,
  unit,
  kind: kindOf(v, unit),
  status: v === null ? "unknown" : status,
  label: "",
  doc,
});
