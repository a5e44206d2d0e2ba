import { el } from './dom.js'

/** Rows drawn above and below what is seen. */
const margin = 8

/**
 * @template Item
 * @typedef {object} ListParts
 * @property {string} label
 * @property {number} rowHeight in pixels
 * @property {() => HTMLElement} createRow an empty row
 * @property {(row: HTMLElement, item: Item) => void} drawRow
 * @property {(item: Item) => void} onOpen a row was clicked, or Enter pressed on it
 */

/**
 * A list of any length of which only the rows in sight exist. Arrow keys, Page Up, Page Down, Home and End move, Enter opens.
 *
 * @template Item
 */
export class VirtualList {
  #parts
  /** @type {readonly Item[]} */
  #items = []
  #active = 0
  #isScheduled = false
  /** @type {HTMLElement[]} */
  #rows = []
  #body = el('div', { class: 'virtual-body', role: 'rowgroup' })
  #id = `list-${Math.random().toString(36).slice(2)}`

  /** @param {ListParts<Item>} parts */
  constructor(parts) {
    this.#parts = parts
    this.element = el(
      'div',
      {
        class: 'virtual-list',
        role: 'grid',
        tabindex: 0,
        'aria-label': parts.label,
        scroll: () => this.#schedule(),
        keydown: (event) => this.#onKey(event),
        click: (event) => this.#onClick(event),
      },
      this.#body,
    )
    new ResizeObserver(() => this.#schedule()).observe(this.element)
  }

  /** @param {readonly Item[]} items */
  setItems(items) {
    this.#items = items
    this.#active = Math.min(this.#active, Math.max(0, items.length - 1))
    this.#schedule()
  }

  /** Draws the rows in sight again with what their items are now. */
  refresh() {
    this.#schedule()
  }

  #schedule() {
    if (this.#isScheduled) return
    this.#isScheduled = true
    requestAnimationFrame(() => {
      this.#isScheduled = false
      this.#draw()
    })
  }

  #draw() {
    const { rowHeight, drawRow, createRow } = this.#parts
    const { scrollTop, clientHeight } = this.element
    this.#body.style.height = `${this.#items.length * rowHeight}px`
    this.element.setAttribute('aria-rowcount', String(this.#items.length))
    const first = Math.max(0, Math.floor(scrollTop / rowHeight) - margin)
    const last = Math.min(this.#items.length, Math.ceil((scrollTop + clientHeight) / rowHeight) + margin)
    while (this.#rows.length < last - first) {
      const row = createRow()
      this.#rows.push(row)
      this.#body.append(row)
    }
    // A row keeps its element while it is in sight: item i has the element i modulo their number.
    const size = this.#rows.length
    for (const [slot, row] of this.#rows.entries()) {
      const index = first + ((((slot - first) % size) + size) % size)
      row.hidden = index >= last
      if (row.hidden) continue
      this.#place(row, index)
      drawRow(row, /** @type {Item} */ (this.#items[index]))
    }
    const isListed = this.#active >= first && this.#active < last
    if (isListed) this.element.setAttribute('aria-activedescendant', `${this.#id}-${this.#active}`)
    else this.element.removeAttribute('aria-activedescendant')
  }

  /**
   * @param {HTMLElement} row
   * @param {number} index
   */
  #place(row, index) {
    row.style.transform = `translateY(${index * this.#parts.rowHeight}px)`
    row.id = `${this.#id}-${index}`
    row.dataset['index'] = String(index)
    row.setAttribute('aria-rowindex', String(index + 1))
    row.classList.toggle('active', index === this.#active)
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.#parts.rowHeight) - 1)
    /** @type {Record<string, number>} */
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }
    const step = steps[event.key]
    if (step !== undefined) this.#move(this.#active + step)
    else if (event.key === 'Enter') this.#open(this.#active)
    else return
    event.preventDefault()
  }

  /** @param {number} index */
  #move(index) {
    const { rowHeight } = this.#parts
    this.#active = Math.min(Math.max(0, index), Math.max(0, this.#items.length - 1))
    const top = this.#active * rowHeight
    const { scrollTop, clientHeight } = this.element
    if (top < scrollTop) this.element.scrollTop = top
    else if (top + rowHeight > scrollTop + clientHeight) this.element.scrollTop = top + rowHeight - clientHeight
    this.#schedule()
  }

  /** @param {MouseEvent} event */
  #onClick(event) {
    const row = event.target instanceof Element ? event.target.closest('[data-index]') : null
    if (!(row instanceof HTMLElement)) return
    this.#active = Number(row.dataset['index'])
    this.#schedule()
    this.#open(this.#active)
  }

  /** @param {number} index */
  #open(index) {
    const item = this.#items[index]
    if (item !== undefined) this.#parts.onOpen(item)
  }
}
