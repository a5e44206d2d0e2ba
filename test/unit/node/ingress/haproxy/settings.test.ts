import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { haproxyPaths, withinFileLimit } from '../../../../../src/node/ingress/haproxy/settings.ts'
import { haproxySettings } from '../../../../helpers/haproxy-settings.ts'

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
})
