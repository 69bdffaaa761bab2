/* Tables in a block of class "sortable" sort by a click on a head, or Enter on it. Numbers sort as numbers. */
document.addEventListener("DOMContentLoaded", () => {
  const value = row => i => row.cells[i].textContent.trim()
  const key = text => { const n = parseFloat(text); return Number.isNaN(n) ? text.toLowerCase() : n }
  const less = (a, b) => typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1
  for (const table of document.querySelectorAll(".sortable table")) {
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0]
    heads.forEach((head, i) => {
      const button = document.createElement("button")
      button.type = "button"
      button.append(...head.childNodes)
      head.append(button)
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending"
        heads.forEach(h => h.removeAttribute("aria-sort"))
        head.setAttribute("aria-sort", down ? "descending" : "ascending")
        const rows = [...body.rows].sort((a, b) => less(key(value(a)(i)), key(value(b)(i))))
        body.append(...(down ? rows.reverse() : rows))
      })
    })
    if (body.rows.length <= 12) continue
    const field = document.createElement("input"), said = document.createElement("span")
    field.type = "search"
    field.placeholder = "Show only rows with ..."
    field.setAttribute("aria-label", "Show only rows with these words")
    said.setAttribute("role", "status")
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/)
      let shown = 0
      for (const row of body.rows) {
        const text = row.textContent.toLowerCase()
        row.hidden = !words.every(w => text.includes(w))
        shown += !row.hidden
      }
      said.textContent = field.value ? shown + " of " + body.rows.length : ""
    })
    const line = document.createElement("p")
    line.className = "filter"
    line.append(field, said)
    table.closest(".sortable").prepend(line)
  }
})
