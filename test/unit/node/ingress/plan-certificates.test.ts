import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { TlsSecret } from '../../../../src/model/ingress.ts'
import { IngressCluster } from '../../../helpers/ingress-cluster.ts'

const hourMs = 3_600_000
const nowMs = Date.UTC(2026, 5, 1)

function secret(key: string, names: readonly string[], details: Partial<TlsSecret> = {}) {
  const value: TlsSecret = {
    key,
    fingerprint: key,
    chainPem: `chain of ${key}`,
    keyPem: `key of ${key}`,
    keyKind: 'ECDSA',
    names,
    notBeforeMs: nowMs - hourMs,
    notAfterMs: nowMs + hourMs,
    ...details,
  }
  return { value, problems: [] }
}

function ingress(key: string, age: number, ...tls: readonly { hosts?: readonly string[]; secretName: string }[]) {
  return { key, age, tls }
}

/** The certificates as `Secret: hosts`, the default one without hosts. */
function served({ step }: IngressCluster): readonly string[] {
  return step.table.certificates.map((each) => `${each.secret}: ${each.hosts.join(' ')}`.trim())
}

describe('A certificate', () => {
  test('is served for the hosts of its entry, once its Secret is read', () => {
    const cluster = new IngressCluster()
    const { secrets, change } = cluster.put(
      ingress('a/x', 1, { hosts: ['two.example.com', 'one.example.com'], secretName: 'cert' }),
    )
    assert.deepEqual([...secrets], ['a/cert'])
    assert.equal(change.certificates, false)
    assert.deepEqual([served(cluster), cluster.problems()], [[], []])
    const step = cluster.giveSecrets({ 'a/cert': secret('a/cert', ['*.example.com']) })
    assert.deepEqual([served(cluster), cluster.problems()], [['a/cert: one.example.com two.example.com'], []])
    assert.deepEqual(step.change, { hosts: new Set(), backends: new Set(), certificates: true })
    assert.deepEqual(step.table.certificates[0], {
      secret: 'a/cert',
      hosts: ['one.example.com', 'two.example.com'],
      fingerprint: 'a/cert',
      chainPem: 'chain of a/cert',
      keyPem: 'key of a/cert',
      notAfterMs: nowMs + hourMs,
    })
  })

  test('is served for its own names where the entry has no hosts', () => {
    const cluster = new IngressCluster()
    cluster.put(ingress('a/x', 1, { secretName: 'cert' }))
    cluster.giveSecrets({ 'a/cert': secret('a/cert', ['*.example.com', 'example.com']) })
    assert.deepEqual(served(cluster), ['a/cert: *.example.com example.com'])
    cluster.giveSecrets({ 'a/cert': secret('a/cert', []) })
    assert.deepEqual(served(cluster), [])
    assert.match(cluster.problems().join(), /spec.tls\[0\]: names no host, nor does the certificate of Secret a\/cert/)
  })

  test('that is read again with nothing else changes nothing', () => {
    const cluster = new IngressCluster()
    cluster.put(ingress('a/x', 1, { secretName: 'cert' }))
    const first = cluster.giveSecrets({ 'a/cert': secret('a/cert', ['example.com']) })
    const again = cluster.giveSecrets({ 'a/cert': secret('a/cert', ['example.com']) })
    assert.deepEqual([again.change.certificates, again.table.certificates === first.table.certificates], [false, true])
    const renewed = secret('a/cert', ['example.com'], { fingerprint: 'new' })
    assert.equal(cluster.giveSecrets({ 'a/cert': renewed }).change.certificates, true)
  })

  test('for other names than the host is served and is a problem', () => {
    const cluster = new IngressCluster()
    cluster.put(ingress('a/x', 1, { hosts: ['a.b.example.com'], secretName: 'cert' }))
    cluster.giveSecrets({ 'a/cert': secret('a/cert', ['*.example.com']) })
    assert.deepEqual(served(cluster), ['a/cert: a.b.example.com'])
    assert.deepEqual(cluster.problems(), [
      'a/x: spec.tls[0]: the certificate of Secret a/cert is not for a.b.example.com, and clients will refuse it',
    ])
  })

  test('that does not exist or cannot be read is skipped with the reason', () => {
    const cluster = new IngressCluster()
    cluster.put(ingress('a/x', 1, { secretName: 'gone' }, { secretName: 'broken' }))
    const problem = { object: 'Secret a/broken', field: 'data', expected: 'a key', found: 'nothing' }
    cluster.giveSecrets({ 'a/gone': undefined, 'a/broken': { value: undefined, problems: [problem] } })
    assert.deepEqual(served(cluster), [])
    assert.deepEqual(cluster.problems(), [
      'a/x: spec.tls[0]: Secret a/gone does not exist, or this node may not read it',
      'a/x: spec.tls[1]: Secret a/broken: data: expected a key, found nothing',
    ])
  })

  test('is served from the time when it is valid until it expires, at which a step is due', () => {
    const cluster = new IngressCluster()
    cluster.put(ingress('a/x', 1, { secretName: 'cert' }))
    const dates = { notBeforeMs: nowMs + hourMs, notAfterMs: nowMs + 2 * hourMs }
    cluster.giveSecrets({ 'a/cert': secret('a/cert', ['example.com'], dates) })
    const seen: unknown[] = []
    for (;;) {
      seen.push([
        served(cluster).length,
        cluster
          .problems()
          .join()
          .replace(/^.*certificate/, ''),
      ])
      const { nextChangeMs } = cluster.step
      if (nextChangeMs === undefined) break
      assert.ok(nextChangeMs > cluster.nowMs)
      cluster.nowMs = nextChangeMs
      assert.equal(cluster.update({}).change.certificates, true)
    }
    assert.deepEqual(seen, [
      [0, ' of Secret a/cert is valid from 2026-06-01T01:00:00.000Z on'],
      [1, ''],
      [0, ' of Secret a/cert expired at 2026-06-01T02:00:00.000Z'],
    ])
  })

  test('that no Ingress names any more is forgotten', () => {
    const cluster = new IngressCluster()
    cluster.put(ingress('a/x', 1, { secretName: 'cert' }))
    cluster.giveSecrets({ 'a/cert': secret('a/cert', ['example.com']) })
    assert.deepEqual([...cluster.remove('a/x').secrets], [])
    assert.deepEqual([served(cluster), cluster.step.nextChangeMs], [[], undefined])
    cluster.giveSecrets({ 'a/cert': secret('a/cert', ['example.com']) })
    cluster.put(ingress('a/x', 1, { secretName: 'cert' }))
    assert.deepEqual(served(cluster), [])
  })

  test('of a foreign Ingress is not asked for', () => {
    const cluster = new IngressCluster()
    assert.deepEqual([...cluster.put({ ...ingress('a/x', 1, { secretName: 'cert' }), className: 'other' }).secrets], [])
  })
})

