import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import type { Outcome } from '../../../conformance/outcomes.ts'
import { conformanceFolder, missingCluster } from '../../helpers/real-cluster.ts'

const root = resolve(import.meta.dirname, '../../..')

test("A short choice of Kubernetes' own suite passes beside a real kubelet and kube-apiserver.", {
  skip: missingCluster('e2e.test', 'coredns', 'regression-issue-74839'),
}, () => {
  const args = [join(root, 'conformance/main.ts'), 'short', '--fresh', '--limit-minutes', '8']
  const { stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  const file = join(conformanceFolder, 'results/short/outcomes.json')
  const outcomes: readonly Outcome[] = JSON.parse(readFileSync(file, 'utf8'))
  const others = outcomes.filter(({ state }) => state !== 'passed')
  assert.deepEqual(others, [], stderr)
  assert.equal(outcomes.length, 6)
})
