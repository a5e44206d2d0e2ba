import { el, empty } from './dom.js'
import { createForm, field, input, lines } from './questions.js'

/** @import { Store } from './store.js' */

/**
 * Forms of `platnet explain` and `platnet dns query`.
 *
 * @param {Store} store
 * @param {string | undefined} question what a link asks, as `explainLink` makes it
 */
export function createExplain({ hello }, question) {
  const questions = new Set(hello?.questions)
  const flow = createFlowForm()
  flow.take(question)
  const forms = [
    ...(questions.has('/explain/flow') ? [flow.element] : []),
    ...(questions.has('/explain/url') ? [createUrlForm()] : []),
    ...(questions.has('/dns/explain') ? [createDnsForm()] : []),
  ]
  const content =
    forms.length > 0
      ? forms
      : [empty('A node answers these', 'Open the console of a node: it knows the rules in its kernel and its DNS.')]
  return { element: el('div', { class: 'view explain' }, ...content), close: () => {}, select: flow.take }
}

/**
 * Where the form of a connection has its destination filled in.
 *
 * @param {{ destination: string, port: string, protocol: string }} question
 */
export function explainLink(question) {
  return `#/explain/${encodeURIComponent(String(new URLSearchParams(question)))}`
}

function createFlowForm() {
  const source = input('10.244.0.7 or default/web-1')
  const destination = input('10.96.0.10 or default/db-0')
  const port = input('80', { type: 'number', min: 1, max: 65535 })
  const protocol = el(
    'select',
    { change: () => port.toggleAttribute('disabled', protocol.value === 'ICMP') },
    ...['TCP', 'UDP', 'SCTP', 'ICMP'].map((name) => el('option', {}, name)),
  )
  const element = createForm({
    title: 'Explain a connection',
    note: 'What becomes of the first packet: the Service rules, then the network policies. Ends are addresses or NAMESPACE/POD.',
    fields: [field('From', source), field('To', destination), field('Port', port), field('Protocol', protocol)],
    question: () => ({
      path: '/explain/flow',
      query: {
        source: source.value.trim(),
        destination: destination.value.trim(),
        protocol: protocol.value,
        ...(protocol.value !== 'ICMP' && { port: port.value }),
      },
    }),
    render: (answer) => [lines(answer.lines)],
  })
  /** @param {string | undefined} question */
  const take = (question) => {
    const asked = new URLSearchParams(question ?? '')
    if (!asked.has('destination')) return
    destination.value = asked.get('destination') ?? ''
    port.value = asked.get('port') ?? ''
    protocol.value = asked.get('protocol') ?? 'TCP'
    // The form is on the page only after this view has been put there.
    setTimeout(() => source.focus())
  }
  return { element, take }
}

function createUrlForm() {
  const url = input('https://shop.example.com/cart', { type: 'url' })
  return createForm({
    title: 'Explain a URL',
    note: 'Which Ingress answers it, with which backend and certificate.',
    fields: [field('URL', url)],
    question: () => ({ path: '/explain/url', query: { url: url.value.trim() } }),
    render: (answer) => [lines(answer.lines)],
  })
}

function createDnsForm() {
  const name = input('web.default.svc.cluster.local')
  const type = el(
    'select',
    {},
    ...['A', 'AAAA', 'SRV', 'PTR', 'TXT', 'CNAME', 'MX', 'NS', 'SOA'].map((text) => el('option', {}, text)),
  )
  return createForm({
    title: 'DNS query',
    note: 'How this node answers, and which plugin does. Nothing is added to the name.',
    fields: [field('Name', name), field('Type', type)],
    question: () => ({ path: '/dns/explain', query: { name: name.value.trim(), type: type.value } }),
    render: renderDns,
  })
}

/** @param {any} answer of `GET /dns/explain` */
function renderDns({ plugin, ageMs, object, answer }) {
  const kept = plugin === 'cache' ? `, kept for ${(ageMs / 1000).toFixed(1)} s` : ''
  const head = answer ? `${answer.code}${answer.isAuthoritative ? ', authoritative' : ''}` : 'no answer'
  const sections = ['answer', 'authority', 'additional'].flatMap((section) => {
    /** @type {string[]} */
    const records = answer?.[section] ?? []
    return records.length === 0 ? [] : [el('h3', {}, section), el('pre', { class: 'records' }, records.join('\n'))]
  })
  return [
    el('p', {}, el('b', {}, head), ` by plugin ${plugin}${kept}${object ? `, ${object}` : ''}`),
    ...(sections.length > 0 ? sections : [el('p', { class: 'quiet' }, 'No records.')]),
  ]
}
