"use strict";

// Code on the pages: the server's address, copy buttons, and tabs for languages.
const code = (function () {
  const localURL = "http://localhost:8080";

  // Without a public address, examples use the page's address.
  function nameServer(root) {
    const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      texts.currentNode.data = texts.currentNode.data.replaceAll(localURL, location.origin);
    }
  }

  // Copy only the commands of a terminal session, not their output.
  function copied(block) {
    const text = block.textContent;
    if (!block.querySelector(".language-console")) {
      return text;
    }
    let command = false;
    const lines = text.split("\n").filter(function (line) {
      command = line.startsWith("$ ") || (command && /^ +\S/.test(line));
      return command;
    });
    return lines.map((line) => line.replace(/^\$ /, "")).join("\n") + "\n";
  }

  // The clipboard API is available only over TLS and on localhost.
  async function copy(text) {
    if (navigator.clipboard) {
      return navigator.clipboard.writeText(text);
    }
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }

  function addCopyButton(block) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "page-copy";
    button.textContent = "Copy";
    button.addEventListener("click", async function () {
      await copy(copied(block));
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    const frame = document.createElement("div");
    frame.className = "page-code";
    block.replaceWith(frame);
    frame.append(button, block);
  }

  // A chosen language applies to all tabs of the page.
  function choose(label) {
    for (const tab of document.querySelectorAll(`.page-tabs [role=tab][data-label="${label}"]`)) {
      for (const other of tab.parentElement.children) {
        const chosen = other === tab;
        other.setAttribute("aria-selected", chosen);
        other.tabIndex = chosen ? 0 : -1;
        document.getElementById(other.getAttribute("aria-controls")).hidden = !chosen;
      }
    }
  }

  let count = 0;

  // tabs returns an element with a tab for each labelled element.
  function tabs(elements) {
    const list = document.createElement("div");
    list.setAttribute("role", "tablist");
    list.setAttribute("aria-label", "Language");
    const all = document.createElement("div");
    all.className = "page-tabs";
    all.append(list);
    for (const [label, panel] of Object.entries(elements)) {
      const first = list.children.length === 0;
      const id = "tab-" + ++count;
      const tab = document.createElement("button");
      tab.type = "button";
      tab.id = id;
      tab.tabIndex = first ? 0 : -1;
      tab.dataset.label = label;
      tab.textContent = label;
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-selected", first);
      tab.setAttribute("aria-controls", id + "-panel");
      tab.addEventListener("click", () => choose(label));
      panel.id = id + "-panel";
      panel.hidden = !first;
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", id);
      list.append(tab);
      all.append(panel);
    }
    list.addEventListener("keydown", function (event) {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step) {
        const next = [...list.children].at((([...list.children].indexOf(event.target)) + step) % list.children.length);
        choose(next.dataset.label);
        next.focus();
      }
    });
    return all;
  }

  // sample returns a panel with code.
  function sample(text) {
    const panel = document.createElement("div");
    const block = document.createElement("pre");
    block.textContent = text;
    panel.append(block);
    addCopyButton(block);
    return panel;
  }

  // The sections "With curl", "With Python" and so on of a guide become tabs.
  function tabSections(root) {
    const sections = {};
    let group, panel;
    for (const element of [...root.children]) {
      const language = element.tagName === "H2" && /^With (\S+)$/.exec(element.textContent);
      if (language) {
        group ||= element.previousElementSibling;
        panel = document.createElement("div");
        sections[language[1]] = panel;
      } else if (element.tagName === "H2") {
        panel = null;
      }
      panel?.append(element);
    }
    if (group) {
      group.after(tabs(sections));
      // A link may point to a section.
      const target = document.getElementById(location.hash.slice(1));
      const chosen = Object.keys(sections).find((label) => sections[label].contains(target));
      if (chosen) {
        choose(chosen);
        target.scrollIntoView();
      }
    }
  }

  for (const root of document.querySelectorAll(".page-guide")) {
    nameServer(root);
    root.querySelectorAll("pre").forEach(addCopyButton);
    tabSections(root);
  }
  return { tabs, sample };
})();
