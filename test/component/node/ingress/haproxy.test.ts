import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { matchRequest } from '../../../../src/node/ingress/match.ts'
import {
  ask,
  EchoServers,
  HaproxyLab,
  haproxySkipReason,
  wholeChange,
  withEndpoints,
} from '../../../helpers/haproxy-lab.ts'
import { matchCases, matchTable } from '../../../helpers/match-cases.ts'

describe('haproxy serves a routing table', { skip: haproxySkipReason() }, () => {
  let lab: HaproxyLab
  let servers: EchoServers
  let table = matchTable()

  before(async () => {
    lab = await HaproxyLab.create()
    servers = await EchoServers.start(table.backends.size)
    const ports = [...servers.ports]
    table = withEndpoints(table, () => [ports.shift() ?? 0])
    await lab.driver.start()
    assert.deepEqual(await lab.driver.apply(table, wholeChange(table)), [])
  })
  after(async () => {
    await lab[Symbol.asyncDispose]()
    servers[Symbol.dispose]()
  })

  for (const [host, path, expected] of matchCases) {
    test(`${host || 'no host'} with path ${path} goes to the endpoint of "${expected}"`, async () => {
      const match = matchRequest(table, { host, path })
      const { status, body, text } = await ask(lab.httpPort, host, path)
      assert.equal(status, 200, text)
      assert.equal(JSON.parse(body).port, match.kind === 'route' && match.backend.endpoints[0]?.port)
    })
  }
})
