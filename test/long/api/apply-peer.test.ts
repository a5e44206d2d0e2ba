import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { startTestServer } from '../../helpers/api-server.ts'
import { lackOfPeer, type Peer, startPeer } from '../../helpers/kubernetes-peer.ts'

const sequences = 120
const namespace = 'apply-peer'

interface Command {
  readonly kind: 'apply' | 'put' | 'merge' | 'append'
  readonly manager: string
  readonly isForced: boolean
  readonly spec: unknown
  readonly labels: unknown
}

interface Subject {
  readonly title: string
  readonly path: string
  readonly apiVersion: string
  readonly kind: string
  readonly specs: fc.Arbitrary<unknown>
  /** A JSON patch that adds a list item, which may stand there already. */
  readonly append: readonly unknown[]
  /** Steps of managed fields that differ: Kubernetes compares a new object with the zero values of its Go type. */
  readonly ignored: readonly string[]
}

const word = fc.constantFrom('a', 'b', 'c')
const manager = fc.constantFrom('one', 'two', 'three')

function words(minKeys: number): fc.Arbitrary<unknown> {
  return fc.dictionary(word, word, { minKeys, maxKeys: 3, noNullPrototype: true })
}

function partial(shape: Record<string, fc.Arbitrary<unknown>>, ...requiredKeys: string[]): fc.Arbitrary<unknown> {
  return fc.record(shape, { requiredKeys, noNullPrototype: true })
}

function orNull(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.option(values, { freq: 9 })
}

function byKey(items: fc.Arbitrary<unknown>, key: (item: never) => unknown, minLength: number, maxLength: number) {
  return fc.uniqueArray(items as fc.Arbitrary<never>, { selector: key, minLength, maxLength })
}

function widgetSpecs(): fc.Arbitrary<unknown> {
  const more = partial({ a: word, m: words(0) })
  const protocol = fc.constantFrom('TCP', 'UDP')
  const port = partial({ port: fc.integer({ min: 1, max: 3 }), protocol, name: word, more }, 'port')
  const any = fc.oneof(words(0), fc.array(word, { maxLength: 2 }), word)
  return partial({
    size: fc.integer({ min: 0, max: 2 }),
    options: words(0),
    sealed: words(0),
    ports: byKey(port, (item: { port: number; protocol?: string }) => `${item.port}/${item.protocol ?? 'TCP'}`, 0, 4),
    tags: fc.uniqueArray(word, { maxLength: 3 }),
    args: fc.array(word, { maxLength: 2 }),
    any: orNull(any),
    nullable: orNull(words(0)),
  })
}

function deploymentSpecs(): fc.Arbitrary<unknown> {
  const env = partial({ name: fc.constantFrom('X', 'Y', 'Z'), value: word }, 'name', 'value')
  const container = partial(
    {
      name: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      image: word,
      env: orNull(byKey(env, ({ name }: { name: string }) => name, 1, 3)),
      args: orNull(fc.array(word, { minLength: 1, maxLength: 2 })),
    },
    'name',
    'image',
  )
  const containers = byKey(container, ({ name }: { name: string }) => name, 1, 5)
  const template = partial(
    {
      metadata: fc.constant({ labels: { a: 'b' } }),
      spec: partial({ containers, nodeSelector: orNull(words(1)) }, 'containers'),
    },
    'metadata',
    'spec',
  )
  const selector = fc.constant({ matchLabels: { a: 'b' } })
  return partial({ replicas: orNull(fc.integer({ min: 0, max: 2 })), template, selector }, 'template', 'selector')
}

