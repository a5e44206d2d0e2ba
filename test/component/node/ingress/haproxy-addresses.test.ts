import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { describe, test } from 'node:test'
import type { Ip } from '../../../../src/model/ip.ts'
import {
  ask,
  EchoServers,
  HaproxyLab,
  haproxySkipReason,
  wholeChange,
  withEndpoints,
} from '../../../helpers/haproxy-lab.ts'
import { routingTable } from '../../../helpers/routing-tables.ts'
import { until } from '../../../helpers/until.ts'

function tableOf(servers: EchoServers) {
  return withEndpoints(routingTable({ 'a.example.com': { prefix: ['/'] } }), () => servers.ports)
}

describe('An address that another program has', { skip: haproxySkipReason() }, () => {
  test('keeps haproxy from no other one; health says so, and it is served once it is free', async () => {
    await using lab = await HaproxyLab.create()
    using servers = await EchoServers.start(1)
    const table = tableOf(servers)
    const other = createServer().listen(lab.httpsPort, '127.0.0.1')
    await once(other, 'listening')
    await lab.driver.start()
    await lab.driver.apply(table, wholeChange(table))
    assert.equal((await ask(lab.httpPort, 'a.example.com', '/')).status, 200)
    const { level, message } = lab.driver.health()
    assert.equal(level, 'degraded')
    assert.match(message, new RegExp(`^127.0.0.1:${lab.httpsPort} cannot be bound; --ingress-https-addresses `))
    await lab.restartDriver()
    const { work } = lab.driver
    await lab.driver.apply(table, wholeChange(table))
    assert.equal((await ask(lab.httpPort, 'a.example.com', '/')).status, 200)
    assert.deepEqual({ ...work, commands: 0 }, { starts: 0, reloads: 0, commands: 0 })
    other.close()
    await until('all addresses are served', () => lab.driver.health().level === 'ok', 15_000)
    const socket = connect(lab.httpsPort, '127.0.0.1')
    await once(socket, 'connect')
    socket.destroy()
  })

  test('that a reload would take is left out, and the other ones are served on', async () => {
    await using lab = await HaproxyLab.create()
    using servers = await EchoServers.start(1)
    const table = tableOf(servers)
    await lab.driver.start()
    await lab.driver.apply(table, wholeChange(table))
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    await lab.restartDriver({ httpAddresses: [...lab.parts.httpAddresses, { ip: '127.0.0.1' as Ip, port }] })
    await lab.driver.apply(table, wholeChange(table))
    assert.equal((await ask(lab.httpPort, 'a.example.com', '/')).status, 200)
    assert.equal(lab.driver.health().level, 'degraded')
    other.close()
  })
})
