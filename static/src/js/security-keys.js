// What the browser says when a security key is not used after all, in the words of the page.
const WORDS = {
  NotAllowedError: "No key answered, or you called it off. Try again when you are ready.",
  InvalidStateError: "This key is known here already.",
  SecurityError: "Keys work only where the portal has a name of its own: open it by that name (on one machine: localhost), not by a number.",
};

document.addEventListener("allauth.error", (event) => {
  event.preventDefault();
  const place = document.getElementById("key-trouble");
  if (!place) return;
  place.textContent = WORDS[event.detail.exception?.name] ?? "This browser cannot use security keys here.";
  place.hidden = false;
});
