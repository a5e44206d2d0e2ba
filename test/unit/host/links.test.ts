import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createBridge, moveLink } from '../../../src/host/links.ts'
import { createNetns, NetworkNameError } from '../../../src/host/netns.ts'

describe('names of links and namespaces', () => {
  for (const name of ['', '-n', '..', 'a b', 'a/b', 'a;reboot', 'sixteen-letters-', 'a\nb']) {
    it(`refuses the interface name ${JSON.stringify(name)} before any program runs`, async () => {
      await assert.rejects(createBridge({ name }), NetworkNameError)
    })
  }

  for (const name of ['', '-batch', '..', '../etc', 'a b', 'x'.repeat(64)]) {
    it(`refuses the namespace name ${JSON.stringify(name)} before any program runs`, async () => {
      await assert.rejects(createNetns(name), NetworkNameError)
      await assert.rejects(moveLink({ name: 'eth9' }, name), NetworkNameError)
    })
  }
})
