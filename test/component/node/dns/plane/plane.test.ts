import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { DnsPlane } from '../../../../../src/node/dns/plane/plane.ts'
import { recordType } from '../../../../../src/node/dns/wire/codes.ts'
import { AppliedRevisions } from '../../../../../src/node/state/applied.ts'
import { LiveNodeState } from '../../../../../src/node/state/live-node-state.ts'
import { makeQuery } from '../../../../helpers/dns-messages.ts'
import { askUdp } from '../../../../helpers/dns-server.ts'
import { findFreePort } from '../../../../helpers/free-port.ts'
import { createRecordingLogger } from '../../../../helpers/recording-logger.ts'
import { makeTemporaryFolder } from '../../../../helpers/temporary-folder.ts'
import { until } from '../../../../helpers/until.ts'

test('a stopping plane is healthy, not ready and answers for the lameduck time, or until its deadline', async (t) => {
  const [port, health, ready] = [await findFreePort(), await findFreePort(), await findFreePort()]
  const corefile = join(makeTemporaryFolder(t), 'Corefile')
  const answers = 'template IN A {\n answer "{{ .Name }} 60 IN A 192.0.2.1"\n }'
  const endpoints = `health 127.0.0.1:${health} {\n lameduck 1h\n }\n ready 127.0.0.1:${ready}`
  writeFileSync(corefile, `.:${port} {\n bind 127.0.0.1\n ${endpoints}\n ${answers}\n}\n`)
  const { log, lines } = createRecordingLogger()
  const state = new LiveNodeState(log)
  const settings = { clusterDns: [], clusterDomain: 'cluster.local', corefile, nodeAddress: undefined }
  const parts = { state, applied: new AppliedRevisions(state), log }
  const plane = new DnsPlane({ ...parts, settings: { ...settings, clusterCidrs: [], env: {} } })
  const deadline = new AbortController()
  t.after(() => deadline.abort())
  const see = async (where: number, path: string) => {
    const answer = await fetch(`http://127.0.0.1:${where}${path}`)
    return `${answer.status} ${await answer.text()}`
  }
  const look = async () => ({
    health: await see(health, '/health'),
    ready: await see(ready, '/ready'),
    answered: (await askUdp(makeQuery('a.test', recordType.A), port, 30_000)) !== undefined,
  })

  await plane.start()
  assert.deepEqual(await look(), { health: '200 OK', ready: '503 kubernetes', answered: true })
  const stopped = plane.stop({ signal: deadline.signal })
  await until('it is a lame duck', () => lines.some((line) => line.includes('goes on answering')), 30_000)
  assert.deepEqual(await look(), { health: '200 OK', ready: '503 Shutting down', answered: true })
  deadline.abort()
  await stopped
  assert.equal(plane.health().level, 'stopped')
  await assert.rejects(see(health, '/health'))
})
