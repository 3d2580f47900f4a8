// A button with data-opens="id" opens that <dialog>; data-closes closes the one around it.
const openers = new WeakMap();

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener) {
    const dialog = document.getElementById(opener.dataset.opens);
    if (!(dialog instanceof HTMLDialogElement) || dialog.open) return;
    event.preventDefault();
    openers.set(dialog, opener.id || opener);
    dialog.showModal();
    return;
  }
  if (event.target.closest("[data-closes]")) event.target.closest("dialog")?.close();
  else if (event.target instanceof HTMLDialogElement) event.target.close(); // The veil itself.
});

document.addEventListener("close", (event) => {
  const opener = openers.get(event.target);
  const element = typeof opener === "string" ? document.getElementById(opener) : opener;
  if (element?.isConnected) element.focus();
}, true);

// An htmx request out of a dialog that did its work closes it; a refused one leaves it open with its reasons.
document.addEventListener("htmx:afterRequest", (event) => {
  if (!event.detail.successful) return;
  event.detail.elt.closest?.("dialog[open]")?.close();
});
