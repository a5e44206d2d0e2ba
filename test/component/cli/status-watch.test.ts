import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
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

test('status --watch asks until a signal and shows rates; wide shows since when; the options that wait are named', async (t) => {
  const path = join(makeTemporaryFolder(t), 'agent.sock')
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
  t.after(() => server.close())
  const out: string[] = []
  const stdout = { write: (text: string) => out.push(text) }
  const args = ['status', '--watch', '--interval', '0.01', '-o', 'wide', '--control-socket', path]
  const done = runCli(['node', 'platnet', ...args], { env: {}, stdout, stderr: stdout })
  await until('two answers', () => out.length >= 2)
  process.emit('SIGINT')
  assert.equal(await done, 0)
  assert.match(out[0] ?? '', /^\d{4}-\S+Z {2}0 requests\/s, 50 DNS answers\/s, .* 1 MiB\nnode n1, state revision 3\n/)
  assert.match(out[0] ?? '', /^ {2}ok {7}dns \(since 1970-01-01T00:00:01\.000Z\)$/m)
  assert.match(out[0] ?? '', /^ {2}options {2}NOT read again at 1970-\S+, those before hold: a\.yaml:1: broken$/m)
  assert.match(out[0] ?? '', /^ {2}options {2}wait for the next start: port$/m)
  assert.match(out[1] ?? '', / 0 DNS answers\/s/)
})
