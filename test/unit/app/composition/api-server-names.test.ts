import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ApiServerNames } from '../../../../src/app/composition/api-server-names.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { until } from '../../../helpers/until.ts'

const scope = { signal: new AbortController().signal }

function namesOf(
  access: { server: string; otherServers?: readonly string[] },
  answers: Map<string, readonly string[]>,
) {
  let lookups = 0
  const resolve = async (host: string) => {
    lookups++
    return answers.get(host) ?? []
  }
  const names = new ApiServerNames({ access, log: silentLogger, resolve, intervalMs: 1 })
  return { names, lookups: () => lookups }
}

describe('the addresses of the API servers', () => {
  it('follow their names; a name without an answer keeps its last addresses', async () => {
    const answers = new Map([['api.example.com', ['192.0.2.1', '192.0.2.2']]])
    const { names, lookups } = namesOf({ server: 'https://api.example.com:6443' }, answers)
    await names.look()
    assert.deepEqual([...names.keys], ['192.0.2.1 TCP 6443', '192.0.2.2 TCP 6443'])
    const changes: string[][] = []
    names.onChange((keys) => changes.push([...keys]))
    await names.start()
    answers.set('api.example.com', ['192.0.2.3'])
    await until('the change is seen', () => changes.length > 0)
    answers.clear()
    const before = lookups()
    await until('the name was without an answer twice', () => lookups() > before + 2)
    await names.stop(scope)
    assert.deepEqual(changes, [['192.0.2.3 TCP 6443']])
    assert.deepEqual([...names.keys], ['192.0.2.3 TCP 6443'])
  })

  it('need no lookup where all servers are named by address', async () => {
    const servers = { server: 'https://192.0.2.1', otherServers: ['https://[2001:db8::1]:6443'] }
    const { names, lookups } = namesOf(servers, new Map())
    await names.look()
    await names.start()
    await names.stop(scope)
    assert.deepEqual([...names.keys], ['192.0.2.1 TCP 443', '2001:db8::1 TCP 6443'])
    assert.equal(lookups(), 0)
  })
})
