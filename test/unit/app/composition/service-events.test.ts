import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serviceEvents } from '../../../../src/app/composition/service-events.ts'
import { LiveNodeState } from '../../../../src/node/state/index.ts'
import { readObject } from '../../../../src/node/state/stored-object.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { dialect, wireService } from '../../../helpers/wire-objects.ts'

test('a problem of a Service becomes a warning Event of its object, and none where the object is gone', () => {
  const state = new LiveNodeState(silentLogger)
  const service = wireService('web', '1')
  const withUid = { ...service, metadata: { ...service.metadata, uid: 'u1' } }
  state.replace('services', [readObject('services', withUid, dialect)], '1')
  const recorded: unknown[] = []
  const record = serviceEvents({ record: (...event) => void recorded.push(event) }, state)
  record('default/gone', 'RulesRefused', 'no object')
  record('default/web', 'RulesRefused', 'the kernel said no')
  const subject = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'default', uid: 'u1' } }
  assert.deepEqual(recorded, [[subject, 'Warning', 'RulesRefused', 'the kernel said no']])
})
