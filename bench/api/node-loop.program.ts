// The inner part of the main loop rows of `npm run bench -- api`, in namespaces of its own: `platnet run` with 10,000 Services, 64 watches and
// 500 writes/s, while the agent, started anew, lists all of it. Prints its figures as one line of JSON.
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { adminKubeconfig, controlSocket, PlatnetDaemon } from '../../src/demo/daemon.ts'
import { HttpClusterApi } from '../../src/demo/http-cluster-api.ts'
import { nodeAddress } from '../../src/demo/lab.ts'
import { AdminConnection } from '../../test/helpers/admin-connection.ts'
import { httpGet } from '../../test/helpers/http-get.ts'
import { type AdminAccess, readAdminAccess } from '../../test/helpers/platnet-server.ts'
import { generateLoad } from './load-order.ts'
import { parseLoopDelayMs } from './loop-delay.ts'
import type { NodeLoopFigures } from './node-loop.ts'
import { RawClient } from './raw-client.ts'

const services = 10_000
const agentPort = 10250
const path = '/api/v1/namespaces/default/services'

async function createServices(access: AdminAccess): Promise<void> {
  const numbers = Array.from({ length: services }, (_, index) => index).values()
  const client = async () => {
    const connection = await RawClient.open(access)
    for (const number of numbers) {
      const spec = { selector: { app: `web-${number}` }, ports: [{ port: 80 }] }
      const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: `web-${number}` }, spec }
      const { code } = await connection.send('POST', path, JSON.stringify(service))
      if (code !== 201) throw new Error(`a Service was answered with ${code}`)
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: 16 }, client))
}

/** What a process says of its main loop since it was last asked; waits until it answers. */
async function takeLoopDelayMs(access: AdminAccess, port: number): Promise<number> {
  for (;;) {
    const answer = await httpGet({ ...access, port, path: '/metrics' }).catch(() => undefined)
    if (answer?.status === 200) return parseLoopDelayMs(answer.body)
    await sleep(10)
  }
}

function killAgent(): void {
  const commandOf = (pid: string) => readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  const pid = readdirSync('/proc').find((name) => /^\d+$/.test(name) && commandOf(name).includes('main.ts\0agent\0'))
  if (pid === undefined) throw new Error('the agent is not there')
  process.kill(Number(pid), 'SIGKILL')
}

async function measure(): Promise<NodeLoopFigures> {
  const daemon = new PlatnetDaemon(nodeAddress, ['--components', 'api,proxy', '--log-level', 'warn'])
  await daemon.start()
  const api = await HttpClusterApi.connect(adminKubeconfig, controlSocket)
  const access = await readAdminAccess(adminKubeconfig)
  await createServices(access)
  const { body } = await new AdminConnection(access, 1).call('GET', `${path}?limit=1`)
  await api.waitApplied('services', body.metadata.resourceVersion)
  const load = generateLoad({ kind: 'watch', access, watchers: 64, writers: 8, writes: 6_000, writesPerSecond: 500 })
  await sleep(2_000)
  await takeLoopDelayMs(access, access.port)
  const startedMs = performance.now()
  killAgent()
  await takeLoopDelayMs(access, agentPort)
  await api.waitApplied('services', body.metadata.resourceVersion)
  const relistMs = performance.now() - startedMs
  const [agentMs, serverMs] = [await takeLoopDelayMs(access, agentPort), await takeLoopDelayMs(access, access.port)]
  const { writesPerSecond } = await load
  await daemon.kill()
  return { agentMs, serverMs, relistMs, writesPerSecond }
}

process.stdout.write(`${JSON.stringify(await measure())}\n`)
process.exit(0)
