/** @param {number} milliseconds */
function duration(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3600)} h`
}

/**
 * @param {number | string} at milliseconds since 1970, or RFC 3339
 * @returns {string} `12 s ago`
 */
export function ago(at) {
  const milliseconds = typeof at === 'number' ? at : Date.parse(at)
  return Number.isFinite(milliseconds) && milliseconds > 0 ? `${duration(Date.now() - milliseconds)} ago` : ''
}

/** @param {number} atMs */
export function clock(atMs) {
  return new Date(atMs).toLocaleTimeString(undefined, { hour12: false })
}

/** @param {number} value */
export function count(value) {
  return value.toLocaleString('en-US').replaceAll(',', '\u202f')
}

/**
 * @param {number | null | undefined} value
 * @param {string} unit as in ChartSpec
 */
export function quantity(value, unit) {
  if (value === null || value === undefined) return '–'
  const digits = value !== 0 && Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0
  const text = count(Number(value.toFixed(digits)))
  return `${text}${units[unit] ?? ''}`
}

/** @type {Record<string, string>} */
const units = { ms: ' ms', MiB: ' MiB', percent: ' %', 'per second': '/s', count: '' }

/**
 * @param {number} number
 * @param {string} one
 * @param {string} [many]
 */
export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`
}
