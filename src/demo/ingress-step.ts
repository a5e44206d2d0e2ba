import { get } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { ApiObject } from '../model/api-object.ts'
import type { Dialect } from '../model/dialect.ts'
import { ensureClusterCa, issueCertificate } from '../pki/index.ts'
import { dataDirectory } from './daemon.ts'
import { describeCounts } from './findings.ts'
import { loadHost } from './http-connection.ts'
import { nodeAddress } from './lab.ts'
import { describeIngress, describeIngressClass, describeTlsSecret } from './manifests.ts'
import type { Scene, Step } from './scene.ts'

const requests = 60
const secureHost = 'shop.demo.example'
const retryMs = 50
const deadlineMs = 20_000

export const ingress: Step = {
  title: 'an Ingress serves two hosts on the node, one with TLS',
  async run(scene) {
    const { api, dialect, lab, workload } = scene
    const { objects, ca } = await describeObjects(dialect)
    for (const object of objects) await api.apply(object)
    await untilServed(ca)
    const request = { host: nodeAddress, port: 80, rate: 500, maxSeconds: 10, maxRequests: requests }
    const plain = await (await lab.startLoad({ ...request, keepAliveShare: 0.5 })).report()
    const secure = await askMany(ca)
    const address = await findStatus(scene, objects)
    for (const object of objects.toReversed()) await api.remove(object)
    const met = (pods: Readonly<Record<string, number>>) => workload.pods.every(({ name }) => (pods[name] ?? 0) > 0)
    return {
      tried: `${requests} requests from outside to http://${loadHost} and as many to https://${secureHost} with a certificate of the cluster, both at ${nodeAddress}; the status of the Ingress`,
      seen: `http ${describeCounts(plain.byPod)}, ${plain.failed} failed; https ${describeCounts(secure)}; status ${address}`,
      held: plain.failed === 0 && met(plain.byPod) && met(secure) && address === nodeAddress,
    }
  },
}

/** The objects in the order in which they are made; the Ingress is the last. */
async function describeObjects(dialect: Dialect): Promise<{ objects: readonly ApiObject[]; ca: string }> {
  const authority = await ensureClusterCa(join(dataDirectory, 'pki'))
  const request = { commonName: secureHost, dnsNames: [secureHost], usages: ['server' as const], days: 1 }
  const certificate = await issueCertificate(authority, request)
  const objects = [
    describeIngressClass(dialect),
    describeTlsSecret(certificate),
    describeIngress(dialect, [loadHost, secureHost], secureHost),
  ]
  return { objects, ca: authority.certPem }
}

async function untilServed(ca: string): Promise<void> {
  const giveUpMs = performance.now() + deadlineMs
  for (;;) {
    const seen = await ask(ca).catch((error: unknown) => String(error))
    if (seen.startsWith('200 ')) return
    if (performance.now() > giveUpMs) throw new Error(`https://${secureHost} is not served: ${seen}`)
    await sleep(retryMs)
  }
}

/** How many requests each pod answered. */
async function askMany(ca: string): Promise<Readonly<Record<string, number>>> {
  const byPod: Record<string, number> = {}
  for (let asked = 0; asked < requests; asked += 1) {
    const [status = '', pod = ''] = (await ask(ca)).split(' ')
    const key = status === '200' ? pod : `status ${status}`
    byPod[key] = (byPod[key] ?? 0) + 1
  }
  return byPod
}

/** One request over TLS, on a connection of its own; resolves with status and body. */
function ask(ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { host: secureHost }
    const asked = get({ host: nodeAddress, servername: secureHost, headers, ca, agent: false, timeout: 5000 })
    asked.once('response', (response) => {
      text(response).then((body) => resolve(`${response.statusCode} ${body}`), reject)
    })
    asked.once('timeout', () => asked.destroy(new Error('no answer within 5 s')))
    asked.once('error', reject)
  })
}

const statusSchema = z.object({
  status: z.object({ loadBalancer: z.object({ ingress: z.array(z.object({ ip: z.string() })) }) }),
})

/** The address in the status of the Ingress, once it is written. */
async function findStatus({ api }: Scene, objects: readonly ApiObject[]): Promise<string> {
  const [last] = objects.slice(-1)
  const giveUpMs = performance.now() + deadlineMs
  while (last !== undefined && performance.now() < giveUpMs) {
    const parsed = statusSchema.safeParse(await api.apply(last))
    const addresses = parsed.success ? parsed.data.status.loadBalancer.ingress.map(({ ip }) => ip) : []
    if (addresses.length > 0) return addresses.join()
    await sleep(retryMs)
  }
  return 'not written'
}
