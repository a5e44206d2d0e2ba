import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serviceEvents } from '../../../../src/app/composition/service-events.ts'
import { LiveNodeState } from '../../../../src/node/state/index.ts'
import { readObject } from '../../../../src/node/state/stored-object.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { dialect, wireService } from '../../../helpers/wire-objects.ts'

test('what is told of a Service becomes a warning about its object, and nothing where it is gone', () => {
  const state = new LiveNodeState(silentLogger)
  const service = wireService('web', '1')
  const withUid = { ...service, metadata: { ...service.metadata, uid: 'u1' } }
  state.replace('services', [readObject('services', withUid, dialect)], '1')
  const told: unknown[] = []
  const tell = serviceEvents({ record: (...event) => void told.push(event) }, state)
  tell('default/gone', 'RulesRefused', 'nobody')
  tell('default/web', 'RulesRefused', 'the kernel said no')
  const subject = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'default', uid: 'u1' } }
  assert.deepEqual(told, [[subject, 'Warning', 'RulesRefused', 'the kernel said no']])
})
