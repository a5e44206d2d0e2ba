import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createBridge, moveLink } from '../../../src/host/links.ts'
import { createNetns } from '../../../src/host/netns.ts'
import { NetworkNameError } from '../../../src/host/netns-name.ts'
import { runProgram } from '../../../src/host/programs/index.ts'

describe('names of links and namespaces', () => {
  for (const name of ['', '-n', '..', 'a b', 'a/b', 'a;reboot', 'sixteen-letters-', 'a\nb']) {
    it(`refuses the interface name ${JSON.stringify(name)} before any program runs`, async () => {
      await assert.rejects(createBridge({ name }), NetworkNameError)
    })
  }

  for (const name of ['', '-batch', '..', '../etc', 'a b', 'x'.repeat(64)]) {
    it(`refuses the namespace name ${JSON.stringify(name)} before any program runs`, async () => {
      await assert.rejects(createNetns(name), NetworkNameError)
      await assert.rejects(runProgram('true', [], { netns: name, timeoutMs: 1000 }), NetworkNameError)
      await assert.rejects(moveLink({ name: 'eth9' }, name), NetworkNameError)
    })
  }
})
