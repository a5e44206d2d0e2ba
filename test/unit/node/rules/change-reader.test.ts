import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChangeReader } from '../../../../src/node/rules/read-kernel.ts'
import { FakeIptables } from '../../../helpers/fake-iptables.ts'

const nothing = { nat: new Map(), filter: new Map() }

test('tables that are as when all was well are not taken apart again; counters and times do not count', async () => {
  const kernel = new FakeIptables()
  const iptables = kernel.iptables()
  let reads = 0
  const run: typeof iptables.run = async (file, args, options) => {
    const result = await kernel.run(file, args, options)
    reads += 1
    const stdout = result.stdout.replace('[0:0]', `[${reads}:${reads}]`)
    return { ...result, stdout: `# Generated at ${reads}\n${stdout}` }
  }
  const reader = new ChangeReader(Object.assign(kernel.iptables(), { run }), [], ['nat', 'filter'])
  assert.notEqual(await reader.readIfChanged(nothing), undefined)
  assert.notEqual(await reader.readIfChanged(nothing), undefined, 'the state was not confirmed')
  reader.remember()
  assert.equal(await reader.readIfChanged(nothing), undefined)
  kernel.tables['nat']?.set('PLAT-OTHER', ['-j RETURN'])
  const changed = await reader.readIfChanged(nothing)
  assert.deepEqual([...(changed?.nat.chains.keys() ?? [])], ['PLAT-OTHER'])
  reader.forget()
  reader.remember()
  assert.notEqual(await reader.readIfChanged(nothing), undefined, 'something was written meanwhile')
})
