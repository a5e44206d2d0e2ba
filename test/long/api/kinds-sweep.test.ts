import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Json, JsonObject } from '../../../src/model/api-object.ts'
import { type FullObject, fullObjects } from '../../helpers/kinds/full-objects.ts'
import { type Changed, otherValues } from '../../helpers/kinds/other-values.ts'
import { verdictOf } from '../../helpers/kinds/write-case.ts'
import { type BesidePeer, lackOfPeer, startBesidePeer } from '../../helpers/kubernetes-peer.ts'
import { untilAsync } from '../../helpers/until.ts'

/** Where the API core answers something else on purpose; the place begins with method and kind. */
const differing: readonly {
  readonly place: RegExp
  readonly values: (value: string) => boolean
  readonly why: string
}[] = [
  {
    place:
      /(\.(protocol|scope|volumeMode|fsGroupPolicy)| volumeBindingMode|azureDisk\.(cachingMode|kind)|^POST PriorityClass preemptionPolicy| Job spec\.(completionMode|podReplacementPolicy)|WebhookConfiguration webhooks\.\d\.(failurePolicy|matchPolicy|reinvocationPolicy))$/,
    values: (value) => value === '""',
    why: 'an empty text counts as absent where a field has a default',
  },
  {
    place: /\.containers(\.0(\.image)?)?$/,
    values: (value) => ['""', 'null', '{}', '[null]', '[{}]'].includes(value),
    why: 'an image is no part of a valid Pod',
  },
  {
    place: /^PUT \w+ metadata(\.name)?$/,
    values: (value) => ['null', '""', '{}'].includes(value),
    why: 'a PUT may leave out the name that its path has',
  },
  {
    place: / DaemonSet spec(\.selector)?$/,
    values: (value) => ['null', '{}'].includes(value),
    why: 'Kubernetes does not say that a DaemonSet needs a selector',
  },
  {
    place: / ControllerRevision data$/,
    values: (value) => !value.startsWith('{'),
    why: 'data that is no object has another type than declared, which is a 400 in every kind',
  },
  {
    place: / Binding target/,
    values: () => true,
    why: 'Kubernetes answers with a 500 to a target that is none, and takes any name of a node',
  },
  {
    place: /( CertificateSigningRequest (spec\.request|status\.certificate)|\.caBundle)$/,
    values: (value) => value === '[]',
    why: 'bytes are a text; the decoder of Go takes a list too',
  },
  {
    place: /\.clientConfig\.service\.(name|namespace)$/,
    values: (value) => ['null', '""'].includes(value),
    why: 'Kubernetes names the other one of the two fields',
  },
  {
    place: / Job spec\.completions$/,
    values: (value) => value === 'null',
    why: 'kube-apiserver 1.34 fails at a successPolicy of a Job without completions and gives no answer',
  },
  {
    place: / PodDisruptionBudget status\.disruptedPods\.p$/,
    values: (value) => value === 'null',
    why: 'a time of a map that is null is no time',
  },
  {
    place: /^PUT PersistentVolume\w* spec\.nodeAffinity\..*\.key$/,
    values: (value) => ['null', '""'].includes(value),
    why: 'an empty key is one error; Kubernetes takes it for the newer name of a label and does not say that it changed',
  },
  {
    place: / Eviction deleteOptions\.propagationPolicy$/,
    values: (value) => value === '""',
    why: 'an empty policy is none, as it is in a query',
  },
  {
    place: / (Validating|Mutating)\w+ .*(failurePolicy|matchPolicy|reinvocationPolicy)$/,
    values: (value) => value === '""',
    why: 'an empty text has the default of the field, as in other kinds',
  },
]

/** The reasons that were needed. */
const needed = new Set<string>()

function isOnPurpose(write: string, { place, value }: Changed): boolean {
  const text = JSON.stringify(value)
  const reason = differing.find((each) => each.place.test(`${write} ${place}`) && each.values(text))
  if (reason !== undefined) needed.add(reason.why)
  return reason !== undefined
}

/** Each server counts its own. */
interface Revisions {
  readonly theirs?: string
  readonly ours?: string
}

