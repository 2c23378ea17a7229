"use strict";
(() => {
  // Tables: a click on a header sorts, a second one turns the order round. Missing values stay last.
  const key = (row, place) => {
    const cell = row.cells[place];
    if ("missing" in cell.dataset) return null;
    return "sort" in cell.dataset ? Number(cell.dataset.sort.replace("inf", "Infinity")) : cell.textContent;
  };
  const compare = (one, other) =>
    typeof one === "number" && typeof other === "number"
      ? one - other
      : String(one).localeCompare(String(other), undefined, { numeric: true });

  const sort = (header) => {
    const table = header.closest("table");
    const order = header.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
    const sign = order === "ascending" ? 1 : -1;
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row) => [key(row, header.cellIndex), row]);
    rows.sort(([one], [other]) => {
      if (one === null || other === null) return (one === null) - (other === null);
      return sign * compare(one, other);
    });
    body.append(...rows.map(([, row]) => row));
    for (const other of header.parentElement.cells) other.setAttribute("aria-sort", "none");
    header.setAttribute("aria-sort", order);
  };
  for (const button of document.querySelectorAll("thead th button"))
    button.addEventListener("click", () => sort(button.closest("th")));

  // Hints: on hover, on focus, and on a tap, which browsers turn into both.
  const tip = document.getElementById("tip");
  const show = (element, x, y) => {
    tip.textContent = element.dataset.hint;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const width = document.documentElement.clientWidth;
    const left = Math.min(Math.max(8, x - box.width / 2), Math.max(8, width - box.width - 8));
    const above = y - box.height - 12;
    tip.style.left = `${left}px`;
    tip.style.top = `${above > 4 ? above : y + 18}px`;
  };
  const hide = () => { tip.hidden = true; };
  const hinted = (event) => (event.target.closest ? event.target.closest("[data-hint]") : null);

  document.addEventListener("pointermove", (event) => {
    const element = hinted(event);
    if (element) show(element, event.clientX, event.clientY);
    else if (event.pointerType === "mouse") hide();
  });
  document.addEventListener("pointerdown", (event) => {
    const element = hinted(event);
    if (element) show(element, event.clientX, event.clientY);
    else hide();
  });
  document.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
  document.addEventListener("scroll", hide, { passive: true, capture: true });
  document.addEventListener("focusout", hide);
  document.addEventListener("focusin", (event) => {
    const element = hinted(event);
    if (!element || !element.matches(":focus-visible")) return;
    const box = element.getBoundingClientRect();
    show(element, box.left + box.width / 2, box.top);
  });

  // A figure is one stop of the tab key; within it the arrow keys go from hint to hint.
  for (const svg of document.querySelectorAll(".drawing svg")) {
    const stops = Array.from(svg.querySelectorAll("[data-hint]"));
    stops.forEach((stop, place) => stop.setAttribute("tabindex", place ? "-1" : "0"));
    svg.addEventListener("keydown", (event) => {
      const place = stops.indexOf(document.activeElement);
      if (event.key === "Escape") hide();
      const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const next = { Home: 0, End: stops.length - 1 }[event.key] ?? (move ? place + move : -1);
      if (place < 0 || !stops[next]) return;
      event.preventDefault();
      stops[place].setAttribute("tabindex", "-1");
      stops[next].setAttribute("tabindex", "0");
      stops[next].focus();
    });
  }

  // The command can be copied where the browser lets a page write to the clipboard; elsewhere it is marked.
  for (const button of document.querySelectorAll("button.copy")) {
    const code = button.parentElement.querySelector("code");
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
        button.textContent = "Marked";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }
})();
