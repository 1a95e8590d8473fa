"use strict";
(() => {
  // A cell that spans several columns, for example "skipped", counts for each of them.
  const cellAt = (row, column) => {
    let end = 0;
    return Array.from(row.cells).find((cell) => (end += cell.colSpan) > column);
  };

  const keyOf = (row, column, isNumber) => {
    const cell = cellAt(row, column);
    if (!cell) return null;
    const text = cell.dataset.value || (cell.firstChild || cell).textContent; // without marks of doubts
    if (!isNumber) return text;
    const value = parseFloat(text);
    return Number.isNaN(value) ? null : value;
  };

  // A row that continues the one above moves with it.
  const blocksOf = (rows) => {
    const blocks = [];
    rows.forEach((row) => (blocks.length && row.classList.contains("second") ? blocks[blocks.length - 1].push(row) : blocks.push([row])));
    return blocks;
  };

  // Rows without a value stay last in either direction.
  const sorted = (rows, column, isNumber, down) => {
    const keyed = blocksOf(rows).map((block) => ({ block, key: keyOf(block[0], column, isNumber) }));
    keyed.sort((a, b) => {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
      const order = isNumber ? a.key - b.key : a.key.localeCompare(b.key);
      return down ? -order : order;
    });
    return keyed.flatMap(({ block }) => block);
  };

  // One click sorts up, the next one down, and a third one restores the original order.
  const next = { none: "ascending", ascending: "descending", descending: "none" };
  document.querySelectorAll("table.sortable").forEach((table) => {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    const headings = Array.from(table.tHead.querySelectorAll("th:not(.unit), th[data-column]"));
    headings.forEach((heading) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      const column = Number(heading.dataset.column || heading.cellIndex);
      button.addEventListener("click", () => {
        const order = next[heading.getAttribute("aria-sort") || "none"];
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        if (order !== "none") heading.setAttribute("aria-sort", order);
        body.append(...(order === "none" ? rows : sorted(rows, column, heading.dataset.number === "1", order === "descending")));
      });
    });
  });
})();
(() => {
  const table = document.getElementById("trial-table");
  if (!table) return;
  const rows = Array.from(table.tBodies[0].rows);
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
