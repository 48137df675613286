// Time as it is drawn: the parts in which something happens one after the other, with a narrow fold for each idle gap.

const MOST_OF_FOLDS = 0.2; // of the whole, all folds together
const FOLD = 0.02;

// Virtual time runs from 0 to `whole`; within a part it is as long as real time.
function foldedTime(parts) {
  const total = parts.reduce((sum, [start, end]) => sum + end - start, 0);
  const gap = total * Math.min(FOLD, MOST_OF_FOLDS / Math.max(parts.length - 1, 1));
  const begins = [];
  let at = 0;
  for (const [start, end] of parts) {
    begins.push(at);
    at += end - start + gap;
  }
  // The last part that begins no later.
  const partOf = (list, value) => {
    let low = 0;
    let high = list.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (list[middle] <= value) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  const starts = parts.map(([start]) => start);
  return {
    whole: at - gap,
    gap,
    begins,
    toVirtual(time) {
      const place = partOf(starts, time);
      const [start, end] = parts[place];
      if (time <= end || place === parts.length - 1) return begins[place] + Math.max(time - start, 0);
      return begins[place] + end - start + (gap * (time - end)) / (parts[place + 1][0] - end);
    },
    toReal(virtual) {
      const place = partOf(begins, virtual);
      const [start, end] = parts[place];
      const within = virtual - begins[place];
      if (within <= end - start || place === parts.length - 1) return start + within;
      return end + ((within - (end - start)) / gap) * (parts[place + 1][0] - end);
    },
  };
}

// Round times in [from, until], about `room` apart or more, with labels as exact as their distance.
function ticks(from, until, room) {
  let step = 10 ** Math.ceil(Math.log10(Math.max(room, 1)));
  if (step / 5 >= room) step /= 5;
  else if (step / 2 >= room) step /= 2;
  step = Math.max(step, 1);
  const digits = step >= 1e6 ? 0 : step >= 1e3 ? 3 : 6;
  const found = [];
  for (let time = Math.ceil(from / step) * step; time <= until && found.length < 100; time += step) {
    found.push([time, moment(time, digits)]);
  }
  return found;
}

function moment(ns, digits = 3) {
  return `${(ns / 1e6).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })} ms`;
}
