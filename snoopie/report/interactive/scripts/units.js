// Numbers for people, written as snoopie/words/units.py writes them.

const NOTHING = "–";
const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const DECIMAL = ["", "K", "M", "G", "T", "P", "E"];
const RATES = ["B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"];
const TIMES = [[1, "ns", 1000], [1e3, "µs", 1000], [1e6, "ms", 1000], [1e9, "s", 60]];

const bytes = (value) => scaled(value, 1024, BINARY);
const count = (value) => scaled(value, 1000, DECIMAL);
const rate = (value) => scaled(value, 1000, RATES);

function percent(fraction) {
  return Number.isFinite(fraction) ? `${short(100 * fraction)} %` : NOTHING;
}

function efficiency(moved, wire) {
  const fraction = wire ? moved / wire : NaN;
  return percent(fraction) + (Math.round(fraction * 1000) > 1000 ? " (lanes shared addresses)" : "");
}

function duration(ns) {
  if (!Number.isFinite(ns)) return NOTHING;
  for (const [size, unit, limit] of TIMES) {
    if (Number(oneDigit(ns / size)) < limit) return `${short(ns / size)} ${unit}`;
  }
  const whole = Math.round(ns / 1e9);
  const [minutes, hours] = [Math.floor(whole / 60), Math.floor(whole / 3600)];
  return hours ? `${hours} h ${minutes % 60} min` : `${minutes} min ${whole % 60} s`;
}

// All digits; above what numbers of a browser hold exactly, it says so.
function exact(value) {
  return (value > Number.MAX_SAFE_INTEGER ? "≈ " : "") + Math.round(value).toLocaleString("en-US");
}

function scaled(value, base, units) {
  if (!Number.isFinite(value)) return NOTHING;
  let power = 0;
  while (power + 1 < units.length && Number(oneDigit(value)) >= base) {
    value /= base;
    power += 1;
  }
  return `${short(value)} ${units[power]}`.trimEnd();
}

function short(value) {
  const text = oneDigit(value);
  return text.endsWith(".0") ? text.slice(0, -2) : text;
}

// One digit after the point. Of two that are equally near the even one, as Python has it: 1.25 is 1.2, 1.75 is 1.8.
function oneDigit(value) {
  if (Math.abs(value * 4) % 2 !== 1) return value.toFixed(1);
  const below = Math.floor(value * 10);
  return ((below % 2 === 0 ? below : below + 1) / 10).toFixed(1);
}
