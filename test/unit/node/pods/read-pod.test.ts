import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDialect } from '../../../../src/model/dialect.ts'
import { parsePod } from '../../../../src/node/pods/pod-spec.ts'
import { newRecord } from '../../../../src/node/pods/read-pod.ts'

const dialect = createDialect('kubernetes')

function recordOf(annotations: Record<string, string>) {
  const metadata = { name: 'web', namespace: 'shop', uid: 'u-1', annotations }
  const parsed = parsePod({ metadata, spec: { containers: [{ name: 'main', command: ['serve'] }] } }, dialect)
  if (parsed.kind !== 'pod') throw new Error(JSON.stringify(parsed))
  return newRecord(parsed.pod, undefined, dialect)
}

test('rates come from annotations, each with a burst of one second and at least 64 KiB if the kernel can count it', () => {
  assert.equal(recordOf({}).bandwidth, undefined)
  assert.deepEqual(recordOf({ 'kubernetes.io/ingress-bandwidth': '10M' }).bandwidth, {
    ingressRate: 10_000_000,
    ingressBurst: 10_000_000,
  })
  const both = { 'kubernetes.io/ingress-bandwidth': '1k', 'kubernetes.io/egress-bandwidth': '1P' }
  assert.deepEqual(recordOf(both).bandwidth, {
    ingressRate: 1000,
    ingressBurst: 200_000,
    egressRate: 1e15,
    egressBurst: 4_294_967_295,
  })
  assert.equal(recordOf({ 'kubernetes.io/egress-bandwidth': '64k' }).bandwidth?.egressBurst, 524_288)
})

test('the record keeps the grace period, for when no agent ends the pod', () => {
  assert.equal(recordOf({}).graceSeconds, 30)
})

for (const wrong of ['', '0', '999', '-10M', '2P', 'fast', '10M; reboot']) {
  test(`a rate of ${JSON.stringify(wrong)} keeps the pod from starting, and the error names the annotation`, () => {
    assert.throws(() => recordOf({ 'kubernetes.io/egress-bandwidth': wrong }), {
      code: 'invalid-annotation',
      message: /the annotation kubernetes.io\/egress-bandwidth is .*expected bits per second/,
      object: 'Pod shop/web',
    })
  })
}
