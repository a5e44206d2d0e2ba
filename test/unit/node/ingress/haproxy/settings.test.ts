import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HaproxyDriver } from '../../../../../src/node/ingress/haproxy/driver.ts'
import { haproxyPaths, withinFileLimit } from '../../../../../src/node/ingress/haproxy/settings.ts'
import { haproxySettings } from '../../../../helpers/haproxy-settings.ts'
import { createRecordingLogger } from '../../../../helpers/recording-logger.ts'
import { makeTemporaryFolder } from '../../../../helpers/temporary-folder.ts'

describe('Settings of haproxy', () => {
  test('A folder is refused that cannot stand in a configuration or is too long for a socket', () => {
    assert.equal(haproxyPaths('/var/lib/platnet/haproxy').masterSocket, '/var/lib/platnet/haproxy/master.sock')
    for (const folder of ['relative', '/a b', '/a\nb', '/a;b', '/a#b', `/${'a'.repeat(90)}`])
      assert.throws(() => haproxyPaths(folder), { code: 'unsafe-text' })
  })

  test('Connections are two open files each; fewer are allowed where the limit is lower', () => {
    const connections = (maxOpenFiles: number) => withinFileLimit(haproxySettings, maxOpenFiles).limits.maxConnections
    assert.equal(connections(Number.POSITIVE_INFINITY), 10_000)
    // Each may have a second one of haproxy to itself, for a body without a length.
    assert.equal(connections(20_000), 4936)
  })

  test('Fewer connections than configured are a warning, but not fewer than the default', async (t) => {
    const levelsOf = async (hasDefaultConnections: boolean) => {
      const { log, lines } = createRecordingLogger()
      const limits = { ...haproxySettings.limits, maxConnections: Number.MAX_SAFE_INTEGER }
      const parts = { ...haproxySettings, limits, hasDefaultConnections, log, onServed: () => {} }
      await new HaproxyDriver({ ...parts, folder: makeTemporaryFolder(t) }).start()
      return lines.map((line) => line.split(' ', 1)[0])
    }
    assert.deepEqual(await levelsOf(false), ['warn'])
    assert.deepEqual(await levelsOf(true), ['info'])
  })
})