function atRevision(body: Json, resourceVersion: string | undefined): Json {
  if (resourceVersion === undefined) return body
  const object = body as JsonObject
  const metadata = (object['metadata'] ?? {}) as JsonObject
  return Array.isArray(metadata) || typeof metadata !== 'object'
    ? body
    : { ...object, metadata: { ...metadata, resourceVersion } }
}

/** kube-apiserver closes the connection where its own code fails. */
function asNoAnswer(error: unknown) {
  if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error
  return { code: 0, body: {} }
}

const skip = lackOfPeer() ?? false

describe('any other value in any field is answered as kube-apiserver answers it', { skip }, () => {
  let both: BesidePeer
  before(async () => {
    both = await startBesidePeer()
    const spec = { containers: [{ name: 'c', image: 'i' }] }
    await writeToBoth('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } })
    await writeToBoth('POST', '/api/v1/namespaces/default/pods', { metadata: { name: 'free' }, spec })
  })
  after(() => both[Symbol.asyncDispose]())

  const ask = async (method: string, path: string, body: Json, revisions: Revisions = {}) =>
    [
      await both.peer.call(method, path, atRevision(body, revisions.theirs)).catch(asNoAnswer),
      await both.server.call(method, path, { body: atRevision(body, revisions.ours) }),
    ] as const
  const writeToBoth = async (method: string, path: string, body: JsonObject, known?: Revisions): Promise<Revisions> => {
    const answers = await ask(method, path, body, known)
    for (const { code, body: answer } of answers) assert.ok(code < 300, JSON.stringify(answer))
    const [theirs, ours] = answers.map(({ body: { metadata } }) => metadata.resourceVersion)
    return { theirs, ours }
  }
  /** Our server writes the status of a policy by itself, which makes a new version. */
  const whenSettled = async (full: FullObject): Promise<Revisions> => {
    if (full.kind !== 'ValidatingAdmissionPolicy') return {}
    const read = async () => (await both.server.call('GET', pathOf(full))).body
    await untilAsync('the server has written the status', async () => (await read()).status.observedGeneration === 1)
    return { ours: (await read()).metadata.resourceVersion }
  }
  const compare = async (kind: string, method: string, path: string, all: Iterable<Changed>, revisions?: Revisions) => {
    const differences: object[] = []
    for (const changed of all) {
      const [theirs, ours] = (await ask(method, `${path}?dryRun=All`, changed.body, revisions)).map(verdictOf)
      const { place, value } = changed
      const isSame = JSON.stringify(theirs) === JSON.stringify(ours)
      if (!isSame && !isOnPurpose(`${method} ${kind}`, changed)) differences.push({ place, value, theirs, ours })
    }
    assert.deepEqual(differences, [])
  }
  const pathOf = ({ path, body }: FullObject) => `${path}/${(body['metadata'] as { readonly name: string }).name}`

  for (const { kind, path, body } of fullObjects)
    test(`a create of ${kind}`, async () => {
      await writeToBoth('POST', `${path}?dryRun=All`, body)
      await compare(kind, 'POST', path, otherValues(body))
    })

  for (const full of fullObjects.filter(({ isAction }) => isAction !== true))
    test(`an update of ${full.kind}`, async () => {
      const created = await writeToBoth('POST', full.path, full.body)
      const revisions = { ...created, ...(await whenSettled(full)) }
      await compare(full.kind, 'PUT', pathOf(full), otherValues(full.body), revisions)
    })

  for (const full of fullObjects.filter(({ status }) => status !== undefined))
    test(`a status of ${full.kind}`, async () => {
      const { status = {} } = full
      const body = { ...full.body, status }
      const path = pathOf(full)
      const present = await Promise.all([both.peer.call('GET', path), both.server.call('GET', path)])
      const [theirs, ours] = present.map(({ body: { metadata } }) => metadata.resourceVersion)
      const revisions = await writeToBoth('PUT', `${path}/status`, body, { theirs, ours })
      await compare(full.kind, 'PUT', `${path}/status`, otherValues(body, ['status']), revisions)
    })

  test('every reason for a difference was needed', () =>
    assert.deepEqual(
      differing.map(({ why }) => why).filter((why) => !needed.has(why)),
      [],
    ))
})
