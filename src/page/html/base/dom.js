// Elements without markup: whatever comes from a trace gets into the page as text and no other way.

const ATTRIBUTE_EVENTS = /^on([a-z]+)$/;

// el("button", {class: "link", style: {top: "3px"}, onclick: go, "aria-label": "x"}, "text", child)
export function el(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {})) {
        const event = ATTRIBUTE_EVENTS.exec(key);
        if (value === null || value === undefined || value === false) continue;
        if (event) element.addEventListener(event[1], value);
        else if (key === "style") setStyle(element, value);
        else element.setAttribute(key, value === true ? "" : String(value));
    }
    append(element, children);
    return element;
}

// The page's policy forbids the attribute, but not this. {"left": "3px", "--hue": 20}
export function setStyle(element, properties) {
    for (const [name, value] of Object.entries(properties)) element.style.setProperty(name, value);
}

export function append(element, children) {
    for (const child of children.flat(Infinity)) {
        if (child === null || child === undefined || child === false) continue;
        element.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
}

export function replaceContent(element, ...children) {
    element.replaceChildren();
    append(element, children);
}

export function byId(id) {
    return document.getElementById(id);
}

export function cssColor(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// heads: cells of one row, or none. rows: lists of cells.
export function plainTable(attributes, heads, rows) {
    const rowOf = (cells) => el("tr", null, cells);
    return el(
        "table",
        attributes,
        heads.length > 0 && el("thead", null, rowOf(heads)),
        el("tbody", null, rows.map(rowOf)),
    );
}

// kind: "many" in columns beside each other.
export function facts(pairs, kind = "") {
    return el("dl", { class: `facts ${kind}` },
        pairs
            .filter(([, value]) => value !== null && value !== "")
            .map(([key, value]) => el("div", null, el("dt", null, key), el("dd", null, value))),
    );
}

export function wantsNoMotion() {
    return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

// Runs `action` when nothing more has come for a while.
export function debounced(action, milliseconds) {
    let timer = 0;
    return () => {
        clearTimeout(timer);
        timer = setTimeout(action, milliseconds);
    };
}

export function card(text, title, kind = "") {
    return el("li", { class: `card ${kind}` }, el("b", null, text), el("span", null, title));
}

export function swatch(color) {
    const style = { background: `var(${color})` };
    return el("span", { class: "swatch", "aria-hidden": "true", style });
}

// part: of the whole width, 0 to 1.
export function bar(part, tag = "div") {
    return el(tag, { class: "bar", style: { width: `${(part * 100).toFixed(2)}%` } });
}

export function note(...text) {
    return el("p", { class: "note" }, text);
}

export function section(title, ...children) {
    return el("section", null, el("h2", null, title), children);
}

export function button(text, onclick, attributes = {}) {
    return el("button", { type: "button", onclick, ...attributes }, text);
}

// A button that looks like a link, since it leads somewhere in the page.
export function link(text, onclick, attributes = {}) {
    return button(text, onclick, { class: "link", ...attributes });
}

// A choice among texts, with its label: {select, parts}. onchange(index).
export function choice(id, label, texts, onchange) {
    const options = texts.map((text) => el("option", null, text));
    const select = el("select", { id, onchange: () => onchange(select.selectedIndex) }, options);
    return { select, parts: [el("label", { for: id }, label), select] };
}

export function searchBox(label, action) {
    const oninput = debounced(action, 120);
    return el("input", { type: "search", placeholder: "Search", "aria-label": label, oninput });
}

// ---- The tip beside the pointer ----

export function showTip(x, y, content) {
    const tip = byId("tip");
    replaceContent(tip, content);
    tip.hidden = false;
    const left = Math.max(0, Math.min(x + 14, innerWidth - tip.offsetWidth - 8));
    const below = y + 16 + tip.offsetHeight < innerHeight;
    const top = Math.max(0, below ? y + 16 : y - tip.offsetHeight - 12);
    setStyle(tip, { left: `${left}px`, top: `${top}px` });
}

export function hideTip() {
    byId("tip").hidden = true;
}
