// <button data-copy="text">: copies, and says so to eye and ear.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const said = button.querySelector("[role=status]");
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
  } catch {
    if (said) said.textContent = "The browser does not allow it; select and copy by hand.";
    return;
  }
  button.classList.add("copied");
  if (said) said.textContent = "Copied";
  setTimeout(() => {
    button.classList.remove("copied");
    if (said) said.textContent = "";
  }, 2000);
});
