import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { policyCases } from '../../helpers/admission-policy-cases.ts'
import type { PolicyCase, PolicyRequest } from '../../helpers/admission-policy-requests.ts'
import type { Reply } from '../../helpers/api-server.ts'
import { type BesidePeer, lackOfPeer, startBesidePeer } from '../../helpers/kubernetes-peer.ts'

const group = '/apis/admissionregistration.k8s.io/v1'
const apiVersion = 'admissionregistration.k8s.io/v1'
const [policies, bindings] = [`${group}/validatingadmissionpolicies`, `${group}/validatingadmissionpolicybindings`]
/** kube-apiserver takes a policy into account some time after it has stored it. */
const effectMs = 20_000

/** The objects that requests change and policies read. */
const fixtures = [
  ['/api/v1/namespaces', { metadata: { name: 'team' } }],
  ['/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } }],
  [
    '/api/v1/namespaces/default/configmaps',
    { metadata: { name: 'existing', labels: { existing: 'yes' } }, data: { x: '1' } },
  ],
  [
    '/api/v1/namespaces/default/configmaps',
    { metadata: { name: 'limits', labels: { limit: 'yes' } }, data: { max: '1' } },
  ],
  [
    '/apis/apps/v1/namespaces/default/deployments',
    {
      metadata: { name: 'web' },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: 'web' } },
        template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'a', image: 'a' }] } },
      },
    },
  ],
  [
    '/api/v1/namespaces/default/pods',
    { metadata: { name: 'idle' }, spec: { containers: [{ name: 'a', image: 'a' }] } },
  ],
] as const

type Answer = Pick<Reply, 'code' | 'body' | 'headers'>

/** A refusal as a whole, or the code of another answer; with the warnings. A generated name is left out. */
function outcomeOf({ code, body, headers }: Answer): unknown {
  const refusal = code < 300 ? '' : JSON.stringify({ ...body, details: { ...body?.details, uid: undefined } })
  return { code, refusal: JSON.parse(refusal.replaceAll(/long-\w+/g, 'long-') || '{}'), warnings: headers['warning'] }
}

describe('admission policies beside kube-apiserver', { skip: lackOfPeer() ?? false }, () => {
  let both: BesidePeer
  before(async () => {
    both = await startBesidePeer()
    for (const [path, body] of fixtures) await make(path, body)
    await both.server.call('POST', '/api/v1/namespaces', { body: { metadata: { name: 'kube-public' } } })
  })
  after(() => both[Symbol.asyncDispose]())

  async function make(path: string, body: unknown): Promise<void> {
    const replies = [await both.server.call('POST', path, { body }), await both.peer.call('POST', path, body)]
    for (const { code, body: answer } of replies) assert.equal(code, 201, JSON.stringify(answer))
  }

  async function ask({ method, path, body, type = 'application/json' }: PolicyRequest) {
    const dryRun = `${path}${path.includes('?') ? '&' : '?'}dryRun=All`
    const headers = { 'content-type': type }
    const mine = await both.server.call(method, dryRun, body === undefined ? {} : { body, headers })
    return [outcomeOf(mine), outcomeOf(await both.peer.call(method, dryRun, body, type))] as const
  }

  /** Asks until the policy is in effect at the peer. */
  async function askFirst(request: PolicyRequest) {
    const deadlineMs = performance.now() + effectMs
    let answers = await ask(request)
    while (!isDeepStrictEqual(...answers) && performance.now() < deadlineMs) {
      await sleep(100)
      answers = await ask(request)
    }
    return answers
  }

  async function install(name: string, { policy, bindings: bound = [{}] }: PolicyCase): Promise<readonly string[]> {
    await make(policies, { apiVersion, kind: 'ValidatingAdmissionPolicy', metadata: { name }, spec: policy })
    const kind = 'ValidatingAdmissionPolicyBinding'
    const paths = bound.map((spec, index) => ({ path: `${bindings}/${name}-${index}`, spec, index }))
    for (const { spec, index } of paths) {
      const full = { policyName: name, validationActions: ['Deny'], ...spec }
      await make(bindings, { apiVersion, kind, metadata: { name: `${name}-${index}` }, spec: full })
    }
    return [...paths.map(({ path }) => path), `${policies}/${name}`]
  }

  for (const [index, each] of policyCases.entries()) {
    test(each.title, async () => {
      const installed = await install(`p${index}`, each)
      try {
        const [first, ...more] = each.requests
        assert.ok(first)
        const [mine, theirs] = await askFirst(first)
        assert.deepEqual(mine, theirs, `${first.method} ${first.path}`)
        for (const request of more) {
          const [ours, others] = await ask(request)
          assert.deepEqual(ours, others, `${request.method} ${request.path} ${JSON.stringify(request.body)}`)
        }
      } finally {
        for (const path of installed) {
          await both.server.call('DELETE', path)
          await both.peer.call('DELETE', path)
        }
      }
    })
  }
})
