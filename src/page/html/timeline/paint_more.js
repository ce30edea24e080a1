// Draws what belongs to a GPU as a whole, NVTX ranges projected onto it, and what the reader does:
// the selection with its arrows, a stretch that is measured, what is left out.

Object.assign(Painter.prototype, {
    // ---- Counters ----

    // Calls action(x, from, to) for each pixel column of the view.
    eachColumn(action) {
        const step = 1 / this.scale;
        for (let x = 0; x < this.width; x++)
            action(x, this.from + x * step, this.from + (x + 1) * step);
    },

    paintCounter(row) {
        if (row.paint === STACK) return this.paintStack(row);
        const top = row.y + 3;
        const height = row.height - 4;
        const { device } = row;
        if (row.paint === SUMMARY)
            return this.paintArea(top, height, this.theme.kernel, (from, to) =>
                meanOf(row.devices, ({ busy }) => busyShare(busy, from, to)),
            );
        if (row.line) return this.paintLine(top, height, row.line);
        if (row.memory)
            return this.paintArea(
                top,
                height,
                this.theme.launch,
                (from, to) => (memoryIn(device.memory, from, to) || 0) / device.memory.most,
            );
        return this.paintArea(
            top,
            height,
            this.theme.copy,
            (from, to) => meanRate(device.copies, from, to) / device.copies.most,
        );
    },

    // share(from, to): 0 to 1.
    paintArea(top, height, color, share) {
        const shares = new Float32Array(Math.ceil(this.width));
        this.eachColumn((x, from, to) => (shares[x] = share(from, to)));
        this.paintSteps(top, height, color, shares);
    },

    // The mean, and pale behind it the greatest value.
    paintLine(top, height, line) {
        const [means, greatest] = [0, 1].map(() => new Float32Array(Math.ceil(this.width)));
        this.eachColumn((x, from, to) => {
            const found = sampledIn(line, from, to);
            if (!found) return;
            means[x] = found.mean / line.scale;
            greatest[x] = found.greatest / line.scale;
        });
        this.context.globalAlpha = 0.35;
        this.paintSteps(top, height, this.theme.kernel, greatest);
        this.context.globalAlpha = 1;
        this.paintSteps(top, height, this.theme.kernel, means);
    },

    // Busy time from below, then idle time by cause: together they fill what the GPU was there for.
    // Sums up to a column's end are those up to the begin of the next one.
    paintStack({ device, y, height }) {
        const layers = [this.theme.kernel, ...this.idle];
        const shares = layers.map(() => new Float32Array(Math.ceil(this.width)));
        let before = new Float64Array(layers.length);
        let after = new Float64Array(layers.length);
        sumsUntil(device, this.from, before);
        this.eachColumn((x, from, to) => {
            sumsUntil(device, to, after);
            let sum = 0;
            for (let layer = 0; layer < layers.length; layer++)
                shares[layer][x] = sum += (after[layer] - before[layer]) * this.scale;
            [before, after] = [after, before];
        });
        for (let layer = layers.length - 1; layer >= 0; layer--)
            this.paintSteps(y + 3, height - 4, layers[layer], shares[layer]);
    },

    // Columns that are as high as the one before need no point of their own.
    paintSteps(top, height, color, shares) {
        const { context } = this;
        const bottom = top + height;
        let last = bottom;
        context.fillStyle = color;
        context.beginPath();
        context.moveTo(0, bottom);
        for (let x = 0; x < shares.length; x++) {
            const y = bottom - Math.max(0, Math.min(1, shares[x])) * height;
            if (Math.abs(y - last) < 0.05) continue;
            context.lineTo(x, last);
            context.lineTo(x, y);
            last = y;
        }
        context.lineTo(this.width, last);
        context.lineTo(this.width, bottom);
        context.fill();
    },

    // ---- Projected ranges ----

    // From one box that can be seen to the next, by binary search.
    paintSpans(row) {
        const { timeline, context } = this;
        const { begin, end, event, count } = row.spans;
        let at = Math.max(0, lastAtMost(begin, count, this.from));
        this.color = null;
        this.labels.length = 0;
        while (at < count && begin[at] <= this.to) {
            const x = Math.max(-4, this.x(begin[at]));
            const width = Math.max(this.finest, Math.min(this.x(end[at]), this.width + 4) - x);
            const name = nameIndexOf(timeline, event[at]);
            this.boxes++;
            this.useColor(this.colors[name]);
            context.fillRect(x, row.y + 1, width > 3 ? width - 1 : width, row.height - 2);
            if (width >= LABEL_MIN) this.labels.push(Math.max(x, 0), width, name);
            const next = this.from + (x + width) / this.scale;
            at = Math.max(at + 1, lastAtMost(begin, count, next));
        }
        this.paintLabels(row);
    },

    // ---- What the reader does ----

    paintSelection(rows, selected, arrows) {
        const place = this.placeOf(rows, selected);
        for (const { event, from, color } of arrows) {
            const a = this.placeOf(rows, from);
            const b = this.placeOf(rows, event);
            if (a && b)
                this.paintArrow(color === "launch" ? a.x : a.end, a.y, b.x, b.y, this.theme[color]);
        }
        if (!place) return;
        this.context.strokeStyle = this.theme.text;
        this.context.lineWidth = 2;
        this.context.strokeRect(
            place.x,
            place.y - place.height / 2 + 1,
            Math.max(2, place.end - place.x),
            place.height - 2,
        );
    },

    placeOf(rows, event) {
        const { timeline } = this;
        const track = trackOf(timeline, event);
        const row = rows.find((candidate) => candidate.track === track);
        if (!row) return null;
        return {
            x: this.x(timeline.begin[event]),
            end: this.x(endOf(timeline, event)),
            y: row.y + row.height / 2,
            height: row.height,
        };
    },

    paintArrow(x, y, toX, toY, color) {
        const context = this.context;
        const bend = Math.min(60, Math.abs(toX - x) / 2 + 12);
        const clamp = (value) => Math.max(-1e4, Math.min(1e4, value));
        context.strokeStyle = context.fillStyle = color;
        context.lineWidth = 1.5;
        context.beginPath();
        context.moveTo(clamp(x), y);
        context.bezierCurveTo(clamp(x + bend), y, clamp(toX - bend), toY, clamp(toX), toY);
        context.stroke();
        context.beginPath();
        context.moveTo(clamp(toX), toY);
        context.lineTo(clamp(toX) - 7, toY - 4);
        context.lineTo(clamp(toX) - 7, toY + 4);
        context.fill();
    },
    paintBox(from, to) {
        const x = this.x(Math.min(from, to));
        this.context.strokeStyle = this.theme.launch;
        this.context.lineWidth = 1;
        this.context.strokeRect(x, AXIS_HEIGHT, this.x(Math.max(from, to)) - x, this.height);
    },

    // A stretch with its length written into it.
    paintMeasure({ from, to }) {
        const { context } = this;
        const x = this.x(from);
        const width = Math.max(1, this.x(to) - x);
        context.globalAlpha = 0.14;
        context.fillStyle = this.theme.launch;
        context.fillRect(x, AXIS_HEIGHT, width, this.height);
        context.globalAlpha = 1;
        context.fillRect(x, 0, 1, this.height);
        context.fillRect(x + width, 0, 1, this.height);
        const text = formatTime(to - from);
        const room = context.measureText(text).width + 10;
        const left = Math.max(2, Math.min(this.width - room, x + width / 2 - room / 2));
        context.fillRect(left, 1, room, AXIS_HEIGHT - 2);
        context.fillStyle = this.theme.back;
        context.fillText(text, left + 5, AXIS_HEIGHT / 2);
    },

    // Where events were left out: hatched from there on, with how many.
    paintLeftOut(until, words) {
        const x = Math.max(0, this.x(until));
        if (x > this.width) return;
        const { context } = this;
        context.save();
        context.beginPath();
        context.rect(x, AXIS_HEIGHT, this.width - x, this.height);
        context.clip();
        context.strokeStyle = this.theme.line;
        context.lineWidth = 1;
        context.beginPath();
        for (let at = x - this.height; at < this.width; at += 12) {
            context.moveTo(at, this.height);
            context.lineTo(at + this.height, 0);
        }
        context.stroke();
        const room = context.measureText(words).width + 12;
        context.fillStyle = this.theme.wait;
        context.fillRect(x, AXIS_HEIGHT, 2, this.height);
        if (this.width - x > 60) {
            context.fillStyle = this.theme.back;
            context.fillRect(x + 6, this.height - 26, room, 20);
            context.fillStyle = this.theme.wait;
            context.fillText(words, x + 12, this.height - 16);
        }
        context.restore();
    },
});

// Of a GPU, the time before a moment that it was busy, and idle by cause.
function sumsUntil({ busy, gaps }, time, into) {
    into.fill(0);
    gaps.addUntil(time, 1, into, 1);
    into[0] = busyUntil(busy, time);
}

function meanOf(items, of) {
    return items.length ? items.reduce((sum, item) => sum + of(item), 0) / items.length : 0;
}
