import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ipOf } from '../../helpers/addresses.ts'
import { type MixedState, MixedVerdicts } from '../../helpers/mixed-verdicts.ts'
import { podOf, podsPeer, policyOf, selects } from '../../helpers/policy-cluster.ts'

const [a, b] = [podOf('x/a', ['10.0.0.1']), podOf('x/b', ['10.0.0.2'])]
const otherB = { ...b, labels: { pod: 'other' } }
const flow = {
  source: { address: ipOf('10.0.0.2') },
  destination: { address: ipOf('10.0.0.1') },
  protocol: 'TCP',
  port: 80,
} as const
const onA = selects({ pod: 'a' })
const fromB = policyOf('x/p', { podSelector: onA, ingress: [{ peers: [podsPeer({ pod: 'b' })] }] })
const fromOther = policyOf('x/p', { podSelector: onA, ingress: [{ peers: [podsPeer({ pod: 'other' })] }] })

function possible(...states: readonly Partial<MixedState>[]) {
  const mixed = new MixedVerdicts(
    states.map((state) => ({ pods: [a, b], policies: [], namespaces: { x: {} }, ...state })),
  )
  return mixed.possible('ingress', flow)
}

test('one state gives one verdict', () => {
  assert.deepEqual(possible({}), { isAllowed: true, isDenied: false })
  assert.deepEqual(possible({ policies: [fromB] }), { isAllowed: true, isDenied: false })
  assert.deepEqual(possible({ policies: [fromOther] }), { isAllowed: false, isDenied: true })
})

test('states that all allow may have a mixture that denies, and the other way round', () => {
  const both = { isAllowed: true, isDenied: true }
  assert.deepEqual(possible({ policies: [fromB] }, { policies: [fromOther], pods: [a, otherB] }), both)
  assert.deepEqual(possible({ policies: [fromOther] }, { policies: [fromB], pods: [a, otherB] }), both)
})

test('what every version of a policy allows or forbids, every mixture does', () => {
  const deny = policyOf('x/q', { podSelector: onA, ingress: [] })
  assert.deepEqual(possible({ policies: [fromB] }, { policies: [fromB, deny] }), { isAllowed: true, isDenied: false })
  assert.deepEqual(possible({ policies: [fromOther] }, { policies: [fromOther, deny] }), {
    isAllowed: false,
    isDenied: true,
  })
})
