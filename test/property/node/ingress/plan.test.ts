import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import type { ObjectKey } from '../../../../src/model/api-object.ts'
import type { Ingress, IngressClass } from '../../../../src/model/ingress.ts'
import type { RoutingTable } from '../../../../src/model/routing-table.ts'
import { matchRequest } from '../../../../src/node/ingress/match.ts'
import type { FoundSecret } from '../../../../src/node/ingress/plan-certificates.ts'
import type { Parsed } from '../../../../src/node/state/index.ts'
import { anyHost, anyIngressEvents, type IngressEvent } from '../../../helpers/arbitrary-ingresses.ts'
import { IngressCluster, ingressOf } from '../../../helpers/ingress-cluster.ts'

const hourMs = 3_600_000
const beginMs = Date.UTC(2026, 5, 1)

/** The objects as they are now, beside a plan that was given each event. */
class History {
  readonly cluster = new IngressCluster()
  readonly ingresses = new Map<ObjectKey, Parsed<Ingress>>()
  readonly secrets = new Map<ObjectKey, FoundSecret>()
  lateClass: IngressClass | undefined

  take(event: IngressEvent): void {
    const { cluster } = this
    switch (event.kind) {
      case 'ingress': {
        const parsed = ingressOf(event.sketch)
        this.ingresses.set(event.sketch.key, parsed)
        cluster.update({ ingresses: new Map([[event.sketch.key, parsed]]) })
        break
      }
      case 'gone':
        this.ingresses.delete(event.key)
        cluster.remove(event.key)
        break
      case 'class':
        this.lateClass = event.controller === undefined ? undefined : { name: 'late', controller: event.controller }
        cluster.update({ classes: new Map([['late', this.lateClass]]) })
        break
      case 'service':
        cluster.serve(event.key, event.endpoints)
        break
      case 'no-service':
        cluster.services.delete(event.key)
        cluster.update({ services: [event.key] })
        break
      case 'secret':
        this.secrets.set(event.key, secretOf(event.key, event.version))
        cluster.update({ secrets: new Map([[event.key, this.secrets.get(event.key)]]) })
        break
      case 'clock':
        cluster.nowMs += event.hours * hourMs
        cluster.update({})
    }
    this.#giveWanted()
  }

  /** A plan that is given all objects at once, in another order. */
  fresh(): IngressCluster {
    const cluster = new IngressCluster()
    cluster.nowMs = this.cluster.nowMs
    for (const [key, value] of this.cluster.services) cluster.services.set(key, value)
    const ingresses = new Map([...this.ingresses].reverse())
    const { secrets } = cluster.update({ ingresses, classes: new Map([['late', this.lateClass]]) })
    cluster.update({ secrets: new Map([...secrets].map((key) => [key, this.secrets.get(key)])) })
    return cluster
  }

  #giveWanted(): void {
    const { cluster } = this
    cluster.update({ secrets: new Map([...cluster.step.secrets].map((key) => [key, this.secrets.get(key)])) })
  }
}

/** Version 0 cannot be read, 3 expires after some hours. */
function secretOf(key: ObjectKey, version: number): FoundSecret {
  if (version === 0) return { value: undefined, problems: [] }
  const notAfterMs = beginMs + (version === 3 ? 4 : 1000) * hourMs
  const keyKind = version === 1 ? 'RSA' : 'ECDSA'
  const names = ['*.x.example']
  const fingerprint = `${key} ${version}`
  const value = { key, fingerprint, chainPem: '', keyPem: '', keyKind, names, notBeforeMs: 0, notAfterMs } as const
  return { value, problems: [] }
}

/** Maps with their order. */
function written({ hosts, backends, certificates }: RoutingTable): string {
  const routes = [...hosts].map(([host, { exact, prefix, ...rest }]) => [host, [...exact], [...prefix], rest])
  return JSON.stringify([routes, [...backends], certificates], undefined, 1)
}

