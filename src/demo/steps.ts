import { setTimeout as sleep } from 'node:timers/promises'
import { chiSquareOfEqualShares, describeCounts, describeLoad, isUndisturbed } from './findings.ts'
import { ingress } from './ingress-step.ts'
import { clientSources, type LoadRequest, nodeAddress, type RunningLoad } from './lab.ts'
import type { LoadReport } from './load-report.ts'
import { fromPod, namedServices, untilNamed } from './name-steps.ts'
import { policies } from './policy-step.ts'
import { RuleMonitor, readRules } from './rule-monitor.ts'
import { nameServer, type Scene, type Step } from './scene.ts'
import { createWebService, type WebService } from './web-service.ts'

/** A little above the 1,000 a second that are promised. */
const trafficRate = 1200
/** Upper limit of a load's duration; a load that is not stopped ends by itself. */
const maxTrafficSeconds = 120
/** Where chi-square with 2 degrees of freedom stays in all but one of a million runs of an even balancer. */
const chiSquareBound = 27.63
const refusedWithinMs = 100

const balanced: Step = {
  title: 'ClusterIP balanced over 3 endpoints',
  async run({ lab, web, workload }) {
    const request = { ...byName(web), rate: 500, maxSeconds: 10, maxRequests: 300 }
    const report = await (await lab.startLoad({ ...request, keepAliveShare: 0 })).report()
    const counts = workload.pods.map((pod) => report.byPod[pod.name] ?? 0)
    const chiSquare = chiSquareOfEqualShares(counts)
    return {
      tried: `300 connections to ${web.hostName}:${web.port} from a client outside the cluster, its name asked for at ${nameServer}`,
      seen: `${describeCounts(report.byPod)}, ${report.failed} failed; chi-square ${chiSquare.toFixed(2)}, bound ${chiSquareBound} (p = 1e-6)`,
      held: report.failed === 0 && counts.length === 3 && chiSquare <= chiSquareBound,
    }
  },
}

const nodePort: Step = {
  title: 'NodePort from outside',
  async run({ lab, web, workload }) {
    if (web.nodePort === undefined) return { tried: 'the Service', seen: 'no nodePort was allocated', held: false }
    const request = { host: nodeAddress, port: web.nodePort, rate: 500, maxSeconds: 10, maxRequests: 100 }
    const report = await (await lab.startLoad({ ...request, keepAliveShare: 0 })).report()
    return {
      tried: `100 connections to the node at ${nodeAddress}:${web.nodePort}`,
      seen: `${describeCounts(report.byPod)}, ${report.failed} failed`,
      held: report.failed === 0 && workload.pods.every((pod) => (report.byPod[pod.name] ?? 0) > 0),
    }
  },
}

const affinity: Step = {
  title: 'ClientIP affinity',
  async run({ lab, serve }) {
    const sticky = await serve({ name: 'sticky', type: 'ClusterIP', sessionAffinity: 'ClientIP' })
    const maxRequests = 8 * clientSources.length
    const request = { ...byName(sticky), rate: 500, maxSeconds: 10, maxRequests }
    const report = await (await lab.startLoad({ ...request, keepAliveShare: 0, sources: clientSources })).report()
    const podsOfEach = Object.values(report.bySource).map((pods) => Object.keys(pods).length)
    return {
      tried: `8 connections from each of ${clientSources.length} addresses to ${sticky.hostName}:${sticky.port}`,
      seen: `pods met by an address: ${Math.min(...podsOfEach)} to ${Math.max(...podsOfEach)}; by all: ${describeCounts(report.byPod)}; ${report.failed} failed`,
      // All of them on one pod by chance: 3 * (1/3)^16, once in 14 million runs.
      held: report.failed === 0 && podsOfEach.every((count) => count === 1) && Object.keys(report.byPod).length > 1,
    }
  },
}

const refused: Step = {
  title: 'a Service without endpoints refused at once',
  async run({ lab, api, dialect }) {
    const empty = await createWebService(api, dialect, { name: 'empty', type: 'ClusterIP', sessionAffinity: 'None' })
    const request = { ...byName(empty), rate: 50, maxSeconds: 10, maxRequests: 10 }
    // One host gets six ICMP answers at once and then one a second (net.ipv4.icmp_ratelimit), so each asks once.
    const report = await (await lab.startLoad({ ...request, keepAliveShare: 0, sources: clientSources })).report()
    return {
      tried: `a connection from each of 10 addresses to ${empty.hostName}:${empty.port}`,
      seen: `${describeCounts(report.failures)}, the slowest after ${report.latencyMs.max} ms (bound ${refusedWithinMs} ms)`,
      held: report.failures['ECONNREFUSED'] === 10 && report.latencyMs.max <= refusedWithinMs,
    }
  },
}

