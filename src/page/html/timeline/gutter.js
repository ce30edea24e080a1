// The names of rows at the left: they open and close, pin, and resize blocks of rows. What is open,
// pinned and resized decides which rows there are, and where.

import { button, el } from "../base/dom.js";
import { AXIS_HEIGHT } from "./paint.js";
import { MAX_GROWN, blocksOf, openBlocks, placeRows } from "./rows.js";

export class Gutter {
    // onchange(): other rows are to be drawn; `canvas` shows them.
    /** @param {Timeline} timeline
     * @param {Device[]} devices
     * @param {HTMLElement} canvas
     * @param {() => void} onchange */
    constructor(timeline, devices, canvas, onchange) {
        this.timeline = timeline;
        this.devices = devices;
        this.onchange = onchange;
        this.closed = new Set();
        this.pins = new Set();
        this.scales = new Map();
        this.pinned = el("div", { class: "pins" });
        this.names = el("div", { class: "gutter" });
        this.spacer = el("div", { class: "spacer" });
        const parts = [this.pinned, this.names, this.spacer, canvas];
        this.frame = el("div", { class: "timeline" }, parts);
        this.arrange("recorded");
    }

    // Rows in their places, from what is closed, pinned, sorted and resized.
    arrange(order) {
        this.blocks = blocksOf(this.timeline, this.devices, order);
        this.layOut();
        this.onchange();
    }

    layOut() {
        const { closed, scales } = this;
        this.growRows();
        const how = { closed, scales, grown: this.grown };
        const pinned = this.blocks.filter(({ key }) => this.pins.has(key));
        const others = openBlocks(this.blocks, closed).filter(({ key }) => !this.pins.has(key));
        const top = placeRows(pinned, { ...how, y: AXIS_HEIGHT, pinned: true });
        const rest = placeRows(others, { ...how, y: top.end, pinned: false });
        this.pinnedEnd = top.end;
        this.rows = [...top.rows, ...rest.rows];
        this.pinned.replaceChildren(...top.rows.flatMap((row) => this.labelsOf(row)));
        this.names.replaceChildren(...rest.rows.flatMap((row) => this.labelsOf(row)));
        this.pinned.style.setProperty("--pins", `${top.end}px`);
        this.pinned.classList.toggle("some", top.rows.length > 0);
        this.names.style.height = this.spacer.style.height = `${rest.end}px`;
    }

    // A few rows are taller, so that they fill the window.
    growRows() {
        const room = this.frame.clientHeight - AXIS_HEIGHT;
        const shown = openBlocks(this.blocks, this.closed);
        const height = shown.reduce((sum, block) => {
            const rows = this.closed.has(block.key) ? [] : block.rows;
            return [block.head, ...rows].reduce((all, row) => all + row.height, sum);
        }, 0);
        this.grown = Math.max(1, Math.min(MAX_GROWN, room / Math.max(height, 1)));
    }

    labelsOf(row) {
        if (row.isHead) return [this.headLabel(row)];
        if (!row.title) return [];
        return [el("span", { title: row.title, style: { top: `${row.y}px` } }, row.title)];
    }

    headLabel(row) {
        const { block } = row;
        const open = !this.closed.has(block.key);
        const isParent = block.rows.length || block.level < 2;
        const name = `${isParent ? `${open ? "▾" : "▸"} ` : ""}${block.title}`;
        const style = { top: `${row.y}px`, height: `${row.height}px` };
        return el("div", { class: `head level${block.level}`, style },
            button(name, () => this.toggleBlock(block.key), {
                "aria-expanded": isParent ? String(open) : null,
                "data-key": block.key,
                title: block.title,
                onkeydown: (event) => this.labelKey(event, block.key),
            }),
            this.pinButton(block),
            this.heightHandle(block),
        );
    }

    pinButton({ key, title }) {
        const pinned = this.pins.has(key);
        return button(pinned ? "▼" : "▲", () => this.togglePin(key), {
            class: "pin",
            tabindex: "-1",
            "aria-pressed": String(pinned),
            "aria-label": `Pin ${title}`,
            title: pinned ? "Unpin" : "Pin to the top",
        });
    }

    // Dragging the lower border of a name makes its block taller or lower.
    heightHandle({ key }) {
        const handle = el("div", { class: "handle", "aria-hidden": "true" });
        let from = null;
        handle.addEventListener("pointerdown", (event) => {
            handle.setPointerCapture(event.pointerId);
            const height = handle.parentElement.offsetHeight;
            from = { y: event.clientY, height, scale: this.scales.get(key) || 1 };
        });
        handle.addEventListener("pointermove", (event) => {
            if (!from) return;
            const height = from.height + event.clientY - from.y;
            this.setScale(key, (from.scale * height) / from.height, false);
        });
        handle.addEventListener("pointerup", () => {
            from = null;
            this.layOut();
            this.onchange();
        });
        return handle;
    }

    setScale(key, scale, anew = true) {
        this.scales.set(key, Math.max(0.6, Math.min(8, scale)));
        if (anew) this.layOut();
        else this.moveRows();
        this.onchange();
    }

    // While a handle is held, labels stay the elements that they are and only move.
    moveRows() {
        const labels = [...this.pinned.children, ...this.names.children];
        const { closed, scales, grown } = this;
        const how = { closed, scales, grown };
        const blocks = (pinned) => [
            ...new Set(this.rows.filter((row) => row.pinned === pinned).map(({ block }) => block)),
        ];
        const top = placeRows(blocks(true), { ...how, y: AXIS_HEIGHT, pinned: true });
        const rest = placeRows(blocks(false), { ...how, y: top.end, pinned: false });
        this.pinnedEnd = top.end;
        this.rows = [...top.rows, ...rest.rows];
        this.rows
            .filter(({ isHead, title }) => isHead || title)
            .forEach((row, i) => {
                labels[i].style.top = `${row.y}px`;
                if (row.isHead) labels[i].style.height = `${row.height}px`;
            });
    }

    labelKey(event, key) {
        const scale = { ArrowUp: 1.25, ArrowDown: 0.8 }[event.key];
        if (event.shiftKey && scale) this.setScale(key, (this.scales.get(key) || 1) * scale);
        else if (event.key === "p") this.togglePin(key);
        else return;
        event.preventDefault();
        this.focusLabel(key);
    }

    focusLabel(key) {
        this.frame.querySelector(`button[data-key="${key}"]`)?.focus();
    }

    togglePin(key) {
        if (!this.pins.delete(key)) this.pins.add(key);
        this.layOut();
        this.onchange();
    }

    toggleBlock(key) {
        if (!this.closed.delete(key)) this.closed.add(key);
        this.layOut();
        this.focusLabel(key);
        this.onchange();
    }

    // Opens what hides a track.
    openTrack(track) {
        const at = this.blocks.findIndex(
            (block) => block.head.track === track || block.rows.some((row) => row.track === track),
        );
        if (at < 0) return;
        let { level } = this.blocks[at];
        let changed = this.closed.delete(this.blocks[at].key);
        for (let i = at - 1; i >= 0 && level > 0; i--) {
            if (this.blocks[i].level >= level) continue;
            level = this.blocks[i].level;
            changed = this.closed.delete(this.blocks[i].key) || changed;
        }
        if (changed) this.layOut();
    }
}
