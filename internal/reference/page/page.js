"use strict";

// Shows the interface document of the server that this page came from.
(async function () {
  const reference = document.getElementById("reference");
  const source = reference.dataset.document || "/openapi.json";

  function fail(reason) {
    const note = document.createElement("p");
    note.className = "page-note";
    note.setAttribute("role", "alert");
    note.textContent = "The reference cannot be shown: " + reason + ". Load the page again, or read the document at " + source + ".";
    reference.replaceChildren(note);
  }

  let spec;
  try {
    const answer = await fetch(source);
    if (!answer.ok) {
      throw new Error(source + " answered " + answer.status);
    }
    spec = await answer.json();
  } catch (error) {
    fail(error.message);
    return;
  }
  if (typeof SwaggerUIBundle !== "function") {
    fail("a script of the page did not load");
    return;
  }

  // Requests may be tried out only at the page's own origin (its
  // Content-Security-Policy says so), which need not be the public address.
  const here = location.origin + new URL(spec.servers[0].url, location.href).pathname;
  if (!spec.servers.some((server) => server.url === here)) {
    spec.servers.unshift({ url: here, description: "The address of this page" });
  }

  for (const path of Object.values(spec.paths)) {
    for (const part of [path, ...Object.values(path)]) {
      // Examples of parameters would be sent by everybody who tries a request: the
      // second create with the same Idempotency-Key would only repeat the first.
      for (const parameter of part.parameters || []) {
        delete parameter.example;
      }
      // How much an operation may still change is seen before it is opened.
      if (part["x-stability"]) {
        part.summary += " (" + part["x-stability"] + ")";
      }
    }
  }

  SwaggerUIBundle({
    spec: spec,
    dom_id: "#reference",
    deepLinking: true,
    defaultModelsExpandDepth: 1,
    displayRequestDuration: true,
    persistAuthorization: false, // the key is forgotten with the page
    validatorUrl: null, // nothing is sent elsewhere
    onComplete: function () {
      showOperationsLink();
      nameSections();
    },
  });

  // The operations stand below a long introduction.
  function showOperationsLink() {
    const link = document.getElementById("to-operations");
    link.addEventListener("click", function () {
      reference.querySelector(".scheme-container").scrollIntoView();
    });
    link.hidden = false;
  }

  // The sections of the introduction can be linked, as /docs#deprecation. Swagger UI
  // gives their headings no ids, and makes them after the browser looked for one.
  function nameSections() {
    for (const heading of reference.querySelectorAll(".info .renderedMarkdown h2")) {
      heading.id = heading.textContent.trim().toLowerCase().replaceAll(" ", "-");
    }
    const section = document.getElementById(location.hash.slice(1));
    if (section) {
      section.scrollIntoView();
    }
  }
})();
