// Time with its folds, and how it is written. Moments are ns after the start of the trace; folded time stands still
// within a fold.

function foldedTime(folds) {
  const before = [0];
  folds.forEach(([start, end], place) => before.push(before[place] + end - start));
  const at = folds.map(([start], place) => start - before[place]);
  return {
    folds,
    at,
    folded(time) {
      let place = 0;
      while (place < folds.length && folds[place][1] <= time) place++;
      return (place < folds.length && folds[place][0] < time ? folds[place][0] : time) - before[place];
    },
    // Back again: behind a fold that is there, or before it.
    start(moment) {
      let place = 0;
      while (place < folds.length && at[place] <= moment) place++;
      return moment + before[place];
    },
    end(moment) {
      let place = 0;
      while (place < folds.length && at[place] < moment) place++;
      return moment + before[place];
    },
  };
}

const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

function duration(time) {
  const [size, unit] = UNITS.find(([one]) => time >= one) ?? [1, "ns"];
  return `${Number((time / size).toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 3 })} ${unit}`;
}

// 1, 2 or 5 times a power of ten, at least this long.
function stepOf(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least);
}

// The unit of marks that are so far apart, unless one is given, and how many decimals they need: 0.5 s, but 200 ms.
function unitOf(step, given = 0) {
  const [size, unit] = UNITS.find(([one]) => (given ? one === given : step * 2 >= one)) ?? UNITS[3];
  return { size, unit, digits: Math.max(0, Math.ceil(Math.log10(size / step))) };
}

function written(time, { size, digits }) {
  return (time / size).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

// A moment, ten times as exactly as marks are apart.
function moment(time, step) {
  const exact = unitOf(Math.max(step / 10, 1), unitOf(step).size);
  return `at ${written(time, exact)} ${unitOf(step).unit}`;
}
