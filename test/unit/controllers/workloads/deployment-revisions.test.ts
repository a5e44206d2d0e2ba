import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  compareRevisions,
  historyAnnotations,
  nextRevision,
  revisionOf,
} from '../../../../src/controllers/workloads/deployment/annotations.ts'
import { replicaSetSchema } from '../../../../src/controllers/workloads/shapes.ts'

function set(revision: string | undefined, history?: string) {
  const annotations = {
    ...(revision === undefined ? {} : { 'deployment.kubernetes.io/revision': revision }),
    ...(history === undefined ? {} : { 'deployment.kubernetes.io/revision-history': history }),
  }
  const template = { metadata: {}, spec: { containers: [] } }
  return replicaSetSchema.parse({
    metadata: { name: 'web-1', namespace: 'default', uid: 'u', resourceVersion: '1', annotations },
    spec: { selector: {}, template },
  })
}

describe('revisions of a Deployment', () => {
  test('are numbers of 64 bits', () => {
    const large = set('3546343826724305832')
    assert.equal(nextRevision([set('2'), large, set(undefined)]), 3546343826724305833n)
    assert.deepEqual([large, set('7')].toSorted(compareRevisions).map(revisionOf), [7n, 3546343826724305832n])
    assert.deepEqual(historyAnnotations(set('2', '1'), 3546343826724305833n), {
      'deployment.kubernetes.io/revision-history': '1,2',
    })
  })

  test('begin at 1 where there is none, or none that is a number', () => {
    for (const text of [undefined, '', 'x', '-3', '1.5', '9223372036854775807', '99999999999999999999'])
      assert.equal(nextRevision([set(text)]), 1n, String(text))
  })
})