describe('Of two certificates for one host', () => {
  const host = 'shop.example.com'
  const [old, young] = [ingress('b/old', 9, { secretName: 'cert' }), ingress('a/young', 8, { secretName: 'cert' })]

  function both(details: Partial<TlsSecret>) {
    const cluster = new IngressCluster()
    cluster.put(young, old)
    cluster.giveSecrets({ 'b/cert': secret('b/cert', [host]), 'a/cert': secret('a/cert', [host], details) })
    return cluster
  }

  test('that of the older Ingress is served, and the younger has a problem', () => {
    const cluster = both({})
    assert.deepEqual(served(cluster), ['b/cert: shop.example.com'])
    assert.deepEqual(cluster.problems(), [
      'a/young: spec.tls[0]: the older Ingress b/old has another ECDSA certificate for shop.example.com already, of Secret b/cert',
    ])
    cluster.remove('b/old')
    assert.deepEqual([served(cluster), cluster.problems()], [['a/cert: shop.example.com'], []])
  })

  test('both are served where their keys are of two kinds', () => {
    const cluster = both({ keyKind: 'RSA' })
    assert.deepEqual(served(cluster), ['a/cert: shop.example.com', 'b/cert: shop.example.com'])
    assert.deepEqual(cluster.problems(), [])
  })

  test('one is served where they are equal', () => {
    const cluster = both({ fingerprint: 'b/cert' })
    assert.deepEqual([served(cluster), cluster.problems()], [['b/cert: shop.example.com'], []])
  })

  test('the younger is served while the older has expired', () => {
    const cluster = both({})
    cluster.giveSecrets({ 'b/cert': secret('b/cert', [host], { notAfterMs: nowMs }) })
    assert.deepEqual(served(cluster), ['a/cert: shop.example.com'])
    assert.equal(cluster.problems().length, 1)
  })
})

describe('The default certificate', () => {
  const selfSigned = secret('', []).value

  test('is the one of the configured Secret, and a self-signed one until that is valid', () => {
    const cluster = new IngressCluster({ defaultCertificate: 'edge/default', selfSigned })
    assert.deepEqual([[...cluster.step.secrets], served(cluster)], [['edge/default'], [':']])
    assert.equal(cluster.step.defaultCertificateProblem, undefined)
    cluster.giveSecrets({ 'edge/default': undefined })
    assert.match(cluster.step.defaultCertificateProblem ?? '', /^Secret edge\/default does not exist/)
    assert.deepEqual(served(cluster), [':'])
    cluster.giveSecrets({ 'edge/default': secret('edge/default', ['example.com']) })
    assert.deepEqual([served(cluster), cluster.step.defaultCertificateProblem], [['edge/default:'], undefined])
    cluster.nowMs += hourMs
    cluster.update({})
    assert.match(cluster.step.defaultCertificateProblem ?? '', /expired at/)
    assert.deepEqual(served(cluster), [':'])
  })

  test('that cannot be read has the reason', () => {
    const cluster = new IngressCluster({ defaultCertificate: 'edge/default' })
    const problem = { object: 'Secret edge/default', field: 'data', expected: 'a key', found: 'nothing' }
    cluster.giveSecrets({ 'edge/default': { value: undefined, problems: [problem] } })
    assert.equal(cluster.step.defaultCertificateProblem, 'Secret edge/default: data: expected a key, found nothing')
    assert.deepEqual(served(cluster), [])
  })

  test('stands first, beside the same Secret for hosts', () => {
    const cluster = new IngressCluster({ defaultCertificate: 'a/cert' })
    cluster.put(ingress('a/x', 1, { secretName: 'cert' }))
    cluster.giveSecrets({ 'a/cert': secret('a/cert', ['example.com']) })
    assert.deepEqual(served(cluster), ['a/cert:', 'a/cert: example.com'])
  })
})
