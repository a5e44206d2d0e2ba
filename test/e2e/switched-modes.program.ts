// Run by switched-modes.test.ts in namespaces of its own: an agent that is started again and again with another --proxy-mode, under load.
// Prints what was seen as one line of JSON; the test judges it.
import { setTimeout as sleep } from 'node:timers/promises'
import { openMemoryStore } from '../../src/api/store/index.ts'
import { writeKubeconfigs } from '../../src/app/composition/cluster-files.ts'
import { HttpClusterApi } from '../../src/demo/http-cluster-api.ts'
import { insideNetns, Lab, nodeAddress, type Pod } from '../../src/demo/lab.ts'
import { RuleMonitor } from '../../src/demo/rule-monitor.ts'
import { createWebService } from '../../src/demo/web-service.ts'
import { applySysctls, nodeSysctls, runProgram } from '../../src/host/index.ts'
import { createDialect } from '../../src/model/dialect.ts'
import { silentLogger } from '../../src/observe/index.ts'
import { labNode, startLabAgent } from '../helpers/lab-agent.ts'
import { startLabApi } from '../helpers/lab-api.ts'
import { asReady } from '../helpers/lab-rollout.ts'
import { untilAsync } from '../helpers/until.ts'

const dialect = createDialect('kubernetes')
const { identity, kubeconfig, controlSocket, port } = labNode
const scope = { signal: new AbortController().signal }
const store = openMemoryStore({ log: silentLogger })
const fillers = 60

function startAgent(proxyMode: string) {
  return startLabAgent({ components: ['proxy'], proxyMode, console: false })
}

async function textOf(program: string, ...args: readonly string[]): Promise<string> {
  return (await runProgram(program, args, { timeoutMs: 10_000 })).stdout
}

/** The modes whose rules packets meet now. */
async function modesInKernel(): Promise<readonly string[]> {
  const [nat, filter, tables] = await Promise.all([
    textOf('iptables-save', '-t', 'nat'),
    textOf('iptables-save', '-t', 'filter'),
    textOf('nft', 'list', 'tables'),
  ])
  const found = {
    iptables: `${nat}${filter}`.includes('-j PLAT-SERVICES'),
    nftables: tables.includes('table ip platnet\n'),
  }
  return Object.entries(found).flatMap(([mode, isThere]) => (isThere ? [mode] : []))
}

async function runMode(proxyMode: string, expected: string): Promise<{ mode: string; left: readonly string[] }> {
  const agent = await startAgent(proxyMode)
  const isAlone = async () => JSON.stringify(await modesInKernel()) === JSON.stringify([expected])
  await untilAsync(`only ${expected} is left`, isAlone, 20_000)
  await sleep(300)
  await agent.stop()
  return { mode: proxyMode, left: await modesInKernel() }
}

/** Puts the rules of iptables back beside the table of nftables, as an agent leaves them that is killed before it removes them. */
async function leaveBoth(nat: string): Promise<readonly string[]> {
  await runProgram('iptables-restore', [], { input: nat, timeoutMs: 10_000 })
  return modesInKernel()
}

async function startWeb(lab: Lab) {
  const cluster = await HttpClusterApi.connect(kubeconfig, controlSocket)
  const service = await createWebService(cluster, dialect, { name: 'web', type: 'NodePort', sessionAffinity: 'None' })
  const pods: Pod[] = [await lab.startPod(), await lab.startPod(), await lab.startPod()]
  for (let count = 0; count < fillers; count += 1) {
    const filler = await createWebService(cluster, dialect, {
      name: `filler-${count}`,
      type: 'NodePort',
      sessionAffinity: 'None',
    })
    await filler.publish(pods.map(asReady))
  }
  await service.publish(pods.map(asReady))
  if (service.nodePort === undefined) throw new Error('there is no node port')
  return { service, nodePort: service.nodePort }
}

async function observe() {
  const lab = new Lab()
  await lab.build()
  await applySysctls(nodeSysctls)
  const api = await startLabApi({ identity, dialect, store, port })
  await writeKubeconfigs(identity, port)
  const first = await startAgent('iptables')
  const { service, nodePort } = await startWeb(lab)
  await first.stop()
  const nat = await textOf('iptables-save', '-t', 'nat')

  const rate = { rate: 150, maxSeconds: 90 }
  const loads = [
    await lab.startLoad({ host: service.clusterIp, port: service.port, ...rate }),
    await lab.startLoad({ host: nodeAddress, port: nodePort, ...rate }),
    await lab.startLoad({ host: service.clusterIp, port: service.port, ...rate }, insideNetns('plt-pod-1')),
  ]
  const switches = []
  for (const mode of ['nftables', 'iptables', 'auto', 'iptables'])
    switches.push(await runMode(mode, mode === 'auto' ? 'nftables' : mode))
  switches.push(await runMode('nftables', 'nftables'))
  const brokenOff = await leaveBoth(nat)
  const finished = await runMode('nftables', 'nftables')
  const reports = await Promise.all(loads.map((load) => load.finish()))

  const monitor = new RuleMonitor()
  await monitor.start()
  const again = await startAgent('nftables')
  await untilAsync('it is applied', async () => (await service.waitApplied().then(() => true)) === true)
  await sleep(1500)
  const restartEvents = await monitor.stop()
  await again.stop()
  await api.stop(scope)
  await lab.stop()
  return { switches, brokenOff, finished, reports, restartEvents }
}

process.stdout.write(`${JSON.stringify(await observe())}\n`)
process.exit(0)
