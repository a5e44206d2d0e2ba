import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { stringify } from 'yaml'
import { accessByServer, KubeconfigError, loadKubeconfig } from '../../../src/client/index.ts'
import { describeError } from '../../../src/model/errors.ts'
import { createSelfSigned } from '../../helpers/self-signed.ts'

let folder: string
let pem: { key: string; cert: string }

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plt-kubeconfig-'))
  pem = createSelfSigned()
})
after(() => rm(folder, { recursive: true }))

function config(cluster: object = {}, user: object = {}) {
  return {
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: 'https://10.0.0.1:6443/', ...cluster } }],
    users: [{ name: 'u', user }],
  }
}

async function write(content: unknown): Promise<string> {
  const path = join(folder, 'config')
  await writeFile(path, typeof content === 'string' ? content : stringify(content))
  return path
}

async function faultOf(content: unknown, options?: { servers: readonly string[] }): Promise<KubeconfigError> {
  const path = await write(content)
  try {
    await loadKubeconfig(path, options)
  } catch (error) {
    assert.ok(error instanceof KubeconfigError, String(error))
    return error
  }
  throw new Error('the kubeconfig was accepted')
}

describe('a kubeconfig', () => {
  it('takes several servers of one protocol in place of its own', async () => {
    const path = await write(config())
    const access = await loadKubeconfig(path, { servers: ['https://10.0.0.2:6443', 'https://10.0.0.3:6443/'] })
    assert.deepEqual([access.server, access.otherServers], ['https://10.0.0.2:6443', ['https://10.0.0.3:6443']])
    const fault = await faultOf(config(), { servers: ['https://10.0.0.2:6443', 'http://10.0.0.3'] })
    assert.match(fault.message, /--server: expected servers of one protocol/)
  })

  it('gives the server, authority, certificate and key from inline data', async () => {
    const data = (text: string) => Buffer.from(text).toString('base64')
    const user = { 'client-certificate-data': data(pem.cert), 'client-key-data': data(pem.key), token: 'abc' }
    const path = await write(config({ 'certificate-authority-data': data(pem.cert), 'tls-server-name': 'api' }, user))
    assert.deepEqual(await loadKubeconfig(path), {
      server: 'https://10.0.0.1:6443',
      certificateAuthority: pem.cert,
      clientCertificate: pem.cert,
      clientKey: pem.key,
      bearer: { kind: 'token', token: 'abc' },
      skipTlsVerify: false,
      tlsServerName: 'api',
    })
  })

  it('names files relative to itself', async () => {
    await writeFile(join(folder, 'ca.pem'), pem.cert)
    const path = await write(config({ 'certificate-authority': 'ca.pem' }, { tokenFile: 'token' }))
    const access = await loadKubeconfig(path)
    assert.equal(access.certificateAuthority, pem.cert)
    assert.deepEqual(access.bearer, { kind: 'file', path: join(folder, 'token') })
  })

  it('yields its server address to the one given, and keeps the rest', async () => {
    const path = await write(config({ 'insecure-skip-tls-verify': true }, { token: 'abc' }))
    const access = await loadKubeconfig(path, { servers: ['https://127.0.0.1:7443'] })
    assert.equal(access.server, 'https://127.0.0.1:7443')
    assert.equal(access.skipTlsVerify, true)
    assert.deepEqual(access.bearer, { kind: 'token', token: 'abc' })
  })

  const secret = 'S3CRET-s3cret'
  const cases: readonly [title: string, content: () => unknown, expected: RegExp][] = [
    ['that is not YAML', () => `users:\n  - token: "${secret}\n  x: [`, /line \d+ is not YAML/],
    ['that is a list', () => [secret], /the file: /],
    ['without a current context', () => ({ ...config(), 'current-context': '' }), /current-context: expected a text/],
    [
      'whose context is missing',
      () => ({ ...config(), 'current-context': 'x' }),
      /contexts: expected an entry with the name "x"/,
    ],
    ['whose server is no address', () => config({ server: secret }), /clusters\.c\.server: expected an https/],
    [
      'with credentials in the address',
      () => config({ server: `https://u:${secret}@h` }),
      /clusters\.c\.server: expected/,
    ],
    [
      'whose data is not base64',
      () => config({ 'certificate-authority-data': '%%' }),
      /certificate-authority-data: expected base64/,
    ],
    [
      'whose authority is no PEM',
      () => config({ 'certificate-authority-data': 'AAAA' }),
      /certificate-authority: expected a PEM/,
    ],
    [
      'with a certificate and no key',
      () => config({}, { 'client-certificate-data': 'AAAA' }),
      /expected client-certificate and client-key/,
    ],
    [
      'whose key is no key',
      () => config({}, { 'client-certificate-data': btoa(pem.cert), 'client-key-data': btoa(secret) }),
      /client-certificate or client-key: expected PEM/,
    ],
    [
      'with a token of two lines',
      () => config({}, { token: `${secret}\nx` }),
      /users\.0\.user\.token: expected printable/,
    ],
    ['with an exec plugin', () => config({}, { exec: { command: secret } }), /users\.u\.exec is not supported/],
    [
      'with a file that is not there',
      () => config({ 'certificate-authority': 'none.pem' }),
      /certificate-authority: .*none\.pem cannot be read/,
    ],
    [
      'with a token for plain http',
      () => config({ server: 'http://h' }, { token: secret }),
      /credentials are not sent over http/,
    ],
  ]
  for (const [title, content, expected] of cases) {
    it(`${title} is refused with its file and field and without its secrets`, async () => {
      const error = await faultOf(content())
      assert.match(error.message, expected)
      assert.ok(error.message.includes(folder))
      assert.ok(!error.message.includes(secret), error.message)
    })
  }

  it('that cannot be read says why', async () => {
    const error = await loadKubeconfig(join(folder, 'nothing')).catch((thrown: unknown) => thrown)
    assert.match(describeError(error), /nothing cannot be read: ENOENT: no such file or directory/)
  })

  it('is not needed when an address is enough', () => {
    assert.deepEqual(accessByServer('http://127.0.0.1:1/'), { server: 'http://127.0.0.1:1', skipTlsVerify: false })
    assert.throws(() => accessByServer('127.0.0.1:1'), /--server: expected an https/)
  })
})
