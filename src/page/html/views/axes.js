// The axes of a chart: which stretch of values they show, and where they have marks.

const X_MARK_SPACE = 70; // pixels from one mark to the next, at least
const Y_MARK_SPACE = 30;

// Least and greatest of all numbers in these lists; null without any.
function extentOf(lists) {
    let low = Infinity;
    let high = -Infinity;
    for (const list of lists) {
        for (const value of list) {
            if (isNothing(value)) continue;
            if (value < low) low = value;
            if (value > high) high = value;
        }
    }
    return low <= high ? { low, high } : null;
}

// The smallest step by which a stretch has no more marks than there is room for: one of `steps`,
// else 1, 2 or 5 times a power of ten.
function markStep(length, most, steps) {
    const least = length / Math.max(most, 1);
    const power = 10 ** Math.floor(Math.log10(least));
    return (steps || [1, 2, 5, 10].map((times) => times * power)).find((step) => step >= least);
}

function marksOf(low, high, step) {
    const first = Math.ceil(low / step - 1e-9);
    const count = Math.floor(high / step + 1e-9) - first + 1;
    return Array.from({ length: count }, (none, i) => (first + i) * step);
}

// From pixel `from` to pixel `to`, the ends of the data at the ends.
function xAxis(values, from, to, marks) {
    const { low, high } = extentOf([values]) || { low: 0, high: 1 };
    const axis = low < high ? { low, high, from, to } : { low: low - 1, high: low + 1, from, to };
    const step = markStep(axis.high - axis.low, (to - from) / X_MARK_SPACE);
    return { ...axis, marks: marks || marksOf(axis.low, axis.high, step) };
}

// The same upwards, with room above and below, from mark to mark. What is near to 0 begins there.
function yAxis(lists, from, to, steps) {
    const { low, high } = extentOf(lists) || { low: 0, high: 1 };
    const room = (high - low || Math.abs(high) || 1) / 10;
    const least = low >= 0 && low < 4 * room ? 0 : low - room;
    const step = markStep(high + room - least, (from - to) / Y_MARK_SPACE, steps);
    const first = Math.floor(least / step) * step;
    const last = Math.ceil((high + room) / step) * step;
    return { low: first, high: last, from, to, marks: marksOf(first, last, step) };
}

function placeOn({ low, high, from, to }, value) {
    return from + ((value - low) / (high - low)) * (to - from);
}

function valueAt({ low, high, from, to }, place) {
    return low + ((place - from) / (to - from)) * (high - low);
}
