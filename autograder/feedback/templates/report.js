"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const most = 200;

  function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  // Tables: a click on a heading sorts by its column; a second click reverses the order.
  function value(row, column) {
    const cell = row.cells[column];
    const text = cell.dataset.value !== undefined ? cell.dataset.value : cell.textContent.trim();
    const number = parseFloat(text);
    return Number.isNaN(number) || cell.dataset.text !== undefined ? text.toLowerCase() : number;
  }
  function compared(one, other) {
    if (typeof one === typeof other) return one < other ? -1 : one > other ? 1 : 0;
    return typeof one === "number" ? -1 : 1;
  }
  function sortable(table) {
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach(function (head, column) {
      if (!head.textContent.trim()) return;
      const button = element("button", head.textContent, "sort");
      button.type = "button";
      head.textContent = "";
      head.append(button);
      button.addEventListener("click", function () {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = Array.from(table.tBodies[0].rows);
        const values = new Map(rows.map(function (row) { return [row, value(row, column)]; }));
        rows.sort(function (a, b) { return compared(values.get(a), values.get(b)) * (down ? -1 : 1); });
        table.tBodies[0].append(...rows);
      });
    });
  }
  document.querySelectorAll("table.sortable").forEach(sortable);

  // Filters: hide the rows that do not contain the typed text.
  document.querySelectorAll("input[data-filter]").forEach(function (input) {
    const table = document.getElementById(input.dataset.filter);
    const counter = document.getElementById(input.dataset.filter + "-count");
    input.closest(".tools").hidden = false;
    input.addEventListener("input", function () {
      const wanted = input.value.toLowerCase();
      let shown = 0;
      Array.from(table.tBodies[0].rows).forEach(function (row) {
        row.hidden = !row.textContent.toLowerCase().includes(wanted);
        if (!row.hidden) shown += 1;
      });
      counter.textContent = shown + " shown";
    });
  });

  // Drill-down: from a question to its students, from a student to the answers.
  const dialog = document.getElementById("drill");
  const title = document.getElementById("drill-title");
  const list = document.getElementById("drill-list");
  const search = document.getElementById("drill-search");
  const count = document.getElementById("drill-count");
  let entries = [];

  function answer(entry) {
    const details = element("details");
    details.append(element("summary", entry.head));
    details.addEventListener("toggle", function () {
      if (!details.open || details.childElementCount > 1) return;
      if (entry.mistake) details.append(element("p", "Known mistake: " + entry.mistake));
      if (entry.message) details.append(element("pre", entry.message));
      if (entry.code) details.append(element("p", "The answer, without its comments:", "quiet"), element("pre", entry.code));
      if (details.childElementCount === 1) details.append(element("p", "There are no details.", "quiet"));
    });
    return details;
  }
  function show() {
    const wanted = search.value.toLowerCase();
    const found = entries.filter(function (entry) {
      return (entry.head + entry.mistake + entry.message).toLowerCase().includes(wanted);
    });
    list.replaceChildren(...found.slice(0, most).map(answer));
    count.textContent = found.length + " answers that are not right" + (found.length > most ? "; the first " + most + " are shown" : "");
  }
  function open(text, rows, head) {
    title.textContent = text;
    entries = rows.map(function (row) {
      return {
        head: head(row) + ": " + row[2] + " of " + data.questions[row[1]][3] + ", " + (data.verdicts[row[3]] || "").toLowerCase(),
        mistake: data.mistakes[row[4]] || "", message: data.messages[row[5]] || "", code: data.codes[row[6]] || ""
      };
    });
    search.value = "";
    show();
    dialog.showModal();
  }
  search.addEventListener("input", show);
  document.getElementById("drill-close").addEventListener("click", function () { dialog.close(); });
  document.querySelectorAll("button[data-question]").forEach(function (button) {
    button.disabled = false;
    button.addEventListener("click", function () {
      const key = button.dataset.question;
      const rows = data.rows.filter(function (row) { return data.questions[row[1]].slice(0, 3).join("/") === key; });
      open(key, rows, function (row) { return data.students[row[0]]; });
    });
  });
  document.querySelectorAll("button[data-student]").forEach(function (button) {
    button.disabled = false;
    button.addEventListener("click", function () {
      const name = button.dataset.student;
      const rows = data.rows.filter(function (row) { return data.students[row[0]] === name; });
      open(name, rows, function (row) { return data.questions[row[1]].slice(0, 3).join("/"); });
    });
  });
})();
