/**
 * @typedef {Record<string, string | number | boolean | ((event: any) => void) | undefined>} Attributes
 * @typedef {Node | string | number | null | undefined | false} Child
 */

const svgNamespace = 'http://www.w3.org/2000/svg'

/**
 * Makes an element. Text goes in as text only, so that a name from the cluster never becomes markup; functions become listeners.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  apply(element, attributes)
  put(element, children.flat())
  return element
}

/**
 * @param {string} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = /** @type {SVGElement} */ (document.createElementNS(svgNamespace, tag))
  apply(element, attributes)
  put(element, children)
  return element
}

/**
 * @param {Element} element
 * @param {Attributes} attributes
 */
function apply(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue
    if (typeof value === 'function') element.addEventListener(name, value)
    else element.setAttribute(name, value === true ? '' : String(value))
  }
}

/**
 * @param {Element} element
 * @param {Child[]} children
 */
function put(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue
    element.append(child instanceof Node ? child : String(child))
  }
}

/**
 * Replaces the content of an element.
 *
 * @param {Element} element
 * @param {...(Child | Child[])} children
 */
export function fill(element, ...children) {
  element.replaceChildren()
  put(element, children.flat())
}

/**
 * Replaces the content of an element where it differs from what is there.
 *
 * @param {Element} element
 * @param {...Child} children
 */
export function fillChanged(element, ...children) {
  const next = /** @type {Element} */ (element.cloneNode(false))
  put(next, children)
  if (!element.isEqualNode(next)) element.replaceChildren(...next.childNodes)
}

/**
 * Writes text only where it differs, so that nothing is laid out again for nothing.
 *
 * @param {Node} node
 * @param {string} text
 */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text
}

/**
 * A message where there is nothing to list.
 *
 * @param {string} title
 * @param {string} [detail]
 */
export function empty(title, detail = '') {
  return el('div', { class: 'empty' }, el('p', { class: 'empty-title' }, title), detail && el('p', {}, detail))
}

/** @param {string} message */
export function failure(message) {
  return el('p', { class: 'failure', role: 'alert' }, message)
}

/**
 * A state as a sign and a word for those who do not see colours.
 *
 * @param {'good' | 'warn' | 'bad' | 'idle'} tone
 * @param {string} [label]
 */
export function sign(tone, label) {
  return el('span', {
    class: `sign ${tone}`,
    ...(label ? { role: 'img', 'aria-label': label } : { 'aria-hidden': 'true' }),
  })
}
