"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const GRID = 64; // points along each side of a picture
const SIZE = 280; // of a picture, in its own units
const svgNS = "http://www.w3.org/2000/svg";
const [[left, right], [bottom, top_]] = data.around;
const slider = document.getElementById("slider");
const step = document.getElementById("step");
const play = document.getElementById("play");
const toX = (x) => ((x - left) / (right - left)) * SIZE;
const toY = (y) => SIZE - ((y - bottom) / (top_ - bottom)) * SIZE;
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const short = (value) => {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e4 || size < 1e-3 ? value.toExponential(1) : String(Number(value.toPrecision(3)));
};

function kernel(p, q) {
  if (data.kernel === "linear") return p[0] * q[0] + p[1] * q[1];
  return Math.exp(-data.gamma * ((p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2));
}

// K of the points of a picture and the rows, computed once for all panels and steps.
const n = data.rows.length;
const values = new Float32Array(GRID * GRID * n);
for (let j = 0; j < GRID; j++) {
  for (let i = 0; i < GRID; i++) {
    const point = [left + ((i + 0.5) / GRID) * (right - left), top_ - ((j + 0.5) / GRID) * (top_ - bottom)];
    for (let r = 0; r < n; r++) values[(j * GRID + i) * n + r] = kernel(data.rows[r], point);
  }
}
const own = data.rows.map((p) => data.rows.map((q) => kernel(p, q)));

function scoresOf(frame) {
  const used = [];
  frame.a.forEach((a, r) => { if (a !== 0) used.push(r); });
  const scores = new Float32Array(GRID * GRID);
  for (let g = 0; g < GRID * GRID; g++) {
    let sum = frame.b;
    for (const r of used) sum += frame.a[r] * values[g * n + r];
    scores[g] = sum;
  }
  return scores;
}

function errorOf(frame) {
  let wrong = 0;
  for (let r = 0; r < n; r++) {
    let sum = frame.b;
    for (let s = 0; s < n; s++) if (frame.a[s] !== 0) sum += frame.a[s] * own[s][r];
    if ((sum > 0 ? 1 : -1) !== data.labels[r]) wrong++;
  }
  return wrong / n;
}

// Where the scores cross a level: a line in each cell of the grid that it crosses.
function contour(context, scores, level) {
  const cell = SIZE / GRID;
  context.beginPath();
  for (let j = 0; j + 1 < GRID; j++) {
    for (let i = 0; i + 1 < GRID; i++) {
      const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
      const at = corners.map(([x, y]) => scores[y * GRID + x] - level);
      const crossings = [];
      for (let c = 0; c < 4; c++) {
        const [a, b] = [at[c], at[(c + 1) % 4]];
        if ((a > 0) !== (b > 0)) {
          const share = a / (a - b);
          const [p, q] = [corners[c], corners[(c + 1) % 4]];
          crossings.push([(p[0] + share * (q[0] - p[0]) + 0.5) * cell, (p[1] + share * (q[1] - p[1]) + 0.5) * cell]);
        }
      }
      for (let c = 0; c + 1 < crossings.length; c += 2) {
        context.moveTo(...crossings[c]);
        context.lineTo(...crossings[c + 1]);
      }
    }
  }
  context.stroke();
}

function drawPanel(panel, frame) {
  const scale = Math.min(window.devicePixelRatio || 1, 2);
  const canvas = panel.canvas;
  canvas.width = canvas.height = SIZE * scale;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.fillStyle = colour("--page");
  context.fillRect(0, 0, SIZE, SIZE);
  const scores = scoresOf(frame);
  const [minus, plus, ink] = [colour("--minus"), colour("--plus"), colour("--ink")];
  const shades = [minus, plus].map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  const picture = new ImageData(GRID, GRID); // a pixel for each point, enlarged smoothly
  scores.forEach((score, g) => {
    const opacity = score === 0 ? 0 : 0.06 + 0.34 * Math.min(Math.abs(score), 1);
    picture.data.set([...shades[score > 0 ? 1 : 0], 255 * opacity], 4 * g);
  });
  const small = document.createElement("canvas");
  small.width = small.height = GRID;
  small.getContext("2d").putImageData(picture, 0, 0);
  context.drawImage(small, 0, 0, SIZE, SIZE);
  context.strokeStyle = ink;
  context.lineWidth = 2.2;
  contour(context, scores, 0);
  context.lineWidth = 0.8;
  contour(context, scores, 1);
  contour(context, scores, -1);
  const most = Math.max(1, ...frame.counts);
  data.rows.forEach((row, r) => {
    const [x, y] = [toX(row[0]), toY(row[1])];
    context.fillStyle = data.labels[r] > 0 ? plus : minus;
    context.beginPath();
    if (data.labels[r] > 0) context.arc(x, y, 3, 0, 7);
    else context.rect(x - 2.7, y - 2.7, 5.4, 5.4);
    context.fill();
    if (frame.a[r] !== 0) {
      context.lineWidth = 1.1;
      context.beginPath();
      context.arc(x, y, 4.5 + 5 * Math.sqrt(frame.counts[r] / most), 0, 7);
      context.stroke();
    }
  });
  panel.caption.textContent =
    `${frame.support} support vectors, P ${short(frame.objective)}, gap ${short(frame.gap)}`;
  canvas.setAttribute("aria-label", `${panel.name}: ${panel.caption.textContent}`);
}

const panels = data.panels.map((panel) => {
  const figure = document.createElement("figure");
  figure.className = "panel";
  const title = document.createElement("p");
  title.className = "title";
  title.textContent = panel.name;
  const canvas = document.createElement("canvas");
  canvas.setAttribute("role", "img");
  const caption = document.createElement("figcaption");
  figure.append(title, canvas, caption);
  document.getElementById("panels").append(figure);
  return { ...panel, canvas, caption };
});

// --- the chart: objectives above the optimum, on logarithmic axes ---
const [W, H, L, B, T_, R_] = [640, 300, 62, 40, 12, 12];
const steps = data.steps;
const floor = 1e-4;
const above = (panel, at) => {
  const frame = panel.frames[at];
  return Math.max(panel.name === "SMO" ? frame.gap : frame.objective - data.optimum, floor);
};
const highest = Math.max(...data.bound.slice(0, 1), ...panels.map((panel) => Math.max(...steps.map((_, i) => above(panel, i)))));
const ends = [Math.log10(floor), Math.log10(Math.min(highest * 1.5, 1e6))];
const chartX = (T) => L + (Math.log(T) / Math.log(Math.max(steps[steps.length - 1], 2))) * (W - L - R_);
const chartY = (v) => T_ + ((ends[1] - Math.log10(Math.min(v, 10 ** ends[1]))) / (ends[1] - ends[0])) * (H - T_ - B);
function add(parent, name, attributes, text) {
  const element = document.createElementNS(svgNS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}
const chart = document.getElementById("chart");
chart.setAttribute("viewBox", `0 0 ${W} ${H + 22 * Math.ceil(panels.length / 3)}`);
for (let power = Math.ceil(ends[0]); power <= ends[1]; power++) {
  const y = chartY(10 ** power);
  add(chart, "line", { x1: L, x2: W - R_, y1: y, y2: y, stroke: "currentColor", "stroke-opacity": 0.15 });
  add(chart, "text", { x: L - 6, y: y + 4, "text-anchor": "end" }, short(10 ** power));
}
for (let power = 0; 10 ** power <= steps[steps.length - 1]; power++) {
  const x = chartX(10 ** power);
  add(chart, "line", { x1: x, x2: x, y1: T_, y2: H - B, stroke: "currentColor", "stroke-opacity": 0.15 });
  add(chart, "text", { x, y: H - B + 16, "text-anchor": "middle" }, String(10 ** power));
}
add(chart, "text", { x: (L + W - R_) / 2, y: H - 6, "text-anchor": "middle" }, "T");
const line = (ys) => ys.map((v, i) => `${i ? "L" : "M"}${chartX(steps[i]).toFixed(1)} ${chartY(v).toFixed(1)}`).join("");
add(chart, "path", { d: line(data.bound), fill: "none", stroke: "currentColor", "stroke-dasharray": "6 4", "stroke-opacity": 0.7 });
const dots = panels.map((panel, number) => {
  const ink = `var(--c${number % 5})`;
  add(chart, "path", { d: line(steps.map((_, i) => above(panel, i))), fill: "none", style: `stroke: ${ink}`, "stroke-width": 2 });
  const [x, y] = [L + (number % 3) * 190, H + 14 + 22 * Math.floor(number / 3)];
  add(chart, "line", { x1: x, x2: x + 22, y1: y - 4, y2: y - 4, style: `stroke: ${ink}`, "stroke-width": 3 });
  add(chart, "text", { x: x + 28, y }, panel.name);
  return add(chart, "circle", { r: 4.5, style: `fill: ${ink}` });
});
const mark = add(chart, "line", { y1: T_, y2: H - B, stroke: "currentColor", "stroke-width": 1 });

// --- the table, and what the slider does ---
const body = document.querySelector("#values tbody");
const lines = panels.map((panel) => {
  const row = body.insertRow();
  for (let cell = 0; cell < 7; cell++) row.insertCell();
  row.cells[0].textContent = panel.name;
  return row;
});

function show() {
  const at = Number(slider.value);
  step.textContent = `after ${steps[at]} step${steps[at] === 1 ? "" : "s"}`;
  slider.setAttribute("aria-valuetext", step.textContent);
  panels.forEach((panel, number) => {
    const frame = panel.frames[at];
    drawPanel(panel, frame);
    const changes = frame.counts.reduce((sum, count) => sum + count, 0);
    const texts = [frame.support, changes, frame.objective.toFixed(4), frame.dual.toFixed(4), short(frame.gap),
      `${(100 * errorOf(frame)).toFixed(1)} %`];
    texts.forEach((text, cell) => { lines[number].cells[cell + 1].textContent = text; });
    dots[number].setAttribute("cx", chartX(steps[at]));
    dots[number].setAttribute("cy", chartY(above(panel, at)));
  });
  for (const end of ["x1", "x2"]) mark.setAttribute(end, chartX(steps[at]));
}

let timer = null;
function stop() {
  clearInterval(timer);
  timer = null;
  play.textContent = "Play";
  play.setAttribute("aria-pressed", "false");
}
play.addEventListener("click", () => {
  if (timer !== null) return stop();
  if (Number(slider.value) === steps.length - 1) slider.value = 0;
  play.textContent = "Pause";
  play.setAttribute("aria-pressed", "true");
  timer = setInterval(() => {
    slider.value = Number(slider.value) + 1;
    show();
    if (Number(slider.value) === steps.length - 1) stop();
  }, 220);
});
slider.max = steps.length - 1;
slider.value = Math.round(0.6 * (steps.length - 1));
slider.addEventListener("input", show);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
show();