const rolling: Step = {
  title: 'rolling update of all pods under load',
  async run(scene) {
    const report = await underTraffic(scene, () => scene.workload.replaceAll())
    const replaced = scene.workload.pods.every((pod) => (report.byPod[pod.name] ?? 0) > 0)
    return {
      tried: `${trafficRate} requests/s for ${Math.round(report.seconds)} s; each of 3 pods: new one ready, old one out of the rules, applied, SIGTERM, drained, gone`,
      seen: `${describeLoad(report)}; by pod ${describeCounts(report.byPod)}`,
      held: isUndisturbed(report) && replaced,
    }
  },
}

const stoppedFirst: Step = {
  title: 'the control: servers killed before they leave the rules',
  async run(scene) {
    const report = await underTraffic(scene, () => scene.workload.breakAll())
    await scene.lab.forgetConnections(scene.web.clusterIp)
    return {
      tried: `${trafficRate} requests/s; each of 3 servers killed with -9 without notice; must lose requests`,
      seen: describeLoad(report),
      held: report.failed > 0,
    }
  },
}

const killed: Step = {
  title: 'the daemon killed under traffic',
  async run(scene) {
    let processes = 0
    const report = await underTraffic(scene, async () => {
      processes = await scene.daemon.kill()
    })
    return {
      tried: `SIGKILL to its ${processes} processes, then ${trafficRate} requests/s without it, to the address that the name had before`,
      seen: describeLoad(report),
      held: processes > 0 && isUndisturbed(report),
    }
  },
}

const restarted: Step = {
  title: 'the daemon restarted without a rule rewritten',
  async run(scene) {
    const monitor = new RuleMonitor()
    await monitor.start()
    const rulesBefore = await readRules()
    let appliedMs = 0
    let namedMs = 0
    const work = async () => {
      const startedMs = performance.now()
      await scene.daemon.start()
      await scene.workload.waitApplied()
      appliedMs = performance.now() - startedMs
      await untilNamed(scene)
      namedMs = performance.now() - startedMs
      await sleep(1000)
    }
    // No DNS server runs yet, so the load uses the address.
    const report = await underTraffic(scene, work, { host: scene.web.clusterIp, port: scene.web.port })
    const isSame = (await readRules()) === rulesBefore
    const events = await monitor.stop()
    const first = events[0] === undefined ? '' : ` (first: ${events[0]})`
    return {
      tried: `nft monitor from before the start to ${scene.trafficSeconds} s of traffic after it; iptables-save compared`,
      seen: `applied after ${Math.round(appliedMs)} ms, names answered after ${Math.round(namedMs)} ms; ${events.length} rule events${first}, rules ${isSame ? 'equal' : 'changed'}; ${describeLoad(report)}`,
      held: events.length === 0 && isSame && rulesBefore.includes('PLAT-SERVICES') && isUndisturbed(report),
    }
  },
}

export const steps: readonly Step[] = [
  namedServices,
  fromPod,
  balanced,
  nodePort,
  affinity,
  refused,
  policies,
  ingress,
  rolling,
  stoppedFirst,
  killed,
  restarted,
]

function byName({ hostName, port }: WebService): Pick<LoadRequest, 'host' | 'port' | 'nameServer'> {
  return { host: hostName, port, nameServer }
}

/** Runs load on the Service, by its name unless `where` says otherwise, from before the work to after it, for at least `trafficSeconds`. */
async function underTraffic(
  { lab, web, trafficSeconds }: Scene,
  work: () => Promise<void>,
  where: Pick<LoadRequest, 'host' | 'port'> = byName(web),
): Promise<LoadReport> {
  const request = { ...where, rate: trafficRate, maxSeconds: maxTrafficSeconds }
  const load: RunningLoad = await lab.startLoad(request)
  const enough = sleep(trafficSeconds * 1000)
  try {
    await sleep(500)
    await work()
    await enough
  } catch (thrown) {
    await load.finish()
    throw thrown
  }
  return load.finish()
}
