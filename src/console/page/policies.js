import { el, empty, failure, fill, sign } from './dom.js'
import { count, plural } from './format.js'
import { ask } from './stream.js'

/** @import { MatrixPart, MatrixRow, PolicyMatrix } from '../../node/policy/matrix.ts' */
/** @import { Reach } from '../../node/policy/reach.ts' */

/** Columns and rows of a matrix that are drawn. */
const maxGroups = 60

/** The policy matrix of a namespace: who reaches whom on which port. */
export function createPolicies() {
  const namespaces = el('select', { 'aria-label': 'Namespace', change: () => load() })
  const direction = el(
    'select',
    { 'aria-label': 'Direction', change: () => draw() },
    el('option', { value: 'from' }, 'Who reaches them'),
    el('option', { value: 'to' }, 'Whom they reach'),
  )
  const again = el('button', { type: 'button', click: () => load() }, 'Compute again')
  const summary = el('p', { class: 'quiet' })
  const place = el('div', { class: 'matrix-place', 'aria-live': 'polite' }, el('p', { class: 'quiet' }, 'Loading …'))
  const element = el(
    'div',
    { class: 'view policies' },
    el('section', { class: 'panel' }, el('div', { class: 'toolbar' }, namespaces, direction, again), summary, place),
  )
  const ended = new AbortController()
  /** @type {{ matrix: PolicyMatrix, problems: string[] } | undefined} */
  let answer
  const draw = () => {
    if (answer) drawMatrix(place, summary, answer, direction.value === 'to' ? 'to' : 'from')
  }
  const orFailure = async (/** @type {() => Promise<void>} */ work) => {
    try {
      await work()
    } catch (error) {
      if (!ended.signal.aborted) fill(place, failure(error instanceof Error ? error.message : String(error)))
    }
  }
  const load = () =>
    orFailure(async () => {
      answer = await ask('/policy/matrix', { namespace: namespaces.value }, ended.signal)
      draw()
    })
  const start = () =>
    orFailure(async () => {
      /** @type {{ name: string, policies: number }[]} */
      const known = await ask('/policy/namespaces', {}, ended.signal)
      fill(
        namespaces,
        known.map(({ name, policies }) => el('option', { value: name }, policies > 0 ? `${name} (${policies})` : name)),
      )
      const first = known.find(({ policies }) => policies > 0) ?? known.find(({ name }) => name === 'default')
      if (first) namespaces.value = first.name
      await load()
    })
  void start()
  return { element, close: () => ended.abort() }
}

/**
 * @param {HTMLElement} place
 * @param {HTMLElement} summary
 * @param {{ matrix: PolicyMatrix, problems: string[] }} answer
 * @param {'from' | 'to'} side
 */
function drawMatrix(place, summary, { matrix, problems }, side) {
  const { groups, rows, namespace } = matrix
  const pods = rows.reduce((sum, { group }) => sum + (groups[group]?.pods.length ?? 0), 0)
  summary.textContent = `${plural(pods, 'pod')} of ${namespace} in ${plural(rows.length, 'group')} that no policy tells apart. Cells: ports of the destination.`
  if (rows.length === 0) return fill(place, empty('No pods', `Namespace ${namespace} has none that policies see.`))
  const columns = groups.slice(0, maxGroups)
  const head = el(
    'tr',
    {},
    el('th', { scope: 'col' }, side === 'from' ? 'Destination' : 'Source'),
    el('th', { scope: 'col' }, 'Isolated by'),
    ...columns.map((group) =>
      el('th', { scope: 'col', title: group.pods.slice(0, 20).join('\n') }, nameGroup(group, namespace)),
    ),
    el('th', { scope: 'col' }, 'Other addresses'),
  )
  const body = rows.slice(0, maxGroups).map((row) => drawRow(row, matrix, columns, side))
  fill(
    place,
    ...problems.slice(0, 10).map((text) => failure(text)),
    el(
      'div',
      { class: 'table-scroll' },
      el('table', { class: 'matrix' }, el('thead', {}, head), el('tbody', {}, ...body)),
    ),
    (groups.length > maxGroups || rows.length > maxGroups) &&
      el(
        'p',
        { class: 'quiet' },
        `${count(groups.length)} groups: the first ${maxGroups} are shown; "platnet policy matrix" has all.`,
      ),
  )
}

/**
 * @param {MatrixRow} row
 * @param {PolicyMatrix} matrix
 * @param {PolicyMatrix['groups']} columns
 * @param {'from' | 'to'} side
 */
function drawRow(row, { groups, namespace }, columns, side) {
  const own = groups[row.group]
  const parts = row[side]
  const isolating = row.isolatedBy[side === 'from' ? 'ingress' : 'egress']
  return el(
    'tr',
    {},
    el('th', { scope: 'row', title: own?.pods.slice(0, 20).join('\n') ?? '' }, own ? nameGroup(own, namespace) : ''),
    el(
      'td',
      { class: 'quiet' },
      isolating.length === 0 ? 'none' : isolating.map((key) => key.slice(namespace.length + 1)).join(', '),
    ),
    ...columns.map(({ id }) => cell(parts.find(({ groups: ids }) => ids.includes(id)))),
    addressCell(parts),
  )
}

/** @param {MatrixPart | undefined} part */
function cell(part) {
  if (part === undefined) return el('td', { class: 'reach' }, '')
  const text = describeReach(part.reach)
  const tone = text === 'nothing' ? 'bad' : text === 'everything' ? 'good' : 'warn'
  return el('td', { class: `reach ${tone}` }, sign(tone), el('span', {}, text))
}

/** @param {readonly MatrixPart[]} parts */
function addressCell(parts) {
  const withAddresses = parts.filter(({ addresses }) => addresses.length > 0)
  const texts = withAddresses.map(({ reach, addresses }) => {
    const spans = addresses.slice(0, 3).map(({ first, last }) => (first === last ? first : `${first}–${last}`))
    return `${describeReach(reach)}: ${spans.join(', ')}${addresses.length > 3 ? ' …' : ''}`
  })
  return el('td', { class: 'addresses' }, ...texts.slice(0, 6).map((text) => el('div', {}, text)))
}

/** @param {readonly Reach[]} reach */
function describeReach(reach) {
  return reach
    .map(({ family, ports }) => (family ? `${family} ${describePorts(ports)}` : describePorts(ports)))
    .join('; ')
}

/** @param {Reach['ports']} ports */
function describePorts(ports) {
  if (ports === 'all') return 'everything'
  if (ports === 'none') return 'nothing'
  return ports
    .slice(0, 4)
    .map(({ protocol, first, last }) =>
      first === last
        ? `${first}/${protocol}`
        : first === 1 && last === 65_535
          ? `all/${protocol}`
          : `${first}–${last}/${protocol}`,
    )
    .join(', ')
}

/**
 * @param {PolicyMatrix['groups'][number]} group
 * @param {string} namespace
 */
function nameGroup({ pods, namespace: own }, namespace) {
  const [first = ''] = pods
  const name = own === namespace ? first.slice(own.length + 1) : first
  return pods.length > 1 ? `${name} +${pods.length - 1}` : name
}
