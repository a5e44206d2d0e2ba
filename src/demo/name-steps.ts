import { Resolver } from 'node:dns/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { describeCounts } from './findings.ts'
import { nameServer, type Scene, type Step } from './scene.ts'
import { createWebService, type WebService } from './web-service.ts'

const newServices = 5
const retryMs = 20
const deadlineMs = 20_000

/** Asks the cluster's DNS from where this process is. */
export function askClusterDns(): Resolver {
  const resolver = new Resolver({ timeout: 1000, tries: 3 })
  resolver.setServers([nameServer])
  return resolver
}

/** Resolves when the cluster's DNS has the name of the Service `web`; only its start is waited for. */
export async function untilNamed({ names, web }: Pick<Scene, 'names' | 'web'>): Promise<void> {
  const giveUpMs = performance.now() + deadlineMs
  for (;;) {
    const answer = await resolveAddress(names, web.hostName)
    if (answer === web.clusterIp) return
    if (performance.now() > giveUpMs) throw new Error(`${nameServer} says ${answer} for ${web.hostName}`)
    await sleep(retryMs)
  }
}

export const namedServices: Step = {
  title: 'Services by name at 10.96.0.10, as fresh as the rules',
  async run(scene) {
    const { names, web } = scene
    const address = await resolveAddress(names, web.hostName)
    const port = await findPort(names, web)
    const back = (await names.reverse(web.clusterIp)).join()
    const missing = await resolveAddress(names, `missing.${web.hostName}`)
    const fresh = await countFresh(scene)
    return {
      tried: `A, SRV and PTR of ${web.hostName}, a name that does not exist, and ${newServices} new Services asked for once each, as soon as the rules have them`,
      seen: `${address} port ${port}, ${back}, ${missing}; ${fresh} of ${newServices} new names answered`,
      held:
        address === web.clusterIp &&
        port === web.port &&
        back === web.hostName &&
        missing === 'ENOTFOUND' &&
        fresh === newServices,
    }
  },
}

export const fromPod: Step = {
  title: 'a pod finds the Service by its short name',
  async run({ lab, web, workload }) {
    const [pod] = workload.pods
    if (pod === undefined) return { tried: 'a pod', seen: 'there is none', held: false }
    const request = { host: web.name, port: web.port, rate: 100, maxSeconds: 10, maxRequests: 100, keepAliveShare: 0 }
    const report = await (await lab.startLoad(request, workload.inside(pod))).report()
    return {
      tried: `100 connections from within the pod ${pod.name} to http://${web.name}, each looked up through the pod's own resolv.conf`,
      seen: `${describeCounts(report.byPod)}, ${report.failed} failed`,
      held: report.failed === 0 && workload.pods.every(({ name }) => (report.byPod[name] ?? 0) > 0),
    }
  },
}

/** The address, or why there is none (`ENOTFOUND` is NXDOMAIN). */
async function resolveAddress(names: Resolver, name: string): Promise<string> {
  try {
    return (await names.resolve4(name)).join()
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code ?? String(thrown)
  }
}

async function findPort(names: Resolver, { hostName }: WebService): Promise<number | undefined> {
  const [first] = await names.resolveSrv(`_http._tcp.${hostName}`)
  return first?.name === hostName ? first.port : undefined
}

/** How many new Services had their name with the first question. */
async function countFresh({ api, dialect, names }: Scene): Promise<number> {
  let fresh = 0
  for (let made = 1; made <= newServices; made += 1) {
    const description = { name: `new-${made}`, type: 'ClusterIP', sessionAffinity: 'None' } as const
    const service = await createWebService(api, dialect, description)
    if ((await resolveAddress(names, service.hostName)) === service.clusterIp) fresh += 1
  }
  return fresh
}
