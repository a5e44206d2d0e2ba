import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { createDialect } from '../../../../src/model/dialect.ts'
import { ContainerProbes } from '../../../../src/node/pods/container-probes.ts'
import { type ContainerSpec, parsePod } from '../../../../src/node/pods/pod-spec.ts'
import { judge, type ProbeTarget, runProbe } from '../../../../src/node/pods/probes.ts'
import type { ExecResult } from '../../../../src/node/pods/runtime.ts'
import { ipOf } from '../../../helpers/addresses.ts'
import { makeThrowawayCa } from '../../../helpers/certificates.ts'
import { findFreePort } from '../../../helpers/free-port.ts'
import { until } from '../../../helpers/until.ts'

const generousSeconds = 30

function containerOf(container: object): ContainerSpec {
  const metadata = { name: 'web', namespace: 'shop', uid: 'u-1' }
  const parsed = parsePod({ metadata, spec: { containers: [{ name: 'c', ...container }] } }, createDialect('platform'))
  const first = parsed.kind === 'pod' ? parsed.pod.spec.containers[0] : undefined
  assert.ok(first, JSON.stringify(parsed))
  return first
}

function targetOf(container: ContainerSpec, exec: ProbeTarget['exec'] = neverAsked): ProbeTarget {
  return { ip: ipOf('127.0.0.1'), container, exec }
}

async function neverAsked(): Promise<ExecResult> {
  throw new Error('nothing was to be run')
}

/** Runs a readiness probe against a server on this machine. */
async function ask(probe: object, container: object = {}, exec?: ProbeTarget['exec']): Promise<string | undefined> {
  const timed = { timeoutSeconds: generousSeconds, ...probe }
  const spec = containerOf({ ...container, readinessProbe: timed })
  assert.ok(spec.readinessProbe)
  return runProbe(spec.readinessProbe, targetOf(spec, exec))
}

async function listen(context: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.after(() => server.close())
  return (server.address() as AddressInfo).port
}

function serve(context: TestContext, listener: RequestListener): Promise<number> {
  return listen(context, createHttpServer(listener))
}

describe('an HTTP probe', () => {
  test('succeeds with any status from 200 to 399', async (context) => {
    const port = await serve(context, ({ url }, response) => response.writeHead(Number(url?.slice(1))).end())
    for (const status of [200, 204, 302, 399]) {
      assert.equal(await ask({ httpGet: { port, path: `/${status}` } }), undefined, `${status}`)
    }
    for (const status of [400, 404, 500, 503]) {
      assert.match((await ask({ httpGet: { port, path: `/${status}` } })) ?? '', new RegExp(`status ${status}`))
    }
  })

  test('follows redirects on the same host, with its headers, and takes one to another host as success', async (context) => {
    const seen: unknown[] = []
    const locations = new Map<string | undefined, string>()
    const port = await serve(context, ({ url, headers }, response) => {
      seen.push([url, headers['x-probe']])
      const location = locations.get(url)
      if (location !== undefined) response.setHeader('location', location)
      response.writeHead(location === undefined ? Number(url?.slice(1)) : 307).end()
    })
    const other = await serve(context, (_, response) => response.writeHead(503).end())
    locations.set('/a', 'b?c=d')
    locations.set('/b?c=d', `http://127.0.0.1:${port}/200`)
    locations.set('/ill', '/500')
    locations.set('/port', `http://127.0.0.1:${other}/`)
    locations.set('/host', `http://localhost:${other}/`)
    locations.set('/round', '/round')
    const to = (path: string) => ask({ httpGet: { port, path, httpHeaders: [{ name: 'X-Probe', value: 'yes' }] } })
    assert.equal(await to('/a'), undefined)
    const expected = ['/a', '/b?c=d', '/200'].map((url) => [url, 'yes'])
    assert.deepEqual(seen.splice(0), expected)
    assert.equal(await to('/ill'), 'the answer has the status 500')
    assert.equal(await to('/port'), 'the answer has the status 503')
    assert.equal(await to('/host'), undefined)
    seen.splice(0)
    assert.equal(await to('/round'), '10 answers in a row are redirects')
    assert.equal(seen.length, 10)
  })

  test("uses the container's port of that name, with the probe's headers", async (context) => {
    const seen: unknown[] = []
    const port = await serve(context, ({ headers, url }, response) => {
      seen.push([url, headers['x-probe'], headers.host])
      response.end()
    })
    const container = { ports: [{ name: 'web', containerPort: port }] }
    const httpHeaders = [
      { name: 'X-Probe', value: 'yes' },
      { name: 'Host', value: 'shop' },
    ]
    assert.equal(await ask({ httpGet: { port: 'web', path: 'healthz', httpHeaders } }, container), undefined)
    assert.deepEqual(seen, [['/healthz', 'yes', 'shop']])
    assert.match((await ask({ httpGet: { port: 'other' } }, container)) ?? '', /no port named other/)
  })

  test('over HTTPS accepts any certificate, and fails if the port speaks plain HTTP', async (context) => {
    const { certificate: cert, key } = makeThrowawayCa('unknown').issue('web')
    const answer: RequestListener = ({ url }, response) => void response.writeHead(url === '/ill' ? 500 : 200).end()
    const port = await listen(context, createHttpsServer({ cert, key }, answer))
    assert.equal(await ask({ httpGet: { port, scheme: 'HTTPS', path: '/' } }), undefined)
    assert.match((await ask({ httpGet: { port, scheme: 'HTTPS', path: '/ill' } })) ?? '', /status 500/)
    const plain = await serve(context, answer)
    assert.match((await ask({ httpGet: { port: plain, scheme: 'HTTPS' } })) ?? '', /./)
    assert.match((await ask({ httpGet: { port } })) ?? '', /./)
  })

  test('fails without a listener, and without an answer in time', async (context) => {
    const port = await serve(context, () => {})
    assert.match((await ask({ httpGet: { port }, timeoutSeconds: 1 })) ?? '', /./)
    assert.match((await ask({ httpGet: { port: await findFreePort() } })) ?? '', /ECONNREFUSED/)
  })
})

