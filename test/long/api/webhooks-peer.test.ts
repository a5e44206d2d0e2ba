import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type FakeWebhook, type Review, startFakeWebhook, webhookOf } from '../../helpers/fake-webhook.ts'
import { type BesidePeer, lackOfPeer, startBesidePeer } from '../../helpers/kubernetes-peer.ts'
import { type WebhookCase, webhookCases } from '../../helpers/webhook-cases.ts'

const skip = lackOfPeer() ?? false
const kinds = { mutating: 'MutatingWebhookConfiguration', validating: 'ValidatingWebhookConfiguration' } as const
const group = '/apis/admissionregistration.k8s.io/v1'
const limitMs = 30_000

interface Answer {
  readonly code: number
  readonly warnings: readonly string[]
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into any answer
  readonly body: any
}

type Send = (method: string, path: string, body?: object, contentType?: string) => Promise<Answer>

describe('webhooks beside kube-apiserver', { skip }, () => {
  let both: BesidePeer
  let webhook: FakeWebhook
  const sends = (): Readonly<Record<'theirs' | 'ours', Send>> => ({
    theirs: async (method, path, body, type = 'application/json') => {
      const { code, headers, bytes } = await both.peer.send(method, path, body ? JSON.stringify(body) : '', type)
      return { code, warnings: warningsOf(headers), body: JSON.parse(bytes.toString()) }
    },
    ours: async (method, path, body, type = 'application/json') => {
      const {
        code,
        headers,
        body: answer,
      } = await both.server.call(method, path, { body, headers: { 'content-type': type } })
      return { code, warnings: warningsOf(headers), body: answer }
    },
  })

  before(async () => {
    both = await startBesidePeer()
    webhook = await startFakeWebhook()
    for (const send of Object.values(sends())) await install(send, webhook)
  })
  after(async () => {
    await webhook[Symbol.asyncDispose]()
    await both[Symbol.asyncDispose]()
  })

  for (const [index, each] of webhookCases.entries())
    test(each.title, async () => {
      const seen = { theirs: await run('theirs'), ours: await run('ours') }
      const { words } = each
      const shown = words === undefined ? seen : { theirs: withoutWords(seen.theirs), ours: withoutWords(seen.ours) }
      assert.deepEqual(shown.ours, shown.theirs)

      async function run(who: 'theirs' | 'ours') {
        const send = sends()[who]
        for (const call of each.before ?? []) {
          const { code, body } = await sendCall(send, index, call)
          assert.ok(code < 300, JSON.stringify(body))
        }
        webhook.take()
        const answer = await sendCall(send, index, each.call)
        const reviews = webhook.take().map(normalised)
        return { answer: normalised(answer), reviews: each.repeats === undefined ? reviews : reviews.slice(0, 1) }
      }
    })
})

function warningsOf(headers: Readonly<Record<string, string | string[] | undefined>>): readonly string[] {
  return [headers['warning'] ?? []].flat()
}

function sendCall(send: Send, index: number, { method, path, body, contentType }: WebhookCase['call']) {
  const [, prefix = '', rest = ''] = /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)(\/.*)$/.exec(path) ?? []
  const type = contentType ?? (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json')
  return send(method, `${prefix}/namespaces/case-${index}${rest}`, body, type)
}

/** Makes the namespace of each case, and one configuration of each kind with the webhooks of all cases. */
async function install(send: Send, webhook: FakeWebhook): Promise<void> {
  const make = async (path: string, body: object) => {
    const { code, body: answer } = await send('POST', path, body)
    assert.equal(code, 201, JSON.stringify(answer))
  }
  for (const index of webhookCases.keys())
    await make('/api/v1/namespaces', { metadata: { name: `case-${index}`, labels: { case: `c${index}` } } })
  await make('/api/v1/namespaces', { metadata: { name: 'ready', labels: { case: 'ready' } } })
  for (const type of ['mutating', 'validating'] as const) {
    const webhooks = webhookCases.flatMap((each, index) => caseWebhooks(webhook, each, index, type))
    const ready = inCase(webhookOf(webhook.clientConfig(`/${type}-ready`), { name: 'ready.example.com' }), 'ready')
    await make(`${group}/${kinds[type].toLowerCase()}s`, {
      metadata: { name: 'cases' },
      webhooks: [...webhooks, ready],
    })
  }
  await untilAsked(send, webhook)
}

function caseWebhooks(webhook: FakeWebhook, each: WebhookCase, index: number, type: 'mutating' | 'validating') {
  return each.webhooks.flatMap((wanted, place) => {
    if (wanted.type !== type) return []
    const path = `/${index}/${place}`
    if (wanted.answer !== undefined) webhook.answer(path, wanted.answer)
    const clientConfig = wanted.clientConfig ?? webhook.clientConfig(path)
    return [
      inCase(webhookOf(clientConfig, { name: `w${place}.case${index}.example.com`, ...wanted.fields }), `c${index}`),
    ]
  })
}

function inCase(fields: object, value: string): object {
  return { namespaceSelector: { matchLabels: { case: value } }, ...fields }
}

/** kube-apiserver learns of configurations from a watch. */
async function untilAsked(send: Send, webhook: FakeWebhook): Promise<void> {
  const untilMs = performance.now() + limitMs
  for (;;) {
    webhook.take()
    const { code } = await send('POST', '/api/v1/namespaces/ready/configmaps?dryRun=All', {
      metadata: { name: 'ready' },
    })
    const asked = webhook.take().map(({ path }) => path)
    if (code === 201 && asked.includes('/mutating-ready') && asked.includes('/validating-ready')) return
    assert.ok(performance.now() < untilMs, `the webhooks are not asked: ${code} ${asked.join()}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

const uid = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g
const generated = /\ba-[a-z\d]{5}\b/g
const volatile = new Set(['uid', 'resourceVersion', 'creationTimestamp', 'time', 'userInfo', 'managedFields'])

/** Returns a value without what differs from run to run. */
function normalised<T>(value: T): T {
  const isVolatile = (key: string, each: unknown) => volatile.has(key) || (key === 'status' && typeof each === 'object')
  const text = JSON.stringify(value, (key, each: unknown) => (isVolatile(key, each) ? undefined : each))
  return JSON.parse(text.replaceAll(uid, '<uid>').replaceAll(generated, 'a-<generated>')) as T
}

function withoutWords<T extends { readonly answer: Answer; readonly reviews: readonly Review[] }>(seen: T) {
  const { code, body } = seen.answer
  return { code, reason: body.reason, reviews: seen.reviews }
}
