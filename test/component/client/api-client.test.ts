import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { ApiClient, ApiError, type ClusterAccess, createRequestObserver } from '../../../src/client/index.ts'
import { createMetrics } from '../../../src/observe/index.ts'
import {
  clientOf,
  readRequest,
  ScriptedServer,
  sendJson,
  startServer,
  statusBody,
} from '../../helpers/scripted-server.ts'
import { createSelfSigned } from '../../helpers/self-signed.ts'

const services = { group: '', version: 'v1', resource: 'services' }
const slices = { group: 'discovery.example.org', version: 'v1', resource: 'endpointslices' }
const web = { resource: services, namespace: 'default', name: 'web' }
const object = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' } }

async function apiErrorOf(work: Promise<unknown>): Promise<ApiError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof ApiError, inspect(error))
  return error
}

describe('the API client', () => {
  it('builds paths from group, version, resource, namespace and name', async () => {
    const seen: string[] = []
    await using server = await startServer(async (request, response) => {
      seen.push(
        `${request.method} ${request.url} ${request.headers['content-type'] ?? ''} ${await readRequest(request)}`,
      )
      sendJson(response, object)
    })
    const client = clientOf(server)
    await client.get(web)
    await client.create({ resource: slices, namespace: 'a b' }, object)
    await client.update({ ...web, subresource: 'status' }, object)
    await client.patch(web, { kind: 'merge', patch: { a: null } })
    await client.patch(web, { kind: 'json', patch: [{ op: 'remove', path: '/a' }] })
    await client.delete({ resource: { group: '', version: 'v1', resource: 'nodes' }, name: 'n1' })
    client.close()
    const text = JSON.stringify(object)
    assert.deepEqual(seen, [
      'GET /api/v1/namespaces/default/services/web  ',
      `POST /apis/discovery.example.org/v1/namespaces/a%20b/endpointslices application/json ${text}`,
      `PUT /api/v1/namespaces/default/services/web/status application/json ${text}`,
      'PATCH /api/v1/namespaces/default/services/web application/merge-patch+json {"a":null}',
      'PATCH /api/v1/namespaces/default/services/web application/json-patch+json [{"op":"remove","path":"/a"}]',
      'DELETE /api/v1/nodes/n1  ',
    ])
  })

  it('refuses names that would climb in the path', async () => {
    const client = new ApiClient({ server: 'http://127.0.0.1:1', skipTlsVerify: false })
    assert.throws(() => client.get({ ...web, name: '..' }), /".." cannot stand in an API path/)
  })

  it('keeps its connection between requests', async () => {
    const ports = new Set<number | undefined>()
    await using server = await startServer((request, response) => {
      ports.add(request.socket.remotePort)
      sendJson(response, object)
    })
    const client = clientOf(server)
    for (let index = 0; index < 5; index += 1) await client.get(web)
    client.close()
    assert.equal(ports.size, 1)
  })

  const answers: readonly [code: string, status: number, reason: string][] = [
    ['bad-request', 400, 'BadRequest'],
    ['unauthorized', 401, 'Unauthorized'],
    ['forbidden', 403, 'Forbidden'],
    ['not-found', 404, 'NotFound'],
    ['method-not-allowed', 405, 'MethodNotAllowed'],
    ['already-exists', 409, 'AlreadyExists'],
    ['conflict', 409, 'Conflict'],
    ['expired', 410, 'Expired'],
    ['too-large', 413, 'RequestEntityTooLarge'],
    ['unsupported-media-type', 415, 'UnsupportedMediaType'],
    ['invalid', 422, 'Invalid'],
    ['too-many-requests', 429, 'TooManyRequests'],
    ['internal', 500, 'InternalError'],
    ['unavailable', 503, 'ServiceUnavailable'],
    ['timeout', 504, 'Timeout'],
  ]
  for (const [code, status, reason] of answers) {
    it(`calls a ${status} ${reason} ${code}`, async () => {
      const causes = [{ reason: 'FieldValueInvalid', message: 'no', field: 'spec.size' }]
      await using server = await startServer((_, response) =>
        sendJson(response, statusBody(status, reason, 'what happened', { causes, retryAfterSeconds: 2 }), status),
      )
      const error = await apiErrorOf(clientOf(server).get(web))
      assert.deepEqual([error.code, error.status, error.reason, error.retryAfterMs], [code, status, reason, 2000])
      assert.deepEqual(error.causes, causes)
      assert.match(error.message, /GET \/api\/v1\/namespaces\/default\/services\/web: \d+ \w+: what happened/)
    })
  }

  it('makes do without a Status body', async () => {
    await using server = await startServer((_, response) => {
      response.writeHead(503, { 'retry-after': '7' }).end('<html>no</html>')
    })
    const error = await apiErrorOf(clientOf(server).get(web))
    assert.deepEqual([error.code, error.reason, error.retryAfterMs], ['unavailable', undefined, 7000])
  })

  it('does not follow a redirect', async () => {
    await using server = await startServer((_, response) => {
      response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
    })
    assert.equal((await apiErrorOf(clientOf(server).get(web))).status, 302)
  })

  it('says so when the answer is not an object of the API', async () => {
    await using server = await startServer((request, response) => {
      if (request.url?.endsWith('/text') === true) response.end('hello')
      else sendJson(response, { kind: 'Service' })
    })
    const client = clientOf(server)
    assert.match((await apiErrorOf(client.get({ ...web, name: 'text' }))).message, /the body is not JSON/)
    const error = await apiErrorOf(client.get(web))
    assert.equal(error.code, 'bad-response')
    assert.match(error.message, /apiVersion/)
  })

  it('tells a time-out, a caller who gives up and a server that is away from each other', async () => {
    await using server = await startServer(() => {})
    assert.equal((await apiErrorOf(clientOf(server, { timeoutMs: 30 }).get(web))).code, 'timeout')
    const aborted = AbortSignal.timeout(30)
    assert.equal((await apiErrorOf(clientOf(server).get(web, { signal: aborted }))).code, 'aborted')
    assert.equal((await apiErrorOf(clientOf(server).get(web, { signal: aborted }))).code, 'aborted')
    const client = clientOf(server)
    await server.down()
    const error = await apiErrorOf(client.get(web))
    assert.equal(error.code, 'unavailable')
    assert.match(error.message, /ECONNREFUSED/)
  })

  it('calls a connection that breaks in the body unavailable', async () => {
    await using server = await startServer((_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{')
      setTimeout(() => response.destroy(), 20)
    })
    assert.equal((await apiErrorOf(clientOf(server).get(web))).code, 'unavailable')
  })
})

describe('the API client over TLS', () => {
  async function startTls(answer: ConstructorParameters<typeof ScriptedServer>[0]) {
    const pem = createSelfSigned()
    return { pem, server: await new ScriptedServer(answer, pem).up() }
  }

  it('trusts the given authority and sends the token of a file as it is now', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plt-token-'))
    const tokens: (string | undefined)[] = []
    const { pem, server } = await startTls((request, response) => {
      tokens.push(request.headers.authorization)
      sendJson(response, object)
    })
    await using _server = server
    const path = join(folder, 'token')
    const client = new ApiClient({
      server: server.url,
      certificateAuthority: pem.cert,
      bearer: { kind: 'file', path },
      skipTlsVerify: false,
    })
    await writeFile(path, 'one\n')
    await client.get(web)
    await writeFile(path, 'two\n')
    await client.get(web)
    await rm(folder, { recursive: true })
    assert.equal((await apiErrorOf(client.get(web))).code, 'unauthorized')
    client.close()
    assert.deepEqual(tokens, ['Bearer one', 'Bearer two'])
  })

  it('takes another authority and another token once those that it knows do not do any more', async () => {
    const [old, next] = [createSelfSigned(), createSelfSigned()]
    const answer = (request: IncomingMessage, response: ServerResponse) =>
      request.headers.authorization === 'Bearer new'
        ? sendJson(response, object)
        : sendJson(response, statusBody(401, 'Unauthorized', 'unknown'), 401)
    await using server = await new ScriptedServer(answer, next).up()
    const access = (pem: { readonly cert: string }, token: string): ClusterAccess => ({
      server: server.url,
      certificateAuthority: pem.cert,
      bearer: { kind: 'token', token },
      skipTlsVerify: false,
    })
    const files = [access(old, 'old'), new Error('half written'), access(next, 'old'), access(next, 'new')]
    const client = new ApiClient(access(old, 'old'), {
      reread: async () => {
        const file = files.shift()
        if (file === undefined || file instanceof Error) throw file
        return file
      },
    })
    const codes: string[] = []
    for (let count = 0; count < 4; count += 1) codes.push((await apiErrorOf(client.get(web))).code)
    assert.deepEqual(codes, ['untrusted', 'untrusted', 'untrusted', 'unauthorized'])
    assert.equal((await client.get(web)).metadata.name, 'web')
    assert.deepEqual(files, [])
    client.close()
  })

  it('asks the next of several servers after one that fails, does not know the token or has another certificate', async () => {
    const { server: good, pem } = await startTls((_, response) => sendJson(response, object))
    await using _good = good
    const failing = async (status: number, reason: string) =>
      new ScriptedServer((_, response) => sendJson(response, statusBody(status, reason, 'no'), status), pem).up()
    await using broken = await failing(500, 'InternalError')
    await using away = await failing(503, 'ServiceUnavailable')
    await using stranger = await failing(401, 'Unauthorized')
    await using other = await new ScriptedServer(() => assert.fail('it got a request'), createSelfSigned()).up()
    for (const first of [broken, away, stranger, other]) {
      const client = new ApiClient({
        server: first.url,
        otherServers: [good.url],
        certificateAuthority: pem.cert,
        bearer: { kind: 'token', token: 'known' },
        skipTlsVerify: false,
      })
      await apiErrorOf(client.get(web))
      for (let count = 0; count < 3; count += 1) assert.equal((await client.get(web)).metadata.name, 'web')
      client.close()
    }
  })

  it('stays with the first of several servers where that one says what is wrong with a request', async () => {
    await using second = await startServer(() => assert.fail('it got a request'))
    const answers = [
      [403, 'Forbidden'],
      [404, 'NotFound'],
      [409, 'Conflict'],
      [410, 'Expired'],
      [429, 'TooManyRequests'],
    ] as const
    const left = [...answers]
    await using first = await startServer((_, response) => {
      const [status, reason] = left.shift() ?? assert.fail()
      sendJson(response, statusBody(status, reason, 'no'), status)
    })
    const client = new ApiClient({ server: first.url, otherServers: [second.url], skipTlsVerify: false })
    for (const [status] of answers) assert.equal((await apiErrorOf(client.get(web))).status, status)
    client.close()
  })

  it('does not wait for a file of credentials that hangs, and reads it no second time meanwhile', async () => {
    await using server = await startServer((_, response) =>
      sendJson(response, statusBody(401, 'Unauthorized', 'unknown'), 401),
    )
    let reads = 0
    const reread = () => {
      reads += 1
      return new Promise<never>(() => {})
    }
    const client = new ApiClient({ server: server.url, skipTlsVerify: false }, { reread })
    const asked = Array.from({ length: 3 }, async () => (await apiErrorOf(client.get(web))).code)
    assert.deepEqual(await Promise.all(asked), ['unauthorized', 'unauthorized', 'unauthorized'])
    assert.equal(reads, 1)
    client.close()
  })

  it('does not send the credentials of a file that names another server to the one that it asks', async () => {
    const tokens: (string | undefined)[] = []
    await using server = await startServer((request, response) => {
      tokens.push(request.headers.authorization)
      sendJson(response, statusBody(401, 'Unauthorized', 'unknown'), 401)
    })
    const access = (url: string, token: string): ClusterAccess => ({
      server: url,
      bearer: { kind: 'token', token },
      skipTlsVerify: false,
    })
    const files = [access('https://192.0.2.1:6443', 'of-another'), access(server.url, 'new')]
    const client = new ApiClient(access(server.url, 'old'), { reread: async () => files.shift() ?? assert.fail() })
    for (let count = 0; count < 3; count += 1) assert.equal((await apiErrorOf(client.get(web))).code, 'unauthorized')
    assert.deepEqual(tokens, ['Bearer old', 'Bearer old', 'Bearer new'])
    client.close()
  })

  it('refuses an unknown certificate unless verification is off, and its error holds no secret', async () => {
    const { server } = await startTls((_, response) => sendJson(response, object))
    await using _server = server
    const access: ClusterAccess = {
      server: server.url,
      bearer: { kind: 'token', token: 'S3CRET-s3cret' },
      skipTlsVerify: false,
    }
    const error = await apiErrorOf(new ApiClient(access).get(web))
    assert.equal(error.code, 'untrusted')
    assert.match(error.remedy ?? '', /certificate-authority/)
    assert.ok(!inspect(error, { depth: 20, showHidden: true }).includes('S3CRET'))
    const careless = new ApiClient({ ...access, skipTlsVerify: true })
    assert.equal((await careless.get(web)).metadata.name, 'web')
    careless.close()
  })
})

describe('the metrics of requests', () => {
  it('count answers by status and method, and requests without an answer as <error>', async () => {
    const metrics = createMetrics()
    await using server = await startServer((_request, response) => sendJson(response, object))
    const access = { server: server.url, skipTlsVerify: false }
    const client = new ApiClient(access, { observe: createRequestObserver(metrics) })
    await client.get(web)
    await client.create({ resource: services, namespace: 'default' }, object)
    await client.get(web, { signal: AbortSignal.abort() }).catch(() => {})
    client.close()
    const { host } = new URL(server.url)
    const { body } = await metrics.text()
    assert.deepEqual(body.match(/^rest_client_requests_total\{.*$/gm), [
      `rest_client_requests_total{code="200",method="GET",host="${host}"} 1`,
      `rest_client_requests_total{code="200",method="POST",host="${host}"} 1`,
      `rest_client_requests_total{code="<error>",method="GET",host="${host}"} 1`,
    ])
    assert.match(body, new RegExp(`^rest_client_request_duration_seconds_count\\{verb="GET",host="${host}"\\} 2$`, 'm'))
  })
})
