import assert from 'node:assert/strict'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { DescriptorSocket, isInternetSocket } from '../../../src/host/index.ts'

describe('a socket that passes descriptors', () => {
  const folder = mkdtempSync(join(tmpdir(), 'plt-descriptors-'))
  const path = join(folder, 'passed.sock')
  after(() => rmSync(folder, { recursive: true }))

  test('a descriptor that is passed opens the same file, and the end of the connection is an empty message', () => {
    const server = DescriptorSocket.listen(path)
    const client = DescriptorSocket.connect(path)
    const connection = server?.accept()
    assert.ok(server && client && connection)
    assert.equal(statSync(path).mode & 0o777, 0o600)
    assert.equal(client.receive(), undefined)
    writeFileSync(join(folder, 'file'), 'content')
    const opened = openSync(join(folder, 'file'), 'r')
    assert.equal(connection.send(Buffer.from('one'), [opened]), true)
    closeSync(opened)
    const received = client.receive()
    assert.equal(received?.bytes.toString(), 'one')
    const [passed = -1] = received?.descriptors ?? []
    assert.equal(readFileSync(passed, 'utf8'), 'content')
    assert.equal(isInternetSocket(passed), false)
    closeSync(passed)
    connection.close()
    assert.deepEqual(client.receive(), { bytes: Buffer.alloc(0), descriptors: [] })
    client.close()
    server.close()
  })

  test('a path on which no process listens and one that is too long give no socket', () => {
    assert.equal(DescriptorSocket.connect(join(folder, 'unused')), undefined)
    assert.equal(DescriptorSocket.listen(`/${'x'.repeat(108)}`), undefined)
  })

  test('of all open descriptors, only a socket of IPv4 is one of the internet', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const sockets = Array.from({ length: 64 }, (_, fd) => fd).filter(isInternetSocket)
    assert.ok(port > 0 && sockets.length === 1, sockets.join())
    await new Promise((resolve) => server.close(resolve))
  })
})
