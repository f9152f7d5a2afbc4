"use strict";
// A network to explore: what edges are drawn, what their colours mean, and what is known of a node or an edge.
// In a wide window the evidence is beside it: the same nodes, at the same places.

for (const box of document.querySelectorAll(".network")) {
  const data = JSON.parse(box.querySelector("script").textContent);
  const part = (name) => box.querySelector(`.${name}`);
  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const canvases = [...box.querySelectorAll(".canvas")], said = part("said"), counted = part("counted");
  const view = part("view"), colour = part("colour"), least = part("least"), find = part("find");
  let at = data.views[0], coloured = "weight";

  const size = (edge) => Math.abs(at.weight[edge] ?? 0);
  const widest = () => Math.max(1e-12, ...data.edges.map((_, e) => size(e)));
  const measure = (e) => (data.inclusion ? data.inclusion[e] : size(e) / top);
  const number = (x) => (x === null ? "–" : Math.abs(x) >= 0.0995 || x === 0 ? x.toFixed(2) : String(+x.toPrecision(2)));

  const byWeight = (e) => (at.weight[e] < 0 ? data.colours.negative : data.colours.positive);
  const isBeside = () => canvases.length > 1 && canvases[1].checkVisibility();
  const groups = () => (data.groups[colour?.value] ?? data.names.map(() => null));
  const nodeColour = (k) => (groups()[k] === null ? ink("--card") : data.palette[data.levels[colour.value].indexOf(groups()[k]) % data.palette.length]);

  const graphs = canvases.map((canvas) => cytoscape({
    container: canvas,
    elements: [
      ...data.names.map((name, k) => ({ data: { id: `n${k}`, k, label: name }, position: { x: data.x[k], y: data.y[k] } })),
      ...data.edges.map(([u, v], e) => ({ data: { id: `e${e}`, e, source: `n${u}`, target: `n${v}` } })),
    ],
    layout: { name: "preset", fit: true, padding: 30 },
    minZoom: 0.1, maxZoom: 8, pixelRatio: "auto", textureOnViewport: data.edges.length > 500, boxSelectionEnabled: false,
    userZoomingEnabled: false, // with the wheel only once the network has been clicked, so that the page scrolls
  }));
  const [graph] = graphs;
  const scales = graphs.map(() => 1); // of each on this screen, on which texts have the same size
  const all = (what) => graphs.forEach(what);
  const isEvidence = (which) => which > 0 || coloured === "evidence";

  let top = widest();
  const style = (which) => {
    const scale = scales[which], known = data.evidence && isEvidence(which);
    const isDashed = (e) => (known ? data.evidence[e].dashed : at.weight[e] < 0);
    const shade = (e) => (known ? data.evidence[e].colour : byWeight(e));
    return [
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
        width: (edge) => (known ? data.evidence[edge.data("e")].width : 0.8 + 5 * size(edge.data("e")) / top) / scale } },
      { selector: ".away", style: { display: "none" } },
      { selector: ".pale", style: { opacity: 0.12 } },
      { selector: ".found", style: { "border-width": 4 / scale, "border-color": ink("--link") } },
    ];
  };

  const draw = () => {
    const limit = +least.value, against = part("against");
    against.closest("label").hidden = !data.evidence || !(isBeside() || coloured === "evidence");
    const counts = graphs.map((one, which) => {
      let n = 0;
      one.style(style(which));
      one.batch(() => one.edges().forEach((edge) => {
        const e = edge.data("e"), isAgainst = isEvidence(which) && against.checked && data.isExcluded[e];
        const shown = isAgainst || (measure(e) >= limit && at.weight[e] !== null);
        edge.toggleClass("away", !shown);
        n += shown;
      }));
      return n;
    });
    const [n] = counts;
    part("limit").textContent = limit.toFixed(2);
    counted.textContent = `${n.toLocaleString("en")} of ${data.edges.length.toLocaleString("en")} ${data.thing} drawn${data.rest}`;
    const entry = (legend, text, paint, kind) => {
      const one = document.createElement("span"), mark = document.createElement("i");
      mark.style.setProperty("--paint", paint);
      mark.className = kind;
      one.append(mark, text);
      legend.append(one);
    };
    const legend = part("legend"), key = part("key");
    const ofEvidence = (where) => data.words.forEach((word) => entry(where, word.text, word.colour, word.dashed ? "dashed" : "solid"));
    legend.replaceChildren();
    if (coloured === "evidence") ofEvidence(legend);
    else {
      entry(legend, `${at.name}: positive`, data.colours.positive, "solid");
      entry(legend, `${at.name}: negative`, data.colours.negative, "dashed");
    }
    if (colour && data.levels[colour.value]) {
      data.levels[colour.value].forEach((level, k) => entry(legend, level, data.palette[k % data.palette.length], "node"));
    }
    if (key) {
      key.replaceChildren();
      ofEvidence(key);
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

  const clear = () => all((one) => one.elements().removeClass("pale"));
  const light = (id) => {
    all((one) => {
      one.elements().addClass("pale");
      one.$id(id).closedNeighborhood().not(".away").removeClass("pale");
    });
    tell(...aboutNode(graph.$id(id).data("k")));
  };
  all((one) => {
    one.on("mouseover tap", "node", (event) => light(event.target.id()));
    one.on("mouseover tap", "edge", (event) => tell(line(aboutEdge(event.target.data("e")))));
    one.on("mouseout", "node, edge", () => {
      clear();
      if (!find.value) hint();
    });
    one.on("drag", "node", (event) => all((other) => other !== one && other.$id(event.target.id()).position(event.target.position())));
    one.container().addEventListener("click", () => one.userZoomingEnabled(true));
    one.container().addEventListener("mouseleave", () => one.userZoomingEnabled(false));
  });

  view.onchange = () => {
    coloured = view.value === "evidence" ? "evidence" : "weight";
    at = data.views[view.value === "evidence" ? 0 : +view.value];
    top = widest();
    draw();
  };
  if (colour) colour.onchange = draw;
  least.oninput = draw;
  part("against").onchange = draw;
  find.oninput = () => {
    const wanted = find.value.trim().toLowerCase();
    all((one) => one.nodes().removeClass("found"));
    clear();
    if (!wanted) return hint();
    const found = data.names.map((_, k) => k).filter((k) => `${data.names[k]} ${data.texts[k]}`.toLowerCase().includes(wanted));
    all((one) => found.forEach((k) => one.$id(`n${k}`).addClass("found")));
    if (found.length === 1) light(`n${found[0]}`);
    else tell(line(`${found.length} nodes have "${find.value.trim()}" in their name or wording.`));
  };
  const zoom = (by) => all((one) => one.zoom({ level: one.zoom() * by, renderedPosition: { x: one.width() / 2, y: one.height() / 2 } }));
  part("in").onclick = () => zoom(1.3);
  part("out").onclick = () => zoom(1 / 1.3);
  part("reset").onclick = () => all((one) => {
    one.nodes().positions((node) => ({ x: data.x[node.data("k")], y: data.y[node.data("k")] }));
    one.fit(undefined, 30);
  });
  part("png").onclick = () => {
    const link = document.createElement("a");
    link.href = graph.png({ scale: 3, bg: ink("--card"), full: true });
    link.download = "network.png";
    link.click();
  };
  const fit = () => {
    all((one, which) => {
      one.resize();
      one.fit(undefined, 30);
      scales[which] = one.zoom();
    });
    draw();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  matchMedia("(min-width: 60rem)").addEventListener("change", fit); // the evidence comes or goes

  box.hidden = false;
  for (const other of box.parentElement.querySelectorAll("details.fallback")) other.open = false;
  fit();
  hint();
}
