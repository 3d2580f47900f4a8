// Toasts come with the page (Django messages) or by header: HX-Trigger: {"toast": {"tone": "good", "text": "…"}}.
const LIFE = 6000;
const TONES = new Set(["good", "wait", "bad", "info"]);
const region = document.getElementById("toasts");
const shape = document.getElementById("toast-shape");

export function toast({ text, tone = "info" }) {
  if (!region || !shape || !text) return;
  const note = shape.content.firstElementChild.cloneNode(true);
  note.classList.add(TONES.has(tone) ? tone : "info");
  note.querySelector("p").textContent = text;
  region.append(note);
  expire(note);
}

// What went wrong stays until it is closed; the rest leaves by itself, but not under the pointer or the focus.
function expire(note) {
  if (note.classList.contains("bad")) return;
  setTimeout(() => {
    if (note.matches(":hover, :focus-within")) expire(note);
    else note.remove();
  }, LIFE);
}

region?.addEventListener("click", (event) => {
  if (event.target.closest("button")) event.target.closest(".toast").remove();
});
region?.querySelectorAll(".toast").forEach(expire);
document.addEventListener("toast", (event) => toast(event.detail));
document.addEventListener("htmx:sendError", (event) => {
  if (!event.detail.elt.matches("[data-live]")) toast({ tone: "bad", text: "No connection. Nothing was sent; try again." });
});
document.addEventListener("htmx:responseError", (event) => {
  const { elt, xhr } = event.detail;
  if (elt.matches("[data-live]") || xhr.getResponseHeader("HX-Trigger")) return;
  toast({ tone: "bad", text: sentence(xhr.status) });
});

function sentence(status) {
  if (status === 403) return "You may not do this here.";
  if (status === 404) return "This is not here any more.";
  if (status === 409 || status === 412) return "It has changed meanwhile. Reload, and look again.";
  if (status === 414) return "Too long to be looked at while one types. It is looked at when it is sent.";
  if (status === 429) return "Too many requests. Wait a moment, then try again.";
  return `The server answered ${status}. Nothing was changed; try again.`;
}
