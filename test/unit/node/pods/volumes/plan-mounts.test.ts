import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { planMounts } from '../../../../../src/node/pods/volumes/plan-mounts.ts'
import { mountSchema, volumeSchema } from '../../../../../src/node/pods/volumes/volume-spec.ts'

function plan(volume: object, mount: object) {
  const volumes = [volumeSchema.parse({ name: 'data', ...volume })]
  return planMounts({ volumes }, [mountSchema.parse({ name: 'data', mountPath: '/data', ...mount })])
}

const files = { configMap: { name: 'web' } }

describe('where a container has its volumes', () => {
  test('at the paths of its mounts, without what says nothing in them, the outer ones first', () => {
    const volumes = [volumeSchema.parse({ name: 'a', ...files }), volumeSchema.parse({ name: 'b', ...files })]
    const mounts = [
      { name: 'a', mountPath: '/srv/a/./inner//' },
      { name: 'b', mountPath: '/srv/a', readOnly: true },
    ]
    assert.deepEqual(
      planMounts(
        { volumes },
        mounts.map((each) => mountSchema.parse(each)),
      ),
      [
        { volume: 'b', target: '/srv/a' },
        { volume: 'a', target: '/srv/a/inner' },
      ],
    )
  })

  const refused: readonly (readonly [string, object, object, RegExp])[] = [
    ['an empty folder', { emptyDir: {} }, {}, /^volume data: emptyDir is not supported/],
    ['a volume without a source', {}, {}, /^volume data: emptyDir is not supported/],
    ['a folder of the host', { hostPath: { path: '/' } }, {}, /^volume data: hostPath is not supported/],
    ['a claim', { persistentVolumeClaim: { claimName: 'c' } }, {}, /persistentVolumeClaim is not supported/],
    [
      'a trust bundle',
      { projected: { sources: [{ clusterTrustBundle: { path: 'ca' } }] } },
      {},
      /projected clusterTrustBundle is not supported/,
    ],
    [
      'the resources of a container',
      { downwardAPI: { items: [{ path: 'cpu', resourceFieldRef: { resource: 'limits.cpu' } }] } },
      {},
      /downwardAPI with resourceFieldRef is not supported/,
    ],
    ['a part of a volume', files, { subPath: 'a' }, /subPath is not supported/],
    ['a part that a variable names', files, { subPathExpr: '$(A)' }, /subPath is not supported/],
    ['propagation', files, { mountPropagation: 'Bidirectional' }, /mountPropagation Bidirectional is not supported/],
    ['a relative path', files, { mountPath: 'data' }, /mountPath data is not supported: expected an absolute path/],
    ['a path that climbs', files, { mountPath: '/a/../../b' }, /expected an absolute path/],
    ...['/', '//', '/etc', '/dev', '/proc', '/proc/1/root', '/sys/', '/sys/kernel'].map(
      (mountPath) => [mountPath, files, { mountPath }, /own view of the machine is there/] as const,
    ),
    ['a volume that the pod does not have', files, { name: 'other' }, /the pod has no volume "other"/],
  ]
  for (const [what, volume, mount, message] of refused)
    test(`refused: ${what}`, () => assert.throws(() => plan(volume, mount), { name: 'TypeError', message }))
})
