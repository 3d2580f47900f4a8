// <time datetime data-relative>: "2 minutes ago" stays true while the page is open. The exact time is in its title.
const STEPS = [[60, "second"], [60, "minute"], [24, "hour"], [7, "day"], [4.35, "week"], [12, "month"], [Infinity, "year"]];
const words = new Intl.RelativeTimeFormat("en-GB", { numeric: "auto" });

function phrase(seconds) {
  if (Math.abs(seconds) < 10) return seconds > 0 ? "in a moment" : "just now";
  let value = seconds;
  for (const [size, unit] of STEPS) {
    if (Math.abs(value) < size) return words.format(Math.round(value), unit);
    value /= size;
  }
  return "";
}

function tick() {
  for (const time of document.querySelectorAll("time[data-relative]")) {
    const text = phrase((new Date(time.dateTime) - Date.now()) / 1000);
    if (text && time.textContent !== text) time.textContent = text;
  }
}

tick();
setInterval(tick, 10_000);
document.addEventListener("htmx:afterSettle", tick);
