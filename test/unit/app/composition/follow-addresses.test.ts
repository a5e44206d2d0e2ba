import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { followAddresses } from '../../../../src/app/composition/follow-addresses.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { ipOf } from '../../../helpers/addresses.ts'
import { until } from '../../../helpers/until.ts'

const scope = { signal: new AbortController().signal }
const [before, after, bridge] = [ipOf('192.0.2.1'), ipOf('192.0.2.2'), ipOf('10.244.0.1')]

function start() {
  const since = { advertised: before, reachable: [before] }
  const machine = { now: since, looks: 0 }
  const calls: string[] = []
  const failure: { once: Error | undefined } = { once: undefined }
  const periodic = followAddresses({
    look: () => {
      machine.looks++
      return machine.now
    },
    since,
    onReachable: async () => {
      calls.push('certificate')
    },
    onAdvertised: async (address) => {
      const { once } = failure
      failure.once = undefined
      if (once) throw once
      calls.push(`advertised ${address}`)
    },
    log: silentLogger,
    intervalMs: 1,
  })
  const lookedTwice = () => {
    const { looks } = machine
    return until('the machine was looked at twice more', () => machine.looks >= looks + 2)
  }
  return { machine, calls, failure, periodic, lookedTwice }
}

describe('a machine whose addresses change', () => {
  it('gets a certificate first, then is advertised at the new address, each once', async () => {
    const { machine, calls, periodic, lookedTwice } = start()
    await lookedTwice()
    assert.deepEqual(calls, [])
    machine.now = { advertised: after, reachable: [after] }
    await until('it is advertised', () => calls.length >= 2)
    await lookedTwice()
    await periodic.stop(scope)
    assert.deepEqual(calls, ['certificate', 'advertised 192.0.2.2'])
  })

  it('is advertised at the next look where that failed', async () => {
    const { machine, calls, failure, periodic } = start()
    failure.once = new Error('the store is away')
    machine.now = { advertised: after, reachable: [before, after] }
    await until('it is advertised', () => calls.includes('advertised 192.0.2.2'))
    await periodic.stop(scope)
    assert.equal(failure.once, undefined)
  })

  it('needs a certificate alone for a further address, and nothing for one that goes', async () => {
    const { machine, calls, periodic, lookedTwice } = start()
    machine.now = { advertised: before, reachable: [before, bridge] }
    await until('it has a certificate', () => calls.length > 0)
    machine.now = { advertised: before, reachable: [before] }
    await lookedTwice()
    await periodic.stop(scope)
    assert.deepEqual(calls, ['certificate'])
  })
})
