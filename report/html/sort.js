"use strict";
(() => {
  const table = document.getElementById("trial-table");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const headings = Array.from(table.tHead.rows[0].cells);

  const valueOf = (row, column, isNumber) => {
    const cell = row.cells[column];
    if (!isNumber) return cell.textContent;
    const value = parseFloat(cell.dataset.value || cell.textContent);
    return Number.isNaN(value) ? null : value;
  };

  // Rows without a value stay last in either direction.
  const sort = (column, isNumber, down) => {
    const keyed = rows.map((row) => ({ row, key: valueOf(row, column, isNumber) }));
    keyed.sort((a, b) => {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
      const order = isNumber ? a.key - b.key : a.key.localeCompare(b.key);
      return down ? -order : order;
    });
    const all = document.createDocumentFragment();
    keyed.forEach(({ row }) => all.append(row));
    body.append(all);
  };

  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      sort(column, heading.dataset.number === "1", down);
    });
  });

  const input = document.getElementById("filter");
  const output = document.querySelector(".filter output");
  const texts = rows.map((row) => Array.from(row.cells, (c) => c.textContent).join(" ").toLowerCase());
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/);
    let shown = 0;
    rows.forEach((row, i) => {
      row.hidden = !words.every((word) => texts[i].includes(word));
      if (!row.hidden) shown++;
    });
    output.value = shown + " of " + rows.length;
  };
  input.addEventListener("input", show);
  document.querySelector(".filter").hidden = false;
  show();
})();
