// The page's address holds which view is open, of which process, and in the time line the selection
// and the stretch that is shown: #timeline&from=1200&to=3400&event=17. Of stacks it holds the
// weight and two boxes: #stacks&weight=2&zoom=3&node=5. Going back, reloading and sending the
// address all lead to the same place.

function readAddress() {
    const [view, ...parts] = location.hash.replace(/^#/, "").split("&");
    const params = {};
    for (const part of parts) {
        const [key, value] = part.split("=");
        if (/^(from|to|event|process|weight|zoom|node)$/.test(key) && Number.isFinite(Number(value)))
            params[key] = Number(value);
    }
    return { view: view.replace(/\W/g, ""), ...params };
}

function writeAddress({ view, ...params }, isNew) {
    const parts = Object.entries(params)
        .filter(([, value]) => !isNothing(value))
        .map(([key, value]) => `${key}=${value}`);
    const hash = `#${[view, ...parts].join("&")}`;
    if (hash === location.hash) return;
    if (isNew) history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
}
