import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { it, type TestContext } from 'node:test'
import { type ConnectionOptions, connect, createServer, type TLSSocket } from 'node:tls'
import { type ClusterCa, ensureClusterCa, issueCertificate } from '../../../src/pki/index.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'

const days = 1
const makeClient = (ca: ClusterCa) =>
  issueCertificate(ca, { commonName: 'admin', organizations: ['system:masters'], usages: ['client'], days })

/** Answers each connection with who the peer is, and whether the CA knows it. */
async function serve(test: TestContext, ca: ClusterCa): Promise<number> {
  const { certPem, keyPem } = await issueCertificate(ca, {
    commonName: 'api',
    ips: ['127.0.0.1'],
    usages: ['server'],
    days,
  })
  const tls = { cert: certPem, key: keyPem, ca: ca.certPem, requestCert: true, rejectUnauthorized: false }
  const server = createServer(tls, (socket) => {
    const { subject } = socket.getPeerCertificate()
    socket.on('error', () => {}).end(JSON.stringify({ authorized: socket.authorized, subject }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.after(() => server.close())
  return (server.address() as AddressInfo).port
}

async function ask(port: number, options: ConnectionOptions): Promise<{ authorized: boolean; subject: unknown }> {
  const socket: TLSSocket = connect({ port, host: '127.0.0.1', ...options })
  await once(socket, 'secureConnect')
  let text = ''
  for await (const chunk of socket) text += String(chunk)
  return JSON.parse(text)
}

it('Both ends of a TLS connection accept each other through the CA.', async (t) => {
  const ca = await ensureClusterCa(makeTemporaryFolder(t))
  const port = await serve(t, ca)
  const { certPem, keyPem } = await makeClient(ca)
  const peer = await ask(port, { ca: ca.certPem, cert: certPem, key: keyPem })
  assert.deepEqual(peer, { authorized: true, subject: { O: 'system:masters', CN: 'admin' } })
})

it('Another CA is trusted by neither end.', async (t) => {
  const ca = await ensureClusterCa(makeTemporaryFolder(t))
  const other = await ensureClusterCa(makeTemporaryFolder(t))
  const port = await serve(t, ca)
  await assert.rejects(ask(port, { ca: other.certPem }), { code: 'SELF_SIGNED_CERT_IN_CHAIN' })
  const { certPem, keyPem } = await makeClient(other)
  const peer = await ask(port, { ca: ca.certPem, cert: certPem, key: keyPem })
  assert.equal(peer.authorized, false)
})

it("A server's certificate does not serve as a client's.", async (t) => {
  const ca = await ensureClusterCa(makeTemporaryFolder(t))
  const port = await serve(t, ca)
  const { certPem, keyPem } = await issueCertificate(ca, {
    commonName: 'api',
    ips: ['127.0.0.1'],
    usages: ['server'],
    days,
  })
  assert.equal((await ask(port, { ca: ca.certPem, cert: certPem, key: keyPem })).authorized, false)
})
