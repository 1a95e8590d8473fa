(() => {
  // A chart is saved as displayed: its variables are replaced by their colours.
  const colors = getComputedStyle(document.documentElement);
  const margin = 12;
  const standalone = (figure) => {
    const svg = figure.querySelector("svg").cloneNode(true);
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    const caption = figure.querySelector("figcaption").textContent.replace(/\s+/g, " ").trim();
    const lines = caption.match(/.{1,52}(?:\s|$)|\S+/g) || [];
    const keys = Array.from(figure.querySelectorAll(".legend li"));
    const above = 9 + 17 * lines.length, below = keys.length ? 8 + 17 * Math.ceil(keys.length / 2) : 0;
    const make = (name, attributes, text) => {
      const e = document.createElementNS(svg.namespaceURI, name);
      Object.entries(attributes).forEach(([k, v]) => e.setAttribute(k, v));
      e.textContent = text || "";
      return e;
    };
    const box = [-margin, -margin - above, width + 2 * margin, height + 2 * margin + above + below];
    svg.setAttribute("viewBox", box.join(" "));
    svg.setAttribute("width", 2 * box[2]);
    svg.setAttribute("height", 2 * box[3]);
    svg.prepend(make("rect", { x: box[0], y: box[1], width: box[2], height: box[3], fill: "var(--page)" }),
      ...lines.map((line, i) => make("text", { x: 0, y: 17 * i + 8 - above, "font-size": 12, fill: "var(--text)" }, line.trim())));
    keys.forEach((key, i) => {
      const x = i % 2 * width / 2, y = height + 8 + 17 * Math.floor(i / 2) + 8;
      const line = key.querySelector("line").cloneNode();
      ["x1", "x2", "y1", "y2"].forEach((name, j) => line.setAttribute(name, [x, x + 22, y, y][j]));
      svg.append(line, make("text", { x: x + 27, y: y + 4, "font-size": 11, fill: "var(--text)" }, key.textContent));
    });
    const text = new XMLSerializer().serializeToString(svg)
      .replace(/var\((--[a-z0-9-]+)\)/g, (_, name) => colors.getPropertyValue(name).trim());
    return { text, width: box[2], height: box[3] };
  };
  const offer = (blob, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const picture = ({ text, width, height }) => new Promise((done, failed) => {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = 3 * width;
      canvas.height = 3 * height;
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(done, "image/png");
    };
    image.onerror = failed;
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  });
  document.querySelectorAll("figure[data-file]").forEach((figure) => {
    const bar = document.createElement("div");
    bar.className = "save";
    const add = (name, save) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.setAttribute("aria-label", "save this chart as " + name);
      button.addEventListener("click", save);
      bar.append(button);
    };
    add("SVG", () => offer(new Blob([standalone(figure).text], { type: "image/svg+xml" }), figure.dataset.file + ".svg"));
    add("PNG", async () => offer(await picture(standalone(figure)), figure.dataset.file + ".png"));
    figure.append(bar);
  });
  // Folded parts are opened for printing.
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
})();
