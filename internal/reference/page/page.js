"use strict";

// Shows the OpenAPI document of the page's server.
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

  async function load(path) {
    const response = await fetch(path);
    if (!response.ok) {
      throw new Error(path + " returned " + response.status);
    }
    return response.json();
  }

  // The integrators' page describes rules and headers once, below the operations.
  const rules = document.getElementById("rules");
  let spec, samples;
  try {
    [spec, samples] = await Promise.all([load(source), rules ? load("/docs/samples.json") : {}]);
  } catch (error) {
    fail(error.message);
    return;
  }
  if (typeof SwaggerUIBundle !== "function") {
    fail("a script of the page did not load");
    return;
  }

  // The Content-Security-Policy allows requests only to the page's origin, which may differ
  // from the public address.
  const here = location.origin + new URL(spec.servers[0].url, location.href).pathname;
  if (!spec.servers.some((server) => server.url === here)) {
    spec.servers.unshift({ url: here, description: "The address of this page" });
  }

  for (const path of Object.values(spec.paths)) {
    for (const part of [path, ...Object.values(path)]) {
      // Swagger UI would send the examples of parameters: a second create with the same
      // Idempotency-Key would only replay the first.
      for (const parameter of part.parameters || []) {
        delete parameter.example;
        delete parameter.examples;
      }
      // Show the stability before the operation is opened.
      if (part["x-stability"]) {
        part.summary += " (" + part["x-stability"] + ")";
      }
    }
  }

  if (rules) {
    spec.info.description = spec.info.description.split("\n\n")[0];
    delete spec.info.summary;
    delete spec.info.license;
    shortenHeaders();
  }

  // The rules describe the headers of every response; other headers are only named.
  function shortenHeaders() {
    const operations = Object.values(spec.paths).flatMap((path) => Object.values(path));
    const responses = operations.flatMap((operation) => Object.values(operation.responses || {}))
      .concat(Object.values(spec.components.responses)).filter((response) => response.headers);
    const common = Object.keys(responses[0].headers).filter((name) => responses.every((response) => name in response.headers));
    for (const response of responses) {
      const more = Object.keys(response.headers).filter((name) => !common.includes(name));
      if (more.length > 0) {
        response.description += "\n\nHeaders: " + more.map((name) => "`" + name + "`").join(", ") + ", and those of every response.";
      }
      delete response.headers;
    }
  }

  // samplesOf returns samples of an operation in each language.
  function samplesOf(path, method) {
    const operation = spec.paths[path][method];
    let curl = `curl ${here}${path.replace(/{\w+}/, "4")} \\\n  -H "Authorization: Bearer $PETCAT_API_KEY"`;
    if (method !== "get") {
      curl += " \\\n  -X " + method.toUpperCase();
    }
    for (const [type, media] of Object.entries(operation.requestBody?.content || {}).slice(0, 1)) {
      const body = JSON.stringify(Object.values(media.examples)[0].value);
      curl += ` \\\n  -H "Content-Type: ${type}" \\\n  -d '${body}'`;
    }
    const all = { curl: code.sample(curl) };
    for (const [language, text] of Object.entries(samples[operation.operationId] || {})) {
      all[language] = code.sample(samples.start[language] + text);
    }
    return code.tabs(all);
  }

  // Add the samples above the responses, and a hint after a request without a valid key.
  function wrapResponses(Responses, system) {
    const element = system.React.createElement;
    return function (properties) {
      const parts = [element(Responses, { key: "responses", ...properties })];
      if (properties.tryItOutResponse?.get("status") === 401) {
        const open = () => reference.querySelector(".scheme-container .authorize").click();
        parts.unshift(element("p", { key: "hint", className: "page-hint", role: "alert" },
          "The request had no valid API key. ", element("button", { type: "button", onClick: open }, "Enter your key"), ", then execute it again."));
      }
      if (rules) {
        const fill = (node) => node?.hasChildNodes() === false && node.append(samplesOf(properties.path, properties.method));
        parts.unshift(element("div", { key: "samples", className: "page-samples", ref: fill }));
      }
      return element("div", null, parts);
    };
  }

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const color = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
  dark.addEventListener("change", color);
  color();

  // Some elements of Swagger UI have no accessible name, or one that differs from their text.
  const names = {
    "#servers": "Server",
    ".examples-select-element": "Example",
    ".body-param textarea": "Request body",
    ".close-modal": "Close the dialog",
    ".modal-btn[type=submit]": "Authorize: apply credentials",
    ".modal-btn[aria-label^=Remove]": "Logout: remove authorization",
  };
  new MutationObserver(function () {
    for (const [selector, name] of Object.entries(names)) {
      reference.querySelectorAll(selector).forEach((element) => { element.ariaLabel = name; });
    }
  }).observe(reference, { childList: true, subtree: true });

  SwaggerUIBundle({
    spec: spec,
    dom_id: "#reference",
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    persistAuthorization: false, // a reload forgets the key
    validatorUrl: null, // send nothing to another host
    // A path is inside a button, so it cannot be a link.
    plugins: [{ wrapComponents: { responses: wrapResponses, DeepLink: () => ({ text }) => text } }],
    onComplete: function () {
      // The browser scrolled to the section before the operations were above it.
      const section = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
      if (section) {
        section.scrollIntoView();
      }
    },
  });
})();
