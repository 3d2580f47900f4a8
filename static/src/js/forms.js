// A form is sent once: a second click or Enter while the first is on its way does nothing.
// data-busy="Launching…" on the button tells what happens meanwhile; the button keeps its width.
const ELSEWHERE = 2000; // ms until a form that opened another tab may be sent again
const busy = new WeakMap();

function start(form, submitter) {
  const button = submitter ?? form.querySelector("[type=submit], button:not([type])");
  busy.set(form, { button, text: button?.textContent });
  if (!button) return;
  if (button.dataset.busy) {
    button.style.minWidth = `${button.offsetWidth}px`;
    button.textContent = button.dataset.busy;
  }
  button.setAttribute("aria-disabled", "true");
}

function finish(form) {
  const state = busy.get(form);
  busy.delete(form);
  if (!state?.button) return;
  state.button.removeAttribute("aria-disabled");
  if (state.button.dataset.busy) state.button.textContent = state.text;
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method === "dialog" || form.method === "get") return;
  if (busy.has(form)) {
    event.preventDefault();
    event.stopImmediatePropagation();
    return;
  }
  start(form, event.submitter);
  if (form.target === "_blank") setTimeout(() => finish(form), ELSEWHERE);
}, true);

document.addEventListener("htmx:afterRequest", (event) => {
  const form = event.detail.elt.closest?.("form");
  if (form && event.detail.elt === form && event.detail.requestConfig.verb !== "get") finish(form);
});

// Back from the cache of the browser: every form may be sent again.
addEventListener("pageshow", (event) => {
  if (event.persisted) document.querySelectorAll("form").forEach(finish);
});

// <form data-sends-itself>: filters that apply as soon as one chooses.
document.addEventListener("change", (event) => {
  event.target.form?.matches("[data-sends-itself]") && event.target.form.requestSubmit();
});

// <input type="radio" data-proposes="job-2">: the name that was proposed follows the choice, one that was typed stays.
document.addEventListener("change", (event) => {
  const { target } = event;
  if (!target.dataset.proposes) return;
  const { name } = target.form.elements;
  const proposed = [...target.form.querySelectorAll("[data-proposes]")].map((choice) => choice.dataset.proposes);
  if (name instanceof HTMLInputElement && proposed.includes(name.value)) name.value = target.dataset.proposes;
});
