(() => {
  "use strict";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);

  // Charts name their colours ("$series-1"); the page's style says what they are now.
  const COLOURED = new Set(["color", "colorscale"]);

  function painted(value, key, style) {
    if (Array.isArray(value)) return value.map((item) => painted(item, key, style));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, painted(item, name, style)]));
    }
    const named = COLOURED.has(key) && typeof value === "string" && value.startsWith("$");
    return named ? style.getPropertyValue("--" + value.slice(1)).trim() : value;
  }

  function template(style) {
    const colour = (name) => style.getPropertyValue("--" + name).trim();
    const axis = {
      automargin: true, gridcolor: colour("line"), linecolor: colour("line"), zerolinecolor: colour("quiet"),
      tickcolor: colour("line"), title: { standoff: 10, font: { size: 12, color: colour("quiet") } },
    };
    return { layout: {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: style.getPropertyValue("font-family"), size: 12, color: colour("ink") },
      margin: { l: 8, r: 12, t: 8, b: 8 }, xaxis: axis, yaxis: axis, bargap: 0.25, showlegend: false, dragmode: false,
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 12 } },
      hoverlabel: { bgcolor: colour("surface"), bordercolor: colour("line"), font: { color: colour("ink") } },
      hovermode: "closest", uirevision: "kept",
    } };
  }

  function draw() {
    const style = getComputedStyle(document.body);
    for (const chart of document.querySelectorAll("figure.chart")) {
      const { data, layout } = JSON.parse(chart.querySelector("script").textContent);
      Plotly.react(
        chart.querySelector(".plot"), painted(data, "", style), { ...painted(layout, "", style), template: template(style) },
        { responsive: true, displayModeBar: false, displaylogo: false },
      );
    }
  }

  function sortable(table) {
    const body = table.tBodies[0];
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const number = head.classList.contains("number");
        const now = head.getAttribute("aria-sort");
        const down = now ? now === "ascending" : number;
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        body.append(...[...body.rows].sort((a, b) => compare(a.cells[column], b.cells[column], number, down)));
      });
    });
  }

  function compare(a, b, number, down) {
    const way = down ? -1 : 1;
    if (!number) return way * a.textContent.localeCompare(b.textContent, undefined, { numeric: true });
    const values = [a, b].map((cell) => ("sort" in cell.dataset ? Number(cell.dataset.sort) : null));
    if (values.includes(null)) return (values[0] === null) - (values[1] === null);  // undefined is last, either way
    return way * (values[0] - values[1]);
  }

  const button = document.getElementById("theme");
  function label() { button.textContent = isDark() ? "Light" : "Dark"; }
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("gpcn-report-theme", root.dataset.theme); } catch { /* for this visit only */ }
    label();
    draw();
  });
  system.addEventListener("change", () => { label(); draw(); });

  let before;
  addEventListener("beforeprint", () => { before = root.dataset.theme; root.dataset.theme = "light"; draw(); });
  addEventListener("afterprint", () => {
    if (before) root.dataset.theme = before; else delete root.dataset.theme;
    draw();
  });

  document.querySelectorAll("table.sortable").forEach(sortable);
  label();
  draw();
})();
