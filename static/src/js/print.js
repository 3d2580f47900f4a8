// <button data-prints>: what the browser prints is what print.css makes of the page.
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-prints]")) window.print();
});
