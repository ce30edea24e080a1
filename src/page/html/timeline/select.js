// The selected event of the time line: what is below the pointer, arrows, going from one to another.

Object.assign(TimelineView.prototype, {
    timeAt(clientX) {
        const box = this.canvas.getBoundingClientRect();
        return (
            this.view.from + ((clientX - box.left) / box.width) * (this.view.to - this.view.from)
        );
    },

    // The row at a place on the screen, pinned ones first.
    rowAt(clientY) {
        const y = clientY - this.canvas.getBoundingClientRect().top;
        const contains = (row) => y >= row.y && y < row.y + row.height;
        return this.rowsOnScreen().find(
            (row) => contains(row) && (row.pinned || y >= this.pinnedEnd),
        );
    },

    // ns that a pixel or two are.
    slack() {
        return ((this.view.to - this.view.from) / Math.max(1, this.painter.width)) * 2;
    },

    // The event at a place on the screen; a pixel or two beside it will do.
    eventAt(clientX, clientY) {
        const row = this.rowAt(clientY);
        const time = this.timeAt(clientX);
        if (row?.spans) return this.spanAt(row.spans, time);
        if (!row?.track) return NONE;
        const slack = this.slack();
        const [first, end] = eventsIn(this.timeline, row.track, time - slack, time + slack);
        for (let i = first; i < end; i++) {
            if (this.timeline.begin[i] <= time && endOf(this.timeline, i) >= time) return i;
        }
        return first < end ? first : NONE;
    },

    spanAt({ begin, end, event, count }, time) {
        const at = lastAtMost(begin, count, time + this.slack());
        return at >= 0 && end[at] >= time - this.slack() ? event[at] : NONE;
    },

    select(event) {
        this.selected = event;
        this.arrows = event === NONE ? [] : arrowsOf(this.timeline, event);
        replaceContent(
            this.details,
            renderDetails(this.timeline, event, (other) => this.show(other)),
        );
        this.draw();
        this.context.onmove();
    },

    // Selects an event and brings it into view.
    show(event) {
        const begin = this.timeline.begin[event];
        const end = endOf(this.timeline, event);
        const length = this.view.to - this.view.from;
        const fits = end - begin < length && (end - begin) * 400 > length;
        const wanted = fits ? length : Math.max((end - begin) * 20, NEAREST * 5);
        this.reveal(trackOf(this.timeline, event));
        this.select(event);
        if (!fits || begin < this.view.from || end > this.view.to)
            this.goTo((begin + end - wanted) / 2, (begin + end + wanted) / 2);
    },

    reveal(track) {
        this.openTrack(track);
        const row = this.rows.find((candidate) => candidate.track === track);
        if (!row || row.pinned) return;
        const top = this.frame.scrollTop;
        if (row.y < top + this.pinnedEnd || row.y + 2 * row.height > top + this.painter.height)
            this.frame.scrollTop = Math.max(0, row.y - this.painter.height / 2);
    },

    step(direction) {
        if (this.selected === NONE) {
            const { track } = this.visibleRows()[0] || this.rows.find((row) => row.track) || {};
            if (track)
                this.show(Math.min(firstFrom(this.timeline, track, this.view.from), track.end - 1));
            return;
        }
        const track = trackOf(this.timeline, this.selected);
        const next = this.selected + direction;
        if (next >= track.first && next < track.end) this.show(next);
    },

    follow(column) {
        if (this.selected !== NONE && column[this.selected] !== NONE)
            this.show(column[this.selected]);
    },
});
