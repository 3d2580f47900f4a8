// Live parts: <section data-live hx-get="…" hx-trigger="every 2s" hx-swap="steady">.
// What has not changed is not touched, so focus, scroll, selection and open menus stay where they are.

// ── Patching one tree into another ─────────────────────────────────────────────────────────────
const KEPT = new Set(["open"]);

function same(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || "") === (b.id || "") && key(a) === key(b);
}

function key(node) {
  return node.dataset?.key ?? "";
}

function patch(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  if (old.matches("dialog[open]") || old.isEqualNode(fresh)) return;
  attributes(old, fresh);
  if (!old.matches("input, textarea, select")) children(old, fresh);
}

function attributes(old, fresh) {
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && !KEPT.has(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value && !KEPT.has(name)) old.setAttribute(name, value);
}

function children(old, fresh) {
  let at = old.firstChild;
  for (const next of [...fresh.childNodes]) {
    const match = find(at, next);
    if (!match) {
      if (next.classList) next.classList.add("fresh");
      old.insertBefore(next, at);
      continue;
    }
    while (at !== match) at = drop(at);
    patch(match, next);
    at = match.nextSibling;
  }
  while (at) at = drop(at);
}

// Looks ahead only for what has a name of its own; the rest is matched in place.
function find(at, next) {
  if (at && same(at, next)) return at;
  if (!next.id && !key(next)) return null;
  for (let node = at; node; node = node.nextSibling) if (same(node, next)) return node;
  return null;
}

function drop(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

window.htmx?.defineExtension("steady", {
  isInlineSwap: (style) => style === "steady",
  handleSwap(style, target, fragment) {
    if (style !== "steady") return false;
    const fresh = fragment.firstElementChild ?? fragment;
    if (same(target, fresh)) patch(target, fresh);
    else children(target, fragment);
    return [target];
  },
});

// ── Polling ────────────────────────────────────────────────────────────────────────────────────
const tags = new Map(); // address → ETag of what is shown
let pressed = null;

addEventListener("pointerdown", (event) => { pressed = event.target; }, true);
addEventListener("pointerup", () => { pressed = null; }, true);
addEventListener("pointercancel", () => { pressed = null; }, true);

function held(element) {
  const selection = document.getSelection();
  const selecting = selection && !selection.isCollapsed && element.contains(selection.anchorNode);
  return selecting || (pressed && element.contains(pressed));
}

const live = (element) => element instanceof Element && element.matches("[data-live]");

document.addEventListener("htmx:beforeRequest", (event) => {
  const { elt } = event.detail;
  if (live(elt) && (document.hidden || held(elt))) event.preventDefault();
});

document.addEventListener("htmx:configRequest", (event) => {
  const { elt, path, headers } = event.detail;
  const tag = live(elt) && (tags.get(path) ?? elt.dataset.etag);
  if (tag) headers["If-None-Match"] = tag;
});

document.addEventListener("htmx:beforeSwap", (event) => {
  const { elt, xhr, requestConfig } = event.detail;
  if (/^\s*<!doctype/i.test(xhr.response) && !requestConfig.boosted) {
    // A whole page in place of a part: the session has ended. The page itself knows where to go.
    event.detail.shouldSwap = false;
    location.reload();
    return;
  }
  if (!live(requestConfig.elt ?? elt)) return;
  if (held(requestConfig.elt)) {
    event.detail.shouldSwap = false;
    return;
  }
  const tag = xhr.getResponseHeader("ETag");
  if (tag && xhr.status === 200) tags.set(requestConfig.path, tag);
});

// A part that cannot be brought up to date fades, and says so once; the next answer brings it back.
document.addEventListener("htmx:afterRequest", (event) => {
  const { elt, xhr } = event.detail;
  if (!live(elt)) return;
  const fine = xhr.status > 0 && xhr.status < 400;
  elt.classList.toggle("stale", !fine);
  if (fine) elt.removeAttribute("title");
  else elt.setAttribute("title", "Not up to date: no answer from the server. Trying again.");
});

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) document.querySelectorAll("[data-live]").forEach((part) => window.htmx?.trigger(part, "look"));
});