const group = 'apply-peer.example.com'
const textMap = { type: 'object', additionalProperties: { type: 'string' } }
const portSchema = {
  type: 'object',
  required: ['port'],
  properties: {
    port: { type: 'integer' },
    protocol: { type: 'string', default: 'TCP' },
    name: { type: 'string' },
    more: { type: 'object', properties: { a: { type: 'string' }, m: textMap } },
  },
}
const specSchema = {
  type: 'object',
  properties: {
    size: { type: 'integer' },
    options: textMap,
    sealed: { ...textMap, 'x-kubernetes-map-type': 'atomic' },
    ports: {
      type: 'array',
      items: portSchema,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['port', 'protocol'],
    },
    tags: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
    args: { type: 'array', items: { type: 'string' } },
    any: { 'x-kubernetes-preserve-unknown-fields': true },
    nullable: { ...textMap, nullable: true },
  },
}
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `widgets.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { spec: specSchema } } },
      },
    ],
  },
}

const subjects: readonly Subject[] = [
  {
    title: 'custom resources',
    path: `/apis/${group}/v1/namespaces/${namespace}/widgets`,
    apiVersion: `${group}/v1`,
    kind: 'Widget',
    specs: widgetSpecs(),
    append: [{ op: 'add', path: '/spec/args/-', value: 'a' }],
    ignored: [],
  },
  {
    title: 'Deployments',
    path: `/apis/apps/v1/namespaces/${namespace}/deployments`,
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    specs: deploymentSpecs(),
    append: [{ op: 'add', path: '/spec/template/spec/containers/0/env/-', value: { name: 'X', value: 'b' } }],
    ignored: ['.'],
  },
]

function commands({ specs }: Subject): fc.Arbitrary<readonly Command[]> {
  const kind = fc.oneof(
    { weight: 6, arbitrary: fc.constant('apply' as const) },
    { weight: 2, arbitrary: fc.constant('put' as const) },
    { weight: 2, arbitrary: fc.constant('merge' as const) },
    { weight: 1, arbitrary: fc.constant('append' as const) },
  )
  const labels = fc.option(orNull(words(0)), { nil: undefined })
  const command = fc.record({ kind, manager, isForced: fc.boolean(), spec: specs, labels })
  return fc.array(command, { minLength: 4, maxLength: 12 })
}

async function send(call: Peer['call'], { path, apiVersion, kind, append }: Subject, name: string, command: Command) {
  const { manager, spec, labels, isForced } = command
  const metadata = { name, ...(labels === undefined ? {} : { labels }) }
  const body = { apiVersion, kind, metadata, spec }
  const query = `fieldManager=${manager}`
  if (command.kind === 'apply') {
    const forced = isForced ? '&force=true' : ''
    return call('PATCH', `${path}/${name}?${query}${forced}`, body, 'application/apply-patch+yaml')
  }
  if (command.kind === 'merge')
    return call('PATCH', `${path}/${name}?${query}`, { spec }, 'application/merge-patch+json')
  if (command.kind === 'append') return call('PATCH', `${path}/${name}?${query}`, append, 'application/json-patch+json')
  const live = await call('GET', `${path}/${name}`)
  if (live.code !== 200) return call('POST', `${path}?${query}`, body)
  const { resourceVersion } = live.body.metadata
  return call('PUT', `${path}/${name}?${query}`, { ...body, metadata: { ...metadata, resourceVersion } })
}

/** What must be alike: the object, who owns what, and every conflict. */
function essence({ code, body }: Awaited<ReturnType<Peer['call']>>, ignored: readonly string[]): unknown {
  if (code === 409) {
    const causes = (body.details?.causes ?? []) as { message: string; field: string }[]
    return { code, causes: causes.map(({ message, field }) => `${message} ${field}`).sort() }
  }
  if (code >= 400) return { code }
  const entries = (body.metadata.managedFields ?? []) as { operation: string; manager: string; fieldsV1: unknown }[]
  const owners = Object.fromEntries(
    entries.map(({ operation, manager, fieldsV1 }) => [`${operation} ${manager}`, fieldsV1]),
  )
  return withoutFields({ code, spec: body.spec, labels: body.metadata.labels, owners }, ignored)
}

/** Kubernetes leaves empty lists and maps of built-in kinds out. */
function withoutFields(value: unknown, ignored: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutFields(item, ignored))
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([key, field]) => {
    const isEmpty = ignored.length > 0 && Array.isArray(field) && field.length === 0
    const isOwnedList = ignored.length > 0 && key === 'f:containers' && Object.keys(field ?? {}).length === 0
    return !ignored.includes(key.replace(/^f:/, '')) && !isEmpty && !isOwnedList
  })
  return Object.fromEntries(kept.map(([key, field]) => [key, withoutFields(field, ignored)]))
}

test('random applies, updates and patches of three managers are answered as kube-apiserver answers them', async (t) => {
  const lack = lackOfPeer()
  if (lack !== undefined) return t.skip(lack)
  await using peer = await startPeer()
  await using server = await startTestServer({ dialect: 'kubernetes' })
  const ours: Peer['call'] = (method, path, body, contentType = 'application/json') =>
    server.call(method, path, { body, headers: body === undefined ? {} : { 'content-type': contentType } })
  for (const call of [peer.call, ours]) await prepare(call)
  for (const subject of subjects) {
    await t.test(subject.title, async () => {
      const samples = fc.sample(commands(subject), { seed: 1, numRuns: sequences })
      for (const [index, sequence] of samples.entries()) await compare(peer.call, ours, subject, `r${index}`, sequence)
    })
  }
})

async function prepare(call: Peer['call']): Promise<void> {
  await call('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  const made = await call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition)
  assert.equal(made.code, 201, JSON.stringify(made.body))
  const isServed = async () => (await call('GET', `/apis/${group}/v1/namespaces/${namespace}/widgets`)).code === 200
  while (!(await isServed())) await sleep(50)
}

/** The peer refuses what becomes invalid, as a container without image, which we leave to others to say: such a sequence ends there. */
async function compare(
  peer: Peer['call'],
  ours: Peer['call'],
  subject: Subject,
  name: string,
  sequence: readonly Command[],
): Promise<void> {
  for (const [index, command] of sequence.entries()) {
    const expected = await send(peer, subject, name, command)
    const actual = await send(ours, subject, name, command)
    if (expected.code === 422) return
    const done = sequence.slice(0, index + 1).map((each) => JSON.stringify(each))
    const context = `${expected.body.message ?? ''} ${actual.body.message ?? ''}\n${done.join('\n')}`
    const [left, right] = [essence(expected, subject.ignored), essence(actual, subject.ignored)]
    assert.deepEqual(right, left, `${context}\n${JSON.stringify(left)}\n${JSON.stringify(right)}`)
  }
}
