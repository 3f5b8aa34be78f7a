"use strict";
// Amounts of 64 bits, exactly: they are read, computed and shown as BigInt, with the decimals that the door's setting
// --unit-decimals gives the unit. Without one they are whole numbers of minor units.
const UNITS_MAX = 2n ** 63n - 1n;
const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
// The user of this page, as the door knows it: { name, roles, decimals }. None before the door has answered.
let user = null;
const decimalsOf = unit => user?.decimals.get(unit) ?? 0;
const may = role => user !== null && user.roles.includes(role);

// An amount in words for people, as 1,234.56. What is no number stays as it is.
function units(text, unit) { return written(text, unit, whole => plain.format(whole)); }
// An amount for programs, as 1234.56.
function digits(text, unit) { return written(text, unit, String); }
function written(text, unit, show) {
  let minor;
  try { minor = BigInt(text); } catch { return text; }
  const count = decimalsOf(unit);
  if (!count) return show(minor);
  const all = String(minor < 0n ? -minor : minor).padStart(count + 1, "0");
  return `${minor < 0n ? "-" : ""}${show(BigInt(all.slice(0, -count)))}.${all.slice(-count)}`;
}
// The minor units that a typed amount means; null if it means none. It has no separators, and no more decimals than the unit.
function minorOf(text, unit) {
  const match = /^([+-]?)(\d{1,19})(?:\.(\d+))?$/.exec(text.trim()), count = decimalsOf(unit);
  if (!match || (match[3] ?? "").length > count) return null;
  const minor = BigInt(match[2] + (match[3] ?? "").padEnd(count, "0"));
  if (minor > UNITS_MAX) return null;
  return match[1] === "-" ? -minor : minor;
}
const unitWords = unit => decimalsOf(unit) ? `${unit} with at most ${decimalsOf(unit)} decimals` : `whole numbers of ${unit}`;
const signed = (amount, unit) => `${BigInt(amount) > 0n ? "+" : ""}${units(amount, unit)} ${unit}`;
// The sum of amounts by their units, as text.
function sums(all) {
  const totals = new Map();
  for (const [amount, unit] of all) totals.set(unit, (totals.get(unit) ?? 0n) + BigInt(amount));
  return [...totals].map(([unit, total]) => `${units(total, unit)} ${unit}`).join(", ");
}
