// Names of kernels as short as they can be while they still differ.

// Without result, arguments, template arguments and most namespaces.
function shortName(name) {
    const plain = name.replace(/^void /, "").replace(/\(anonymous namespace\)::/g, "");
    const head = plain.split(/[<(]/)[0].trim();
    const parts = head.split("::");
    return parts.slice(-2).join("::") || name;
}

const MAX_TOKENS = 3;
const MIN_BEGINNING = 8; // characters
const MAX_ALIKE = 300; // names: of more, nothing is said
const MAX_MIDDLE = 48; // characters

function tokensOf(name) {
    return name.match(/[\w:]+/g) || [];
}

// What stands between the part that all names begin with and the part that all end with.
function middleOf(name, others) {
    let first = 0;
    let last = 0;
    const all = (agrees) => others.every(agrees);
    while (first < name.length && all((other) => other[first] === name[first])) first++;
    while (
        last < name.length - first &&
        all((other) => other[other.length - 1 - last] === name[name.length - 1 - last])
    )
        last++;
    while (first > 0 && /\w/.test(name[first - 1])) first--;
    const middle = name.slice(first, name.length - last).trim();
    return middle.length > MAX_MIDDLE ? `${middle.slice(0, MAX_MIDDLE)}…` : middle;
}

// The words of a name that not all others of the group have: `CUDAFunctor_add`, `tilesize64x32`.
function ownWords(name, shared) {
    const own = [...new Set(tokensOf(name))].filter((token) => !shared.has(token));
    return [...new Set(own.map((token) => token.split("::").filter(Boolean).pop()))];
}

// The longest beginning up to a _ that all words have; short ones tell more if they stay.
function commonBeginning(words) {
    let length = Math.min(...words.map((word) => word.length));
    while (words.some((word) => word.slice(0, length) !== words[0].slice(0, length))) length--;
    const begin = words[0].slice(0, words[0].slice(0, length).lastIndexOf("_") + 1);
    return begin.length >= MIN_BEGINNING ? begin.length : 0;
}

// By name of a group what tells it apart, in few words.
function differencesOf(group) {
    if (group.length < 2 || group.length > MAX_ALIKE) return new Map();
    const isShared = (token) => group.every((other) => other.includes(token));
    const shared = new Set(tokensOf(group[0]).filter(isShared));
    const words = group.map((name) => ownWords(name, shared).slice(0, MAX_TOKENS));
    const cut = words.every((own) => own.length) ? commonBeginning(words.map(([own]) => own)) : 0;
    const texts = words.map(([first = "", ...rest]) => [first.slice(cut), ...rest].join(", "));
    return new Map(
        group.map((name, i) => {
            const alone = texts[i] && texts.indexOf(texts[i]) === texts.lastIndexOf(texts[i]);
            const others = group.filter((other) => other !== name);
            return [name, alone ? texts[i] : middleOf(name, others)];
        }),
    );
}

// A short name for each, in their order. Names that would look alike get in brackets what tells
// them apart.
function namesApart(names) {
    const groups = new Map();
    for (const name of new Set(names)) {
        const short = shortName(name);
        if (!groups.has(short)) groups.set(short, []);
        groups.get(short).push(name);
    }
    const words = new Map();
    for (const group of groups.values())
        for (const [name, difference] of differencesOf(group)) words.set(name, difference);
    return names.map((name) => {
        const short = shortName(name);
        return words.get(name) ? `${short}<… ${words.get(name)} …>` : short;
    });
}
