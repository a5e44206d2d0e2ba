import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { warnOfAffinityLimit } from '../../../../src/app/composition/affinity-limit.ts'
import { LiveNodeState } from '../../../../src/node/state/index.ts'
import { readObject } from '../../../../src/node/state/stored-object.ts'
import { type Logger, silentLogger } from '../../../../src/observe/index.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'
import { until } from '../../../helpers/until.ts'
import { dialect, wireService } from '../../../helpers/wire-objects.ts'

test('how many clients the kernel remembers is said once, with the first Service that asks for affinity', async (t) => {
  const modules = makeTemporaryFolder(t)
  mkdirSync(join(modules, 'xt_recent/parameters'), { recursive: true })
  writeFileSync(join(modules, 'xt_recent/parameters/ip_list_tot'), '250\n')
  const warnings: unknown[] = []
  const log: Logger = { ...silentLogger, warn: (_, fields) => void warnings.push(fields) }
  const state = new LiveNodeState(silentLogger)
  warnOfAffinityLimit(state, log, modules)
  state.replace('services', [readObject('services', wireService('plain', '1'), dialect)], '1')
  state.replace('endpoints', [], '1')
  state.replace('endpointslices', [], '1')
  for (const [name, clusterIP] of [
    ['sticky', '10.96.0.11'],
    ['other', '10.96.0.12'],
  ] as const) {
    const service = wireService(name, '2', { clusterIP, sessionAffinity: 'ClientIP' })
    state.upsert('services', readObject('services', service, dialect))
  }
  await until('it is said', () => warnings.length > 0, 30_000)
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(warnings, [{ service: 'default/sticky', clients: 250 }])
})
