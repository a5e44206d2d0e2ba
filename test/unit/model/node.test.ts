import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findMachineInfo } from '../../../src/app/composition/machine-info.ts'
import { isKubeletVersion } from '../../../src/model/node.ts'

test('the version that an agent registers is not taken for a kubelet, which would run its pods', () => {
  const { version } = findMachineInfo('node-1', 10250, () => undefined)
  assert.match(version, /^v\d+\.\d+\.\d+\+platnet$/)
  assert.equal(isKubeletVersion(version), false)
  assert.equal(isKubeletVersion(''), false)
  for (const kubelet of ['v1.34.1', 'v1.33.5+k3s1']) assert.equal(isKubeletVersion(kubelet), true, kubelet)
})
