import { svg } from './dom.js'
import { quantity } from './format.js'
import { toneOf } from './service-detail.js'

/** @import { Endpoint, Port } from './service-detail.js' */

const [width, rowHeight, nodeWidth] = [640, 24, 190]
/** Endpoints in the picture; the table has the others. */
const maxShown = 24

/**
 * The picture of one port: its addresses on the left, its endpoints on the right, a line for each endpoint, as wide as its share of new
 * connections. Dashes run where connections come in.
 */
export function createFlow() {
  const element = svg('svg', { class: 'flow', role: 'img', 'aria-label': 'Where connections go' })
  /** @param {Port} port */
  const draw = (port) => {
    const addresses = port.addresses.slice(0, 6)
    const endpoints = chooseEndpoints(port.endpoints)
    const rows = Math.max(addresses.length, endpoints.length, 1)
    const height = rows * rowHeight + 8
    element.setAttribute('viewBox', `0 0 ${width} ${height}`)
    const total = endpoints.reduce((sum, { perSecond = 0 }) => sum + perSecond, 0)
    const middle = height / 2
    element.replaceChildren(
      ...addresses.map((address, index) => drawAddress(address, placeOf(index, addresses.length, height), middle)),
      ...endpoints.map((endpoint, index) =>
        drawEndpoint(endpoint, placeOf(index, endpoints.length, height), middle, total),
      ),
      svg('circle', { class: 'flow-hub', cx: width * 0.45, cy: middle, r: 5 }),
      ...(endpoints.length === 0 ? [label('no endpoint', width - nodeWidth, middle, 'flow-none')] : []),
    )
  }
  return { element, draw }
}

/** @param {Endpoint[]} endpoints */
function chooseEndpoints(endpoints) {
  if (endpoints.length <= maxShown) return endpoints
  const busiest = (/** @type {Endpoint} */ { perSecond = 0, isUsed }) => perSecond + (isUsed ? 0 : 0.001)
  return [...endpoints].sort((one, other) => busiest(other) - busiest(one)).slice(0, maxShown)
}

/**
 * @param {number} index
 * @param {number} length
 * @param {number} height
 */
function placeOf(index, length, height) {
  return (height * (index + 0.5)) / length
}

/**
 * @param {string} address
 * @param {number} y
 * @param {number} middle
 */
function drawAddress(address, y, middle) {
  const short = address.replace(/ \(policy Cluster\)$/, '')
  return svg(
    'g',
    {},
    svg('path', { class: 'flow-line in', d: curve(nodeWidth + 30, y, width * 0.45, middle) }),
    label(short, 0, y, 'flow-address'),
  )
}

/**
 * @param {Endpoint} endpoint
 * @param {number} y
 * @param {number} middle
 * @param {number} total
 */
function drawEndpoint(endpoint, y, middle, total) {
  const { name, isUsed, perSecond = 0 } = endpoint
  const share = total > 0 ? perSecond / total : 0
  const classes = ['flow-line', toneOf(endpoint), isUsed ? 'used' : 'out', perSecond > 0 ? 'running' : '']
  const line = svg('path', { class: classes.join(' '), d: curve(width * 0.45, middle, width - nodeWidth, y) })
  line.style.strokeWidth = `${1.2 + 5 * share}px`
  const rate = perSecond > 0 ? ` ${quantity(perSecond, 'per second')}` : ''
  return svg(
    'g',
    {},
    svg('title', {}, endpoint.reason),
    line,
    label(name + rate, width - nodeWidth + 6, y, isUsed ? 'flow-endpoint' : 'flow-endpoint out'),
  )
}

/**
 * @param {number} x1
 * @param {number} y1
 * @param {number} x2
 * @param {number} y2
 */
function curve(x1, y1, x2, y2) {
  const bend = (x1 + x2) / 2
  return `M${x1} ${y1}C${bend} ${y1} ${bend} ${y2} ${x2} ${y2}`
}

/**
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {string} className
 */
function label(text, x, y, className) {
  return svg('text', { class: className, x, y: y + 4 }, text)
}
