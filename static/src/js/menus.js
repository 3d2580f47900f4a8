// Menus are <details>: this adds Esc, arrows, closing on a click outside and when focus leaves.
const open = () => document.querySelectorAll("details.menu[open]");

function close(menu, { focus = false } = {}) {
  menu.open = false;
  if (focus) menu.querySelector("summary").focus();
}

function items(menu) {
  return [...menu.querySelectorAll(".list :is(a, button):not([disabled])")];
}

function step(menu, event) {
  const all = items(menu);
  const at = all.indexOf(document.activeElement);
  const goal = { ArrowDown: at + 1, ArrowUp: at < 0 ? all.length - 1 : at - 1, Home: 0, End: all.length - 1 }[event.key];
  if (goal === undefined || all.length === 0) return;
  event.preventDefault();
  all[(goal + all.length) % all.length].focus();
}

document.addEventListener("click", (event) => {
  for (const menu of open()) if (!menu.contains(event.target)) close(menu);
});

document.addEventListener("focusin", (event) => {
  for (const menu of open()) if (!menu.contains(event.target)) close(menu);
});

document.addEventListener("keydown", (event) => {
  const menu = event.target.closest?.("details.menu");
  if (!menu) return;
  if (event.key === "Escape" && menu.open) {
    close(menu, { focus: true });
    return;
  }
  if (event.key === "ArrowDown" && !menu.open && event.target.matches("summary")) menu.open = true;
  if (menu.open) step(menu, event);
});
