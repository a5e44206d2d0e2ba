// The inner part of `platnet demo`, run by demo.ts in namespaces of its own: node demo.program.ts --seconds 6 [--keep]
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createDialect } from '../model/dialect.ts'
import { describeError } from '../model/errors.ts'
import { adminKubeconfig, controlSocket, PlatnetDaemon } from './daemon.ts'
import { DeployedWorkload } from './deployment.ts'
import { HttpClusterApi } from './http-cluster-api.ts'
import { hostPidVariable } from './isolate.ts'
import { Lab, nodeAddress } from './lab.ts'
import type { ServiceDescription } from './manifests.ts'
import { askClusterDns, untilNamed } from './name-steps.ts'
import { runSteps } from './run-steps.ts'
import { nameServer, type Scene } from './scene.ts'
import { steps } from './steps.ts'
import { createWebService } from './web-service.ts'

const { values } = parseArgs({
  strict: true,
  options: { seconds: { type: 'string', default: '6' }, keep: { type: 'boolean', default: false } },
})
const logTailLines = 30
const startedMs = performance.now()
const lab = new Lab()
/** The pods run Node and the web server of this checkout. */
const podFlags = ['--run-pods', '--pod-host-folders', resolve(import.meta.dirname, '../..')]
const daemon = new PlatnetDaemon(nodeAddress, podFlags)

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

function secondsGone(): string {
  return ((performance.now() - startedMs) / 1000).toFixed(1)
}

async function prepare(): Promise<Scene> {
  await lab.build()
  print(`node ${nodeAddress} and a client outside the cluster: links and namespaces made`)
  await daemon.start()
  const api = await HttpClusterApi.connect(adminKubeconfig, controlSocket)
  print(`platnet run ${podFlags.join(' ')} started, its API server answers after ${secondsGone()} s`)
  const dialect = createDialect('platform')
  const selector = { app: 'web' }
  const web = await createWebService(api, dialect, { name: 'web', type: 'NodePort', sessionAffinity: 'None', selector })
  const workload = new DeployedWorkload(api, dialect, 3)
  await workload.start()
  const addresses = workload.pods.map(({ address }) => address).join(', ')
  print(
    `Deployment and Service web applied: ${web.clusterIp}:${web.port}, its 3 pods run at ${addresses}, in the kernel`,
  )
  const names = askClusterDns()
  await untilNamed({ names, web })
  print(`${nameServer} answers ${web.hostName} after ${secondsGone()} s`)
  const serve = async (description: ServiceDescription) => {
    const service = await createWebService(api, dialect, { ...description, selector })
    await workload.waitServedBy(description.name)
    return service
  }
  return { lab, api, dialect, daemon, web, workload, names, serve, trafficSeconds: Number(values.seconds) }
}

function printHowToLookAround({ web, workload }: Scene): void {
  const pid = process.env[hostPidVariable]
  const inside = `nsenter --target ${pid} --net --mount --pid`
  print('')
  print('It stays until you press Ctrl-C. From another terminal, as root:')
  print(`  ${inside}                        # a shell on the node: ip addr, ip netns`)
  print(`  ${inside} iptables-save -t nat   # its rules`)
  print(`  ${inside} ip netns exec plt-client dig +short @${nameServer} ${web.hostName}`)
  print(`  ${inside} ip netns exec plt-client curl -s http://${web.clusterIp}:${web.port}/`)
  const [pod] = workload.pods
  if (pod !== undefined)
    print(`  ${inside} ${workload.inside(pod).join(' ')} curl -s http://${web.name}/   # from within a pod`)
  print(
    `  nsenter --target ${pid} --net kubectl --kubeconfig /proc/${pid}/root${adminKubeconfig} get pods,services,endpointslices -A`,
  )
}

async function showEverything(): Promise<boolean> {
  const scene = await prepare()
  const { held, failed } = await runSteps(steps, scene, print)
  print(`${held} of ${steps.length} held, in ${secondsGone()} s`)
  if (values.keep) {
    printHowToLookAround(scene)
    await sleep(2 ** 31 - 1)
  }
  return failed === 0
}

let success = false
try {
  success = await showEverything()
} catch (thrown) {
  print(`✖ the demo could not go on: ${describeError(thrown)}`)
}
if (!success) print(`the end of the daemon's log:\n${await daemon.readLogTail(logTailLines)}`)
// The first process of a process namespace: everything else in it ends with this one.
process.exit(success ? 0 : 1)
