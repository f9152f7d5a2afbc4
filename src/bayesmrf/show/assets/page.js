"use strict";
// Tables that are sorted, searched and saved; figures that are saved; folded sections that links and printing open.

const button = (text, action) => {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.onclick = action;
  return made;
};

const save = (text, type, name) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

const nameOf = (part) => (part.closest("section")?.querySelector("h2")?.textContent ?? document.title).trim();

const sorted = () => {
  for (const table of document.querySelectorAll("table.sortable:not(.dataTable)")) {
    if (!table.checkVisibility()) continue; // in a folded section
    const csv = { extend: "csv", text: "Download CSV", filename: nameOf(table), escapeExcelFormula: true };
    new DataTable(table, {
      autoWidth: false,
      info: false,
      order: [],
      paging: false,
      layout: { topStart: { buttons: [csv] }, topEnd: { search: { text: "Search " } }, bottomStart: null, bottomEnd: null },
    });
  }
};

for (const figure of document.querySelectorAll("figure")) {
  const svg = figure.querySelector("svg");
  if (svg) figure.append(button("Download SVG", () => {
    const copy = svg.cloneNode(true);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    save(new XMLSerializer().serializeToString(copy), "image/svg+xml", `${nameOf(figure)}.svg`);
  }));
}

const opened = () => {
  const part = location.hash && document.getElementById(location.hash.slice(1));
  const folded = part && part.querySelector("details.part");
  if (folded) folded.open = true;
};
addEventListener("hashchange", opened);
opened();

for (const folded of document.querySelectorAll("details")) {
  folded.addEventListener("toggle", () => window.DataTable && sorted());
}
if (window.DataTable) sorted();

addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details:not([open])")) {
    folded.open = true;
    folded.dataset.printed = "";
  }
});
addEventListener("afterprint", () => {
  for (const folded of document.querySelectorAll("details[data-printed]")) {
    folded.open = false;
    delete folded.dataset.printed;
  }
});
