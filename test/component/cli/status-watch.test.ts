import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runCli } from '../../../src/cli/run-cli.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { until } from '../../helpers/until.ts'

const status = {
  kind: 'AgentStatus',
  nodeName: 'n1',
  components: { dns: { level: 'ok', message: '', sinceMs: 1000 } },
  applied: { revision: 3, planes: {}, failing: [] },
  proxy: [],
  problems: [],
  options: { atMs: 0, waiting: ['port'], problem: 'a.yaml:1: broken' },
}

/** An agent that answers at the path, and how often it was asked for its totals. */
async function serve(t: TestContext, path: string) {
  let asked = 0
  const server = createServer((request, response) => {
    const counters = () => {
      asked += 1
      const zero = {
        ingressRequests: 0,
        serviceSyncs: 0,
        policySyncs: 0,
        deniedPackets: 0,
        cpuSeconds: 0,
        residentBytes: 2 ** 20,
      }
      return { ...zero, atMs: asked * 1000, dnsAnswers: asked === 3 ? 0 : asked * 50 }
    }
    response.end(JSON.stringify(request.url === '/counters' ? counters() : status))
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
  const stop = () => {
    server.closeAllConnections()
    server.close()
  }
  t.after(stop)
  return stop
}

function watch(path: string, output: string, terminal: { isTTY?: true; columns?: number; rows?: number } = {}) {
  const out: string[] = []
  const err: string[] = []
  const stdout = { write: (text: string) => out.push(text), ...terminal }
  const args = ['status', '--watch', '--interval', '0.01', '-o', output, '--control-socket', path]
  const done = runCli(['node', 'platnet', ...args], { env: {}, stdout, stderr: { write: (text) => err.push(text) } })
  return { out, err, done }
}

test('status --watch asks until a signal and shows rates; wide shows since when; the options that wait are named', async (t) => {
  const path = join(makeTemporaryFolder(t), 'agent.sock')
  await serve(t, path)
  const { out, done } = watch(path, 'wide')
  await until('two answers', () => out.length >= 2)
  process.emit('SIGINT')
  assert.equal(await done, 0)
  assert.match(out[0] ?? '', /^\d{4}-\S+Z {2}0 requests\/s, 50 DNS answers\/s, .* 1 MiB\nnode n1, state revision 3\n/)
  assert.match(out[0] ?? '', /^ {2}ok {7}dns \(since 1970-01-01T00:00:01\.000Z\)$/m)
  assert.match(out[0] ?? '', /^ {2}options {2}NOT read again at 1970-\S+, those before hold: a\.yaml:1: broken$/m)
  assert.match(out[0] ?? '', /^ {2}options {2}wait for the next start: port$/m)
  assert.match(out[1] ?? '', / 0 DNS answers\/s/)
})

test('status --watch outlives an agent that starts again, and draws over its own lines on a terminal', async (t) => {
  const path = join(makeTemporaryFolder(t), 'agent.sock')
  const stop = await serve(t, path)
  const { out, err, done } = watch(path, 'text', { isTTY: true, columns: 70, rows: 9 })
  await until('an answer', () => out.length >= 1)
  stop()
  await until('the agent is missed', () => err.length >= 1)
  const seen = out.length
  await serve(t, path)
  await until('another answer', () => out.length > seen)
  process.emit('SIGINT')
  assert.equal(await done, 0)
  assert.match(err[0] ?? '', /^\d{4}-\S+Z {2}no agent answers: waiting for it\n$/)
  const [screen = ''] = out
  assert.ok(screen.startsWith('\u001b[H') && screen.endsWith('\u001b[K\n\u001b[J'), JSON.stringify(screen))
  assert.ok(screen.includes('\u001b[32mok\u001b[0m       1 of 1 parts\u001b[K\n'), JSON.stringify(screen))
  assert.ok(screen.split('\n').length <= 9)
})

test('status --watch ends at once where no agent is', async (t) => {
  const { err, done } = watch(join(makeTemporaryFolder(t), 'none.sock'), 'text')
  assert.equal(await done, 3)
  assert.match(err.join(''), /^error: no agent answers on its control socket/)
})
