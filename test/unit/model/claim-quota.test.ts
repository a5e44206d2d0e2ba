import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { formatAmount } from '../../../src/model/amount.ts'
import { isInScope, isUsedBy, usageOf } from '../../../src/model/quota.ts'

const kind = { group: '', plural: 'persistentvolumeclaims' }
const claim = { spec: { storageClassName: 'fast', resources: { requests: { storage: '2Gi' } } } }

function shown(object: typeof claim & { readonly status?: object }): Record<string, string> {
  return Object.fromEntries(
    [...usageOf(kind, object as never, 0)].map(([name, amount]) => [name, formatAmount(amount)]),
  )
}

describe('a quota counts claims', () => {
  test('by their number and size, in all and of their class', () => {
    const usage = {
      'count/persistentvolumeclaims': '1',
      persistentvolumeclaims: '1',
      'requests.storage': '2Gi',
      'fast.storageclass.storage.k8s.io/persistentvolumeclaims': '1',
      'fast.storageclass.storage.k8s.io/requests.storage': '2Gi',
    }
    assert.deepEqual(shown(claim), usage)
    for (const name of Object.keys(usage)) assert.ok(isUsedBy(kind, name), name)
    assert.ok(!isUsedBy(kind, 'requests.cpu'))
    assert.ok(!isUsedBy({ group: '', plural: 'pods' }, 'requests.storage'))
  })

  test('of the class in the annotation of old objects', () => {
    const annotation = 'volume.beta.kubernetes.io/storage-class'
    const old = { ...claim, metadata: { annotations: { [annotation]: 'slow' } } }
    const usage = [...usageOf({ ...kind, classAnnotation: annotation }, old, 0).keys()]
    assert.ok(usage.includes('slow.storageclass.storage.k8s.io/requests.storage'))
    assert.ok(!usage.includes('fast.storageclass.storage.k8s.io/requests.storage'))
  })

  test('with the size that an expansion has taken', () => {
    const grown = { ...claim, status: { allocatedResources: { storage: '3Gi' } } }
    assert.equal(shown(grown)['requests.storage'], '3Gi')
  })

  test('in the scope of their class of attributes only', () => {
    const scope = (operator: string, values: string[] = []) => ({
      scopeSelector: { matchExpressions: [{ scopeName: 'VolumeAttributesClass', operator, values }] },
    })
    const fast = { spec: { volumeAttributesClassName: 'gold' } }
    const changing = { ...fast, status: { currentVolumeAttributesClassName: 'silver' } }
    assert.ok(isInScope(kind, fast, scope('In', ['gold'])))
    assert.ok(!isInScope(kind, fast, scope('In', ['silver'])))
    assert.ok(isInScope(kind, changing, scope('In', ['silver'])))
    assert.ok(isInScope(kind, claim, scope('DoesNotExist')))
    assert.ok(!isInScope(kind, claim, { scopes: ['BestEffort'] }))
  })
})
