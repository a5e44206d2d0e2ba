import assert from 'node:assert/strict'
import { once } from 'node:events'
import https from 'node:https'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseIp } from '../../../src/model/ip.ts'
import { silentLogger } from '../../../src/observe/index.ts'
import { type AccessDelegate, createPodEndpoints, httpsListener } from '../../../src/serve/index.ts'
import { type Authority, createAuthority } from '../../helpers/authority.ts'
import { until } from '../../helpers/until.ts'

describe('the log of a pod at an agent', () => {
  let authority: Authority
  let listener: ReturnType<typeof httpsListener>
  let log: Parameters<typeof createPodEndpoints>[0]['readLog']
  let mayRead: AccessDelegate['mayRead'] = async ({ name }, what) => name === 'reader' && what === 'log'
  const asked: object[] = []
  before(async () => {
    authority = await createAuthority()
    const { certPem, keyPem } = await authority.issue('node')
    const access = {
      isPublic: () => true,
      bearerTokens: () => ['scrape'],
      delegate: {
        identify: async () => undefined,
        mayRead: (...question: Parameters<AccessDelegate['mayRead']>) => mayRead(...question),
      },
    }
    const handler = createPodEndpoints(
      {
        access,
        readLog: (request, options) => {
          asked.push(request)
          return log(request, options)
        },
      },
      (_, response) => response.end('other'),
    )
    listener = httpsListener({
      name: 'agent',
      address: parseIp('127.0.0.1') ?? assert.fail(),
      port: 0,
      handler,
      log: silentLogger,
      tls: { certificate: certPem, key: keyPem, clientCa: authority.certPem },
    })
    await listener.start()
  })
  after(() => listener.stop({ signal: AbortSignal.timeout(0) }))

  async function get(path: string, client: string | undefined = 'reader', headers: Record<string, string> = {}) {
    const identity = client === undefined ? undefined : await authority.issue(client)
    const options = { host: '127.0.0.1', port: listener.port, path, headers, agent: false, rejectUnauthorized: false }
    const request = https.get({ ...options, cert: identity?.certPem, key: identity?.keyPem })
    const [response] = (await once(request, 'response')) as [import('node:http').IncomingMessage]
    let text = ''
    for await (const chunk of response) text += chunk
    return [response.statusCode, text]
  }
  const web = '/containerLogs/default/web/c'

  test('comes with the options of a kubelet', async () => {
    log = async function* (_, { follow, tail }) {
      yield Buffer.from(`${follow} ${tail}\n`)
      yield Buffer.from('more\n')
    }
    assert.deepEqual(await get(`${web}?follow=true&tailLines=3&previous=true`), [200, 'true 3\nmore\n'])
    assert.deepEqual(asked.at(-1), { namespace: 'default', pod: 'web', container: 'c', previous: true })
    assert.deepEqual(await get(`${web}?limitBytes=20`), [200, 'false undefined\nmore'])
    assert.deepEqual((await get(`${web}?timestamps=true`))[0], 400)
    assert.deepEqual(await get('/metrics'), [200, 'other'])
  })

  test('is refused for a count that is none, with the name of the option and what was expected', async () => {
    log = async function* () {
      yield Buffer.from('never read\n')
    }
    const before = asked.length
    for (const query of [
      'tailLines=x',
      'tailLines=-1',
      'tailLines=',
      'tailLines=1e9',
      'limitBytes=0',
      'limitBytes=1.5',
    ]) {
      const [code, text] = await get(`${web}?${query}`)
      const [name = '', value] = query.split('=')
      assert.equal(code, 400, query)
      const least = name === 'tailLines' ? 0 : 1
      assert.equal(text, `${name}: expected a whole number of at least ${least}, found ${JSON.stringify(value)}`)
    }
    assert.equal(asked.length, before)
    assert.equal((await get(`${web}?tailLines=0&limitBytes=1`))[0], 200)
  })

  test('is empty where nothing was written, and a 400 with words where there is none', async () => {
    log = async function* () {}
    assert.deepEqual(await get(web), [200, ''])
    // biome-ignore lint/correctness/useYield: this log has no first part
    log = async function* () {
      throw new Error('the container c has not run yet')
    }
    assert.deepEqual(await get(web), [400, 'the container c has not run yet'])
  })

  for (const [state, output] of [
    ['has written', ['a']],
    ['is silent', []],
  ] as const)
    test(`is no longer read for a client that has gone, while the container ${state}`, async () => {
      const reads = { count: 0, isOver: false }
      log = async function* (_, { signal }) {
        for (const part of output) yield Buffer.from(part)
        for (; !signal.aborted; reads.count += 1) await sleep(5)
        reads.isOver = true
      }
      const { certPem, keyPem } = await authority.issue('reader')
      const options = { host: '127.0.0.1', port: listener.port, path: `${web}?follow=true`, rejectUnauthorized: false }
      const request = https.get({ ...options, agent: false, cert: certPem, key: keyPem }).on('error', () => {})
      if (output.length > 0) await once(request, 'response')
      await until('the container is polled', () => reads.count > 1)
      assert.equal(reads.isOver, false)
      request.destroy()
      await until('the polls end', () => reads.isOver)
    })

  test('is for identities that may read it alone: loopback, tokens of the process and public metrics open nothing', async () => {
    const count = asked.length
    assert.equal((await get(web, 'other'))[0], 403)
    assert.equal((await get(web, undefined, { authorization: 'Bearer scrape' }))[0], 401)
    const { port } = listener
    const request = https.get({ host: '127.0.0.1', port, path: web, agent: false, rejectUnauthorized: false })
    const [response] = (await once(request, 'response')) as [import('node:http').IncomingMessage]
    response.resume()
    assert.equal(response.statusCode, 401)
    mayRead = async () => assert.fail('the API server is away')
    assert.equal((await get(web))[0], 503)
    assert.equal(asked.length, count)
  })

  test('exec, attach and port-forward are refused in words', async () => {
    for (const path of ['/exec/default/web/c?command=x', '/attach/default/web/c', '/portForward/default/web']) {
      const [status, text] = await get(path)
      assert.equal(status, 501)
      assert.match(String(text), /not offered: this node runs pods as processes/)
    }
  })
})
