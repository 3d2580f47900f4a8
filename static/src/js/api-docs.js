// Starts Swagger UI; writes by session carry the CSRF token.
(() => {
  const place = document.getElementById("api");
  const csrf = () => {
    const name = `${place.dataset.csrfCookie}=`;
    const found = document.cookie.split("; ").find((pair) => pair.startsWith(name));
    return found ? found.slice(name.length) : "";
  };
  window.SwaggerUIBundle({
    domNode: place,
    url: place.dataset.openapi,
    deepLinking: true,
    tryItOutEnabled: true,
    validatorUrl: null,
    requestInterceptor: (request) => {
      if (!["GET", "HEAD"].includes(request.method)) request.headers["X-CSRFToken"] = csrf();
      return request;
    },
  });
})();
