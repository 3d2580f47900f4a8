// The chosen theme lives in a cookie, so that the server writes it into the page and nothing flashes.
const COOKIE = "steelyard_theme";
const YEAR = 365 * 24 * 3600;

function choose(theme) {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  const age = theme === "system" ? 0 : YEAR;
  document.cookie = `${COOKIE}=${theme}; Path=/; Max-Age=${age}; SameSite=Lax${secure}`;
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  mark();
}

function mark() {
  const current = document.documentElement.dataset.theme ?? "system";
  for (const button of document.querySelectorAll("[data-theme-choice]")) {
    button.setAttribute("aria-pressed", String(button.dataset.themeChoice === current));
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-theme-choice]");
  if (button) choose(button.dataset.themeChoice);
});
mark();