describe('The plan of Ingresses', () => {
  test('makes step by step what it makes at once, in every order, with each problem', () => {
    fc.assert(
      fc.property(anyIngressEvents, (events) => {
        const history = new History()
        for (const event of events) history.take(event)
        const fresh = history.fresh()
        assert.equal(written(history.cluster.step.table), written(fresh.step.table))
        assert.deepEqual(history.cluster.problems(), fresh.problems())
        assert.equal(history.cluster.step.nextChangeMs, fresh.step.nextChangeMs)
      }),
      { numRuns: 400 },
    )
  })

  test('says in each step what differs from the table before, no more and no less', () => {
    fc.assert(
      fc.property(anyIngressEvents, (events) => {
        const history = new History()
        checkEachStep(history.cluster)
        for (const event of events) history.take(event)
      }),
      { numRuns: 400 },
    )
  })

  test('routes each request as the Ingresses say', () => {
    const anyRequest = fc.record({
      host: anyHost.map((host) => host.replace('*', 'c') || 'other.example'),
      path: fc.constantFrom('/', '/a', '/a/', '/a/b', '/a/b/c', '/ab', '/c', '/a//'),
    })
    fc.assert(
      fc.property(anyIngressEvents, fc.array(anyRequest, { minLength: 20, maxLength: 20 }), (events, requests) => {
        const history = new History()
        for (const event of events) history.take(event)
        const { cluster } = history
        const ours = [...cluster.plan.ingresses()].filter((each) => cluster.plan.classOf(each).kind === 'ours')
        for (const request of requests) {
          const match = matchRequest(cluster.step.table, request)
          const found = match.kind === 'none' ? '404' : `${match.route.ingress} ${match.route.kind} ${match.route.path}`
          assert.equal(found, expectedRoute(ours, request), JSON.stringify(request))
        }
      }),
      { numRuns: 400 },
    )
  })
})

/** Makes each further step compare the table before it with the one after it. */
function checkEachStep({ plan, step: first }: IngressCluster): void {
  const update = plan.update.bind(plan)
  let before = first.table
  plan.update = (changes, nowMs) => {
    const step = update(changes, nowMs)
    const { table, change } = step
    assert.deepEqual([...change.hosts].sort(), differing(before.hosts, table.hosts))
    assert.deepEqual([...change.backends].sort(), differing(before.backends, table.backends))
    assert.equal(change.certificates, !isDeepStrictEqual(before.certificates, table.certificates))
    before = table
    return step
  }
}

function differing(before: ReadonlyMap<string, unknown>, after: ReadonlyMap<string, unknown>): readonly string[] {
  const keys = new Set([...before.keys(), ...after.keys()])
  return [...keys].filter((key) => !isDeepStrictEqual(before.get(key), after.get(key))).sort()
}

/** The rules of Kubernetes, read from the objects without a table. */
function expectedRoute(ours: readonly Ingress[], { host, path }: { host: string; path: string }): string {
  const byAge = ours.toSorted((a, b) => (a.createdAtMs ?? 0) - (b.createdAtMs ?? 0) || (a.key < b.key ? -1 : 1))
  const hosts = new Set(byAge.flatMap(({ rules }) => rules.map((rule) => rule.host)))
  const chosen = [host, host.replace(/^[^.]+/, '*'), ''].find((pattern) => hosts.has(pattern))
  const claims = byAge.flatMap(({ key, rules }) =>
    rules.filter((rule) => rule.host === chosen).flatMap(({ paths }) => paths.map((claim) => ({ ...claim, key }))),
  )
  const elements = (text: string) => text.split('/').slice(1, text.endsWith('/') ? -1 : undefined)
  const matching = claims.filter((claim) => {
    if (claim.kind === 'exact') return claim.path === path
    return elements(claim.path).every((element, index) => path.split('/')[index + 1] === element)
  })
  const rank = (claim: (typeof claims)[number]) => (claim.kind === 'exact' ? 100 : elements(claim.path).length)
  const best = matching.toSorted((a, b) => rank(b) - rank(a))[0]
  if (best !== undefined) return `${best.key} ${best.kind} ${best.path}`
  const ofHost = byAge.find(
    (each) => chosen !== '' && each.defaultBackend && each.rules.some((rule) => rule.host === chosen),
  )
  const fallback = ofHost ?? byAge.find(({ defaultBackend }) => defaultBackend !== undefined)
  return fallback === undefined ? '404' : `${fallback.key} default `
}