test('a TCP probe succeeds with a connection', async (context) => {
  const port = await listen(
    context,
    createServer((socket) => socket.on('error', () => {})),
  )
  assert.equal(await ask({ tcpSocket: { port } }), undefined)
  assert.match((await ask({ tcpSocket: { port: await findFreePort() } })) ?? '', /ECONNREFUSED/)
})

test('an exec probe depends on the exit code, and its failure has the output', async () => {
  const exec = { command: ['check', '--all'] }
  assert.equal(await ask({ exec }, {}, async () => ({ exitCode: 0, output: 'fine' })), undefined)
  assert.equal(await ask({ exec }, {}, async () => ({ exitCode: 2, output: 'bad\n' })), 'check exited with 2: bad')
  assert.equal(await ask({ exec }, {}, async () => ({ exitCode: 1, output: ' \n' })), 'check exited with 1')
  assert.match((await ask({ exec })) ?? '', /nothing was to be run/)
})

test('a verdict changes after as many equal results in a row as the threshold', () => {
  const probe = containerOf({
    readinessProbe: { exec: { command: ['x'] }, successThreshold: 2, failureThreshold: 3 },
  }).readinessProbe
  assert.ok(probe)
  let verdict = { isHealthy: false, successes: 0, failures: 0 }
  const seen = [...'++-++---+-++'].map((answer) => {
    verdict = judge(verdict, answer === '+' ? undefined : 'no', probe)
    return verdict.isHealthy ? 'y' : 'n'
  })
  assert.equal(seen.join(''), 'nyyyyyynnnny')
})

describe('the probes of a container', () => {
  const quick = { periodSeconds: 1, failureThreshold: 1 }

  test('readiness and liveness probes start after the startup probe has succeeded', async (context) => {
    const asked: string[] = []
    const probe = (name: string) => ({ exec: { command: [name] }, ...quick })
    const container = containerOf({
      startupProbe: { ...probe('startup'), failureThreshold: 10 },
      readinessProbe: probe('readiness'),
      livenessProbe: probe('liveness'),
    })
    const exec: ProbeTarget['exec'] = async ([name = '']) => {
      asked.push(name)
      return { exitCode: name === 'startup' && asked.length < 2 ? 1 : 0, output: '' }
    }
    const probes = new ContainerProbes({
      target: targetOf(container, exec),
      wasReady: false,
      onChange: () => {},
      onFailure: () => {},
    })
    context.after(() => probes.stop())
    probes.start()
    assert.deepEqual([probes.isStarted, probes.isReady], [false, false])
    await until('it is ready', () => probes.isReady, generousSeconds * 1000)
    assert.deepEqual(asked.slice(0, 2), ['startup', 'startup'])
    assert.deepEqual([probes.isStarted, probes.isUnhealthy], [true, false])
  })

  test('a container is unhealthy if its startup probe never succeeds or its liveness probe fails', async (context) => {
    for (const kind of ['startupProbe', 'livenessProbe']) {
      const container = containerOf({ [kind]: { exec: { command: ['x'] }, ...quick } })
      const changes: unknown[] = []
      const failures: string[] = []
      const probes = new ContainerProbes({
        target: targetOf(container, async () => ({ exitCode: 1, output: 'no' })),
        wasReady: false,
        onChange: (name, isHealthy, why) => changes.push([`${name}Probe`, isHealthy, why]),
        onFailure: (name, why) => failures.push(`${name}: ${why}`),
      })
      context.after(() => probes.stop())
      probes.start()
      await until('it is unhealthy', () => probes.isUnhealthy, generousSeconds * 1000)
      assert.deepEqual(changes[0], [kind, false, 'x exited with 1: no'])
      assert.ok(
        failures.length >= 1 && failures.every((line) => line === `${kind.replace('Probe', '')}: x exited with 1: no`),
      )
    }
  })

  test('a container that was ready under an earlier agent stays ready until a probe fails', () => {
    const container = containerOf({
      startupProbe: { exec: { command: ['x'] } },
      readinessProbe: { exec: { command: ['x'] } },
    })
    const probes = new ContainerProbes({
      target: targetOf(container),
      wasReady: true,
      onChange: () => {},
      onFailure: () => {},
    })
    assert.deepEqual([probes.isStarted, probes.isReady], [true, true])
  })
})
