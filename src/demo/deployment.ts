import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { ApiObject } from '../model/api-object.ts'
import type { Dialect } from '../model/dialect.ts'
import { describeError } from '../model/errors.ts'
import { type Ip, parseIp } from '../model/ip.ts'
import type { HttpClusterApi } from './http-cluster-api.ts'
import type { RunningPod, Workload } from './workload.ts'

const namespace = 'default'
const appLabel = 'web'
const podPort = 8080
const pollMs = 50
const deadlineMs = 60_000

const sliceList = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ resourceVersion: z.string() }),
      endpoints: z.array(
        z.object({
          addresses: z.array(z.string()),
          conditions: z.object({ ready: z.boolean().nullish(), terminating: z.boolean().nullish() }),
          targetRef: z.object({ name: z.string() }).optional(),
        }),
      ),
    }),
  ),
})

interface Endpoints {
  readonly pods: readonly RunningPod[]
  readonly terminating: number
  readonly resourceVersions: readonly string[]
}

/**
 * Returns the Namespace after `kubectl label namespace default pods.platform.internal/run=true`: nodes then run its
 * pods.
 */
function describeNamespace({ labels }: Dialect): ApiObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels: { [labels.runPods]: 'true' } } }
}

/**
 * Returns the Deployment of the web servers, as an operator would `kubectl apply` it. Another `generation` changes the
 * template.
 */
function describeDeployment(replicas: number, generation: number): ApiObject {
  const server = resolve(import.meta.dirname, 'web-server.program.ts')
  const labels = { app: appLabel }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: {
        metadata: { labels, annotations: { generation: String(generation) } },
        spec: {
          terminationGracePeriodSeconds: 10,
          containers: [
            {
              name: 'server',
              command: [process.execPath, server, '--name', '$(POD_NAME)', '--port', String(podPort)],
              env: [{ name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
              ports: [{ name: 'http', containerPort: podPort }],
              readinessProbe: { httpGet: { path: '/', port: 'http' }, periodSeconds: 1 },
            },
          ],
        },
      },
    },
  }
}

/** Real pods of a Deployment, made and replaced by the cluster itself. */
export class DeployedWorkload implements Workload {
  readonly #api: HttpClusterApi
  readonly #dialect: Dialect
  readonly #replicas: number
  #generation = 1
  #pods: readonly RunningPod[] = []

  constructor(api: HttpClusterApi, dialect: Dialect, replicas: number) {
    this.#api = api
    this.#dialect = dialect
    this.#replicas = replicas
  }

  get pods(): readonly RunningPod[] {
    return this.#pods
  }

  /** Through its server's process: network, files and process numbers are the pod's. */
  inside({ name }: RunningPod): readonly string[] {
    const [pid] = findServers(name)
    if (pid === undefined) throw new Error(`pod ${name} has no server on this node`)
    return ['nsenter', '--target', String(pid), '--net', '--mount', '--pid']
  }

  /** Resolves when every pod is ready and the kernel sends the Service's traffic to them. */
  async start(): Promise<void> {
    await this.#api.apply(describeNamespace(this.#dialect))
    await this.#api.apply(describeDeployment(this.#replicas, this.#generation))
    this.#pods = await this.#settle('web', () => true)
  }

  async replaceAll(): Promise<void> {
    const old = new Set(this.#pods.map(({ name }) => name))
    this.#generation += 1
    await this.#api.apply(describeDeployment(this.#replicas, this.#generation))
    this.#pods = await this.#settle('web', (pods) => pods.every(({ name }) => !old.has(name)))
  }

  async breakAll(): Promise<void> {
    for (const { name } of this.#pods) {
      killServer(name)
      await sleep(300)
    }
    // Their containers are started again in the same pods; until a probe has seen one fail it may still count as ready.
    await sleep(2500)
    this.#pods = await this.#settle('web', () => true)
  }

  async waitApplied(): Promise<void> {
    await this.#settle('web', () => true)
  }

  /** Resolves when the kernel has these endpoints of a Service that selects the same pods. */
  async waitServedBy(service: string): Promise<void> {
    await this.#settle(service, () => true)
  }

  async #settle(service: string, isDone: (pods: readonly RunningPod[]) => boolean): Promise<readonly RunningPod[]> {
    const giveUpMs = performance.now() + deadlineMs
    for (;;) {
      // A daemon that has just been started does not answer yet.
      const found = await this.#endpoints(service).catch(describeError)
      const isSettled = typeof found !== 'string' && found.pods.length === this.#replicas && found.terminating === 0
      if (isSettled && isDone(found.pods)) {
        for (const version of found.resourceVersions) await this.#api.waitApplied('endpointslices', version)
        return found.pods
      }
      if (performance.now() > giveUpMs)
        throw new Error(`${service} is not served by ${this.#replicas} pods: ${JSON.stringify(found)}`)
      await sleep(pollMs)
    }
  }

  async #endpoints(service: string): Promise<Endpoints> {
    const { groups, labels } = this.#dialect
    const selector = encodeURIComponent(`${labels.serviceName}=${service}`)
    const path = `/apis/${groups.discovery}/v1/namespaces/${namespace}/endpointslices?labelSelector=${selector}`
    const { items } = sliceList.parse(await this.#api.getDocument(path))
    const all = items.flatMap(({ endpoints }) => endpoints)
    const ready = all.filter(({ conditions }) => conditions.ready !== false)
    return {
      pods: ready.map(({ addresses, targetRef }) => ({
        name: targetRef?.name ?? '',
        address: addressOf(addresses[0]),
        port: podPort,
      })),
      terminating: all.filter(({ conditions }) => conditions.terminating === true).length,
      resourceVersions: items.map(({ metadata }) => metadata.resourceVersion),
    }
  }
}

/** SIGKILL to the server of that name, as an operator's `kill -9`; its pod knows nothing of it yet. */
function killServer(name: string): void {
  for (const pid of findServers(name)) process.kill(pid, 'SIGKILL')
}

function findServers(name: string): readonly number[] {
  const pids = readdirSync('/proc').filter((each) => /^\d+$/.test(each))
  return pids.map(Number).filter((pid) => {
    const words = wordsOf(pid)
    return words[1]?.endsWith('web-server.program.ts') === true && words.includes(name)
  })
}

/** Returns the command line of a process; empty for one that has ended. */
function wordsOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}

function addressOf(text: string | undefined): Ip {
  const ip = parseIp(text ?? '')
  if (ip === undefined) throw new TypeError(`${text} is not an IP address`)
  return ip
}
