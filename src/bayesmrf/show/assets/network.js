"use strict";
// A network to explore: what edges are drawn, what their colours mean, and what is known of a node or an edge.

for (const box of document.querySelectorAll(".network")) {
  const data = JSON.parse(box.querySelector("script").textContent);
  const part = (name) => box.querySelector(`.${name}`);
  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const canvas = part("canvas"), said = part("said"), counted = part("counted");
  const view = part("view"), colour = part("colour"), least = part("least"), find = part("find");
  let at = data.views[0], coloured = "weight";

  const size = (edge) => Math.abs(at.weight[edge] ?? 0);
  const widest = () => Math.max(1e-12, ...data.edges.map((_, e) => size(e)));
  const measure = (e) => (data.inclusion ? data.inclusion[e] : size(e) / top);
  const number = (x) => (x === null ? "–" : Math.abs(x) >= 0.0995 || x === 0 ? x.toFixed(2) : String(+x.toPrecision(2)));

  const byWeight = (e) => (at.weight[e] < 0 ? data.colours.negative : data.colours.positive);
  const isDashed = (e) => (coloured === "evidence" ? data.evidence[e].dashed : at.weight[e] < 0);
  const shade = (e) => (coloured === "evidence" ? data.evidence[e].colour : byWeight(e));
  const groups = () => (data.groups[colour?.value] ?? data.names.map(() => null));
  const nodeColour = (k) => (groups()[k] === null ? ink("--card") : data.palette[data.levels[colour.value].indexOf(groups()[k]) % data.palette.length]);

  let scale = 1; // of the network on this screen, on which texts have the same size
  const graph = cytoscape({
    container: canvas,
    elements: [
      ...data.names.map((name, k) => ({ data: { id: `n${k}`, k, label: name }, position: { x: data.x[k], y: data.y[k] } })),
      ...data.edges.map(([u, v], e) => ({ data: { id: `e${e}`, e, source: `n${u}`, target: `n${v}` } })),
    ],
    layout: { name: "preset", fit: true, padding: 30 },
    minZoom: 0.1, maxZoom: 8, pixelRatio: "auto", textureOnViewport: data.edges.length > 500, boxSelectionEnabled: false,
    userZoomingEnabled: false, // with the wheel only once the network has been clicked, so that the page scrolls
  });

  let top = widest();
  const style = () => [
    { selector: "node", style: {
      label: "data(label)", "font-size": data.font / scale, color: ink("--ink"), width: data.size / scale, height: data.size / scale,
      "text-valign": data.directed ? "center" : "top", "text-halign": data.directed ? "left" : "center", // beside arrows
      "text-margin-y": data.directed ? 0 : -2 / scale, "text-margin-x": data.directed ? -4 / scale : 0, "text-outline-color": ink("--card"), "text-outline-width": 2 / scale,
      "min-zoomed-font-size": 6, "text-wrap": "ellipsis", "text-max-width": `${140 / scale}px`,
      "background-color": (node) => nodeColour(node.data("k")), "border-width": 1.2 / scale, "border-color": ink("--ink") } },
    { selector: "edge", style: {
      "curve-style": data.directed ? "bezier" : "straight", "loop-direction": "180deg", "loop-sweep": "-60deg",
      "control-point-step-size": 34 / scale, opacity: 0.85, // loops are below nodes, labels beside them
      "target-arrow-shape": data.directed ? "triangle" : "none", "arrow-scale": 1.4,
      "target-arrow-color": (edge) => shade(edge.data("e")), "line-color": (edge) => shade(edge.data("e")),
      "line-style": (edge) => (isDashed(edge.data("e")) ? "dashed" : "solid"), "line-dash-pattern": [5 / scale, 3 / scale],
      width: (edge) => (coloured === "evidence" ? data.evidence[edge.data("e")].width : 0.8 + 5 * size(edge.data("e")) / top) / scale } },
    { selector: ".away", style: { display: "none" } },
    { selector: ".pale", style: { opacity: 0.12 } },
    { selector: ".found", style: { "border-width": 4 / scale, "border-color": ink("--link") } },
  ];

  const draw = () => {
    graph.style(style());
    const limit = +least.value;
    let n = 0;
    graph.batch(() => graph.edges().forEach((edge) => {
      const e = edge.data("e"), isAgainst = coloured === "evidence" && part("against").checked && data.isExcluded[e];
      const shown = isAgainst || (measure(e) >= limit && at.weight[e] !== null);
      edge.toggleClass("away", !shown);
      n += shown;
    }));
    part("limit").textContent = limit.toFixed(2);
    counted.textContent = `${n.toLocaleString("en")} of ${data.edges.length.toLocaleString("en")} ${data.thing} drawn${data.rest}`;
    const legend = part("legend");
    legend.replaceChildren();
    const entry = (text, paint, kind) => {
      const one = document.createElement("span"), mark = document.createElement("i");
      mark.style.setProperty("--paint", paint);
      mark.className = kind;
      one.append(mark, text);
      legend.append(one);
    };
    if (coloured === "evidence") for (const word of data.words) entry(word.text, word.colour, word.dashed ? "dashed" : "solid");
    else {
      entry(`${at.name}: positive`, data.colours.positive, "solid");
      entry(`${at.name}: negative`, data.colours.negative, "dashed");
    }
    if (colour && data.levels[colour.value]) {
      data.levels[colour.value].forEach((level, k) => entry(level, data.palette[k % data.palette.length], "node"));
    }
  };

  const line = (text, kind = "p") => {
    const made = document.createElement(kind);
    made.textContent = text;
    return made;
  };
  const aboutEdge = (e) => {
    const [u, v] = data.edges[e], parts = [];
    if (data.inclusion) parts.push(`inclusion ${number(data.inclusion[e])}`);
    for (const one of data.views) {
      if (one.weight[e] !== null) {
        parts.push(`${one.name} ${number(one.weight[e])} (${data.interval}: ${number(one.lower[e])} to ${number(one.upper[e])})`);
      }
    }
    if (data.evidence) parts.push(data.evidence[e].text);
    return `${data.names[u]} ${data.directed ? "→" : "–"} ${data.names[v]}: ${parts.join("; ")}.`;
  };
  const aboutNode = (k) => {
    const parts = [line(data.names[k], "strong")];
    if (data.texts[k]) parts.push(line(data.texts[k]));
    for (const [name, values] of Object.entries(data.groups)) {
      if (values[k] !== null) parts.push(line(`${name}: ${values[k]}`));
    }
    const near = graph.$id(`n${k}`).connectedEdges().not(".away").map((edge) => edge.data("e"));
    near.sort((a, b) => size(b) - size(a));
    const list = document.createElement("ul");
    list.append(...near.slice(0, 12).map((e) => line(aboutEdge(e), "li")));
    if (near.length) parts.push(list);
    return parts;
  };
  const tell = (...parts) => said.replaceChildren(...parts);
  const hint = () => tell(line("Point at a node or an edge to read about it; drag nodes to move them."));

  const light = (node) => {
    graph.elements().addClass("pale");
    node.closedNeighborhood().not(".away").removeClass("pale");
    tell(...aboutNode(node.data("k")));
  };
  graph.on("mouseover tap", "node", (event) => light(event.target));
  graph.on("mouseover tap", "edge", (event) => tell(line(aboutEdge(event.target.data("e")))));
  graph.on("mouseout", "node, edge", () => {
    graph.elements().removeClass("pale");
    if (!find.value) hint();
  });
  canvas.addEventListener("click", () => graph.userZoomingEnabled(true));
  canvas.addEventListener("mouseleave", () => graph.userZoomingEnabled(false));

  view.onchange = () => {
    coloured = view.value === "evidence" ? "evidence" : "weight";
    at = data.views[view.value === "evidence" ? 0 : +view.value];
    top = widest();
    if (part("against")) part("against").closest("label").hidden = coloured !== "evidence";
    draw();
  };
  if (colour) colour.onchange = draw;
  least.oninput = draw;
  if (part("against")) part("against").onchange = draw;
  find.oninput = () => {
    const wanted = find.value.trim().toLowerCase();
    graph.nodes().removeClass("found");
    graph.elements().removeClass("pale");
    if (!wanted) return hint();
    const found = graph.nodes().filter((node) => {
      const k = node.data("k");
      return `${data.names[k]} ${data.texts[k]}`.toLowerCase().includes(wanted);
    });
    found.addClass("found");
    if (found.length === 1) light(found[0]);
    else tell(line(`${found.length} nodes have "${find.value.trim()}" in their name or wording.`));
  };
  const zoom = (by) => graph.zoom({ level: graph.zoom() * by, renderedPosition: { x: canvas.clientWidth / 2, y: canvas.clientHeight / 2 } });
  part("in").onclick = () => zoom(1.3);
  part("out").onclick = () => zoom(1 / 1.3);
  part("reset").onclick = () => {
    graph.nodes().positions((node) => ({ x: data.x[node.data("k")], y: data.y[node.data("k")] }));
    graph.fit(undefined, 30);
  };
  part("png").onclick = () => {
    const link = document.createElement("a");
    link.href = graph.png({ scale: 3, bg: ink("--card"), full: true });
    link.download = "network.png";
    link.click();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

  box.hidden = false;
  for (const other of box.parentElement.querySelectorAll("details.fallback")) other.open = false;
  graph.resize();
  graph.fit(undefined, 30);
  scale = graph.zoom();
  draw();
  hint();
}
