import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createApprovingController } from '../../../src/controllers/certificates/approving-controller.ts'
import { createCleaningController } from '../../../src/controllers/certificates/cleaning-controller.ts'
import { createSigningController } from '../../../src/controllers/certificates/signing-controller.ts'
import type { RequestSigner } from '../../../src/model/signing.ts'
import { ensureClusterCa, readCertificateRequest, signRequest } from '../../../src/pki/index.ts'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { makeCertificateRequest } from '../../helpers/certificates.ts'
import { runControllers } from '../../helpers/controller-lab.ts'
import { untilAsync } from '../../helpers/until.ts'

const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const mergePatch = { 'content-type': 'application/merge-patch+json' }
const clientUsages = ['digital signature', 'client auth']
const nodeSubject = (name: string) => `/O=system:nodes/CN=system:node:${name}`
const dayMs = 86_400_000
const hourMs = 3_600_000

interface Wish {
  readonly name: string
  readonly subject: string
  readonly signer: string
  readonly usages?: readonly string[]
  readonly expirationSeconds?: number
  readonly options?: readonly string[]
}

describe('the controllers of certificate requests', () => {
  let server: TestServer
  let controllers: AsyncDisposable
  const folder = mkdtempSync(join(tmpdir(), 'plt-test-'))
  before(async () => {
    const ca = await ensureClusterCa(folder)
    server = await startTestServer()
    const signer: RequestSigner = {
      read: readCertificateRequest,
      sign: (pem, usages, seconds) => signRequest(ca, pem, { usages, seconds }),
    }
    controllers = await runControllers(server, (kit) => [
      createApprovingController(kit, signer),
      createSigningController(kit, { signer, longestMs: () => 30 * dayMs }),
      createCleaningController(kit),
    ])
  })
  after(async () => {
    await controllers[Symbol.asyncDispose]()
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const call = (method: string, at: string, body?: object, headers = mergePatch) =>
    server.call(method, at, { body, ...(method === 'PATCH' ? { headers } : {}) })
  const statusOf = async (name: string) => (await call('GET', `${path}/${name}`)).body.status ?? {}
  const conditionsOf = async (name: string): Promise<readonly { type: string; reason: string; message: string }[]> =>
    (await statusOf(name)).conditions ?? []
  const ask = async ({ name, subject, signer, usages = clientUsages, expirationSeconds, options }: Wish) => {
    const request = Buffer.from(makeCertificateRequest(subject, options).request).toString('base64')
    const spec = { request, usages, signerName: `kubernetes.io/${signer}`, expirationSeconds }
    const { code, text } = await call('POST', path, { metadata: { name }, spec })
    assert.equal(code, 201, text)
  }
  const decide = async (name: string, type: string) => {
    const conditions = [{ type, status: 'True', reason: 'Test' }]
    const { code, text } = await call('PATCH', `${path}/${name}/approval`, { status: { conditions } })
    assert.equal(code, 200, text)
  }
  const certificateOf = async (name: string) => {
    await untilAsync(`${name} is signed`, async () => (await statusOf(name)).certificate !== undefined, 10_000)
    return new X509Certificate(Buffer.from((await statusOf(name)).certificate, 'base64'))
  }
  const secondsOf = ({ validFromDate, validToDate }: X509Certificate) =>
    (validToDate.getTime() - validFromDate.getTime()) / 1000

  test('sign what a person approved, for as long as was asked.', async () => {
    await ask({ name: 'ann', subject: '/O=team/CN=ann', signer: 'kube-apiserver-client', expirationSeconds: 3_600 })
    assert.deepEqual(await statusOf('ann'), {})
    await decide('ann', 'Approved')
    const certificate = await certificateOf('ann')
    assert.equal(certificate.subject, 'O=team\nCN=ann')
    assert.equal(secondsOf(certificate), 3_600 + 300)
  })

  test('sign for no longer than the cluster allows.', async () => {
    await ask({ name: 'long', subject: '/CN=long', signer: 'kube-apiserver-client' })
    await decide('long', 'Approved')
    assert.equal(secondsOf(await certificateOf('long')), (30 * dayMs) / 1000)
  })

  test('approve a kubelet whose requester may create such requests.', async () => {
    // The superuser of this test may.
    await ask({ name: 'kubelet', subject: nodeSubject('a'), signer: 'kube-apiserver-client-kubelet' })
    await certificateOf('kubelet')
    assert.deepEqual(
      (await conditionsOf('kubelet')).map(({ type, reason }) => [type, reason]),
      [['Approved', 'AutoApproved']],
    )
  })

  test('leave the servers of kubelets to a person, and sign them then.', async () => {
    const usages = ['digital signature', 'server auth']
    const options = ['-addext', 'subjectAltName=IP:192.0.2.1,DNS:a']
    await ask({ name: 'server', subject: nodeSubject('a'), signer: 'kubelet-serving', usages, options })
    await ask({ name: 'after', subject: nodeSubject('b'), signer: 'kube-apiserver-client-kubelet' })
    await certificateOf('after')
    assert.deepEqual(await statusOf('server'), {})
    await decide('server', 'Approved')
    assert.ok((await certificateOf('server')).checkIP('192.0.2.1'))
  })

  const failures: readonly (readonly [string, Omit<Wish, 'name'>, RegExp])[] = [
    ['a client with the usage of a server', wish('kube-apiserver-client', '/CN=x', ['server auth']), /invalid usage/],
    ['a client without its usage', wish('kube-apiserver-client', '/CN=x', ['digital signature']), /missing required/],
    ['a client of two names', wish('kube-apiserver-client', '/CN=x/CN=y'), /one subject common name/],
    ['a client without a name', wish('kube-apiserver-client', '/O=x'), /one subject common name/],
    ['a kubelet of another group', wish('kube-apiserver-client-kubelet', '/CN=system:node:a'), /organization/],
    ['a kubelet of another name', wish('kube-apiserver-client-kubelet', '/O=system:nodes/CN=a'), /system:node:/],
    ['a kubelet of two nodes', wish('kube-apiserver-client-kubelet', `${nodeSubject('a')}/CN=system:node:b`), /one/],
    [
      'a server without an address',
      wish('kubelet-serving', nodeSubject('a'), ['digital signature', 'server auth']),
      /SAN|subjectAltName/,
    ],
  ]
  for (const [index, [what, asked, message]] of failures.entries())
    test(`say why they do not sign ${what}.`, async () => {
      const name = `failed-${index}`
      await ask({ name, ...asked })
      await decide(name, 'Approved')
      const isFailed = async () => (await conditionsOf(name)).some(({ type }) => type === 'Failed')
      await untilAsync(`${name} failed`, isFailed, 10_000)
      const failed = (await conditionsOf(name)).find(({ type }) => type === 'Failed')
      assert.match(failed?.message ?? '', message)
      assert.equal((await statusOf(name)).certificate, undefined)
    })

  test('leave what was denied, and what is of another signer.', async () => {
    await ask({ name: 'denied', subject: '/CN=x', signer: 'kube-apiserver-client' })
    await decide('denied', 'Denied')
    const request = Buffer.from(makeCertificateRequest('/CN=x').request).toString('base64')
    const spec = { request, usages: ['any'], signerName: 'example.com/own' }
    await call('POST', path, { metadata: { name: 'other' }, spec })
    await decide('other', 'Approved')
    await ask({ name: 'marker', subject: nodeSubject('c'), signer: 'kube-apiserver-client-kubelet' })
    await certificateOf('marker')
    for (const name of ['denied', 'other']) {
      assert.equal((await statusOf(name)).certificate, undefined)
      assert.equal((await conditionsOf(name)).length, 1)
    }
  })

  test('delete an answer after an hour.', async () => {
    await ask({ name: 'old', subject: '/CN=x', signer: 'kube-apiserver-client' })
    const lastUpdateTime = new Date(Date.now() - hourMs - 1_000).toISOString()
    const conditions = [{ type: 'Denied', status: 'True', reason: 'Test', lastUpdateTime }]
    await call('PATCH', `${path}/old/approval`, { status: { conditions } })
    await untilAsync('it is gone', async () => (await call('GET', `${path}/old`)).code === 404, 10_000)
    assert.equal((await call('GET', `${path}/denied`)).code, 200)
  })
})

function wish(signer: string, subject: string, usages?: readonly string[]): Omit<Wish, 'name'> {
  return { signer, subject, ...(usages && { usages }) }
}
