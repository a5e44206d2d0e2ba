import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { ingressQuestions } from '../../../src/app/composition/ingress-questions.ts'
import { runCli } from '../../../src/cli/run-cli.ts'
import { createControlSocket } from '../../../src/node/control/index.ts'
import { AppliedRevisions, LiveNodeState } from '../../../src/node/state/index.ts'
import { silentLogger } from '../../../src/observe/index.ts'

const status = {
  nodeName: 'node-1',
  components: {},
  applied: { revision: 1, planes: {}, failing: [] },
  proxy: [],
  problems: [],
  ingress: {
    driver: 'in-process',
    ingresses: { ours: 2, foreign: 1 },
    hosts: 2,
    backends: 1,
    backendsDown: ['shop/web:http'],
    certificates: [
      { secret: 'shop/tls', hosts: ['shop.example.com'], notAfter: '2030-01-02T00:00:00.000Z', daysLeft: 7 },
    ],
    problems: [{ ingress: 'shop/web', reason: 'CertificateUnusable', message: 'Secret shop/old has expired' }],
  },
}

/** A deadline from its use on: other files of the process may run before this one. */
const scope = {
  get signal() {
    return AbortSignal.timeout(10_000)
  },
}

describe('The commands that ask about Ingresses', () => {
  let folder = ''
  let socket: ReturnType<typeof createControlSocket>
  const state = new LiveNodeState(silentLogger)

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'plt-ingress-'))
    const asked = ingressQuestions((url) => ({ url, others: [], lines: [`asked for ${url.host} and ${url.path}`] }))
    socket = createControlSocket({
      path: path.join(folder, 'agent.sock'),
      applied: new AppliedRevisions(state),
      status: () => status,
      queries: asked,
      log: silentLogger,
    })
    await socket.start()
  })

  after(async () => {
    await socket.stop(scope)
    await rm(folder, { recursive: true })
  })

  async function run(...words: readonly string[]) {
    const written = { out: '', err: '' }
    const stream = (name: 'out' | 'err') => ({
      write: (text: string) => {
        written[name] += text
        return true
      },
    })
    const argv = ['node', 'platnet', ...words, '--control-socket', path.join(folder, 'agent.sock')]
    const exitCode = await runCli(argv, { env: {}, stdout: stream('out'), stderr: stream('err') })
    return { exitCode, ...written }
  }

  test('explain takes a URL in place of source and target', async () => {
    const { out, err } = await run('explain', 'https://Shop.example.com:8443/a/../b?q=1')
    assert.equal(err + out, 'asked for shop.example.com and /a/../b\n')
  })

  test('explain refuses what is no URL, and says what it expects', async () => {
    const { exitCode, err } = await run('explain', 'http://user@shop.example.com/')
    assert.notEqual(exitCode, 0)
    assert.match(err, /expected a URL such as/)
    const alone = await run('explain', '192.0.2.1')
    assert.notEqual(alone.exitCode, 0)
    assert.match(alone.err, /^error: the target of the connection is missing: expected ADDRESS:PORT/)
  })

  test('status shows routes, Services without endpoints, certificates with their days, and what is broken', async () => {
    const { out } = await run('status')
    assert.match(out, /2 Ingresses \(1 of other classes\), 2 hosts, 1 backends, served by in-process/)
    assert.match(out, /Service shop\/web:http has no endpoint: its requests are answered 503/)
    assert.match(out, /certificate shop\/tls for shop\.example\.com: 7 days left \(until 2030-01-02\)/)
    assert.match(out, /shop\/web: Secret shop\/old has expired/)
  })
})

test('An agent without Ingress says so when it is asked', async () => {
  const answer = await ingressQuestions(undefined)['/explain/url'](new URLSearchParams({ url: 'http://a/' }))
  assert.deepEqual(answer, { status: 503, body: { error: 'this agent runs without ingress (--components)' } })
})
