import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createSchedulerManager } from '../../../src/controllers/index.ts'
import { createDialect } from '../../../src/model/dialect.ts'
import { silentLogger } from '../../../src/observe/index.ts'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { clientOfServer, freshControllerMetrics } from '../../helpers/controllers.ts'
import { missingProgram, startKubernetesProgram } from '../../helpers/kubernetes-program.ts'
import { untilAsync } from '../../helpers/until.ts'
import { nodes, placed, waiting } from './scheduling-cases.ts'

const peerName = 'kube-scheduler'
const pods = '/api/v1/namespaces/default/pods'

/** What became of a pod: its node, or why it has none. */
async function fateOf(server: TestServer, name: string): Promise<string> {
  const { spec, status } = (await server.call('GET', `${pods}/${name}`)).body
  if (spec.nodeName) return 'placed'
  const scheduled = (status.conditions ?? []).find(({ type }: { type: string }) => type === 'PodScheduled')
  return scheduled === undefined ? '' : `${scheduled.status} ${scheduled.reason}: ${inCommonWords(scheduled.message)}`
}

/** Ours says which taint it is; the peer whether it would help that others go. */
function inCommonWords(message: string): string {
  return message.replace(/ (?:preemption: |no new claims).*/, '').replace(/taint(?:\(s\)| \{[^}]*\})/g, 'taint')
}

async function create(server: TestServer, path: string, body: object): Promise<void> {
  const { code, text } = await server.call('POST', path, { body })
  assert.equal(code, 201, text)
}

async function fill(server: TestServer): Promise<void> {
  for (const { name, labels, spec, allocatable } of nodes) {
    await create(server, '/api/v1/nodes', {
      metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } },
      spec,
    })
    const status = { allocatable, capacity: allocatable, conditions: [{ type: 'Ready', status: 'True' }] }
    const headers = { 'content-type': 'application/merge-patch+json' }
    await server.call('PATCH', `/api/v1/nodes/${name}/status`, { body: { status }, headers })
  }
  await create(server, '/api/v1/namespaces', { metadata: { name: 'other', labels: { team: 'blue' } } })
  for (const { name, namespace = 'default', labels, spec } of placed)
    await create(server, `/api/v1/namespaces/${namespace}/pods`, {
      metadata: { name, labels },
      spec: { containers: [{ name: 'main', image: 'main' }], ...spec },
    })
}

describe(`pods that wait under our scheduler and under ${peerName}`, { skip: missingProgram(peerName) }, () => {
  const stack = new AsyncDisposableStack()
  let ours: TestServer
  let theirs: TestServer

  before(async () => {
    ours = stack.use(await startTestServer())
    theirs = stack.use(await startTestServer())
    await fill(ours)
    await fill(theirs)
    const dialect = createDialect('kubernetes')
    const parts = { client: clientOfServer(ours), dialect, metrics: freshControllerMetrics(), log: silentLogger }
    const scheduler = createSchedulerManager(parts)
    await scheduler.start({ signal: AbortSignal.timeout(30_000) })
    stack.defer(() => scheduler.stop({ signal: AbortSignal.timeout(5_000) }))
    stack.use(await startKubernetesProgram(peerName, theirs, []))
  })
  after(() => stack.disposeAsync())

  for (const { title, spec, labels, fate, inOtherWords } of waiting) {
    test(title, async () => {
      const name = title.replaceAll(/[^a-z]+/g, '-')
      const body = { metadata: { name, labels }, spec: { containers: [{ name: 'main', image: 'main' }], ...spec } }
      for (const server of [ours, theirs]) await create(server, pods, body)
      for (const server of [ours, theirs])
        await untilAsync('it is decided', async () => (await fateOf(server, name)) !== '', 30_000)
      const found = await fateOf(ours, name)
      const expected = await fateOf(theirs, name)
      for (const server of [ours, theirs]) await server.call('DELETE', `${pods}/${name}?gracePeriodSeconds=0`)
      const seen = (text: string) => (inOtherWords === true ? text.split(':')[0] : text)
      assert.equal(seen(found), seen(expected))
      assert.match(found, fate)
    })
  }
})
