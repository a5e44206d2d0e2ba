import { Periodic } from '../../../src/loop/periodic.ts'
import type { AdminConnection } from '../../helpers/admin-connection.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { type ClientsServer, startServer } from './programs.ts'

const beatMs = 1_000
const quantities = { cpu: '4', memory: '8Gi', pods: '110' }

interface FoundPod {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly deletionTimestamp?: string }
  readonly spec: { readonly nodeName?: string; readonly restartPolicy: string }
  readonly status: { readonly phase?: string }
}

/** Nodes whose pods run at once, those that restart Never to their end, and end at once when they are deleted. */
export class HollowKubelet implements AsyncDisposable {
  readonly #admin: AdminConnection
  /** The Nodes, and the address of each. */
  readonly #beating: Map<string, string>
  readonly #beat: Periodic
  readonly failures: unknown[] = []

  constructor(admin: AdminConnection, nodes: readonly string[]) {
    this.#admin = admin
    this.#beating = new Map(nodes.map((name, index) => [name, `192.0.2.${1 + index}`]))
    this.#beat = new Periodic(() => this.#work(), { intervalMs: beatMs, onError: (error) => this.failures.push(error) })
  }

  async start(): Promise<void> {
    for (const name of this.#beating.keys()) {
      await this.#admin.call('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name } })
    }
    this.#beat.start()
  }

  /** A node that says no more. */
  silence(node: string): void {
    this.#beating.delete(node)
  }

  async #work(): Promise<void> {
    for (const [name, address] of this.#beating) await this.#reportNode(name, address)
    const { items } = (await this.#admin.call('GET', '/api/v1/pods')).body as { items: readonly FoundPod[] }
    await Promise.all(
      items.filter(({ spec }) => this.#beating.has(spec.nodeName ?? '')).map((pod) => this.#runPod(pod)),
    )
  }

  async #reportNode(name: string, address: string): Promise<void> {
    const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
    const ready = { type: 'Ready', status: 'True', reason: 'HollowReady', lastHeartbeatTime: now }
    const addresses = [{ type: 'InternalIP', address }]
    const status = { capacity: quantities, allocatable: quantities, conditions: [ready], addresses }
    await this.#admin.call('PATCH', `/api/v1/nodes/${name}/status`, { status })
  }

  async #runPod({ metadata, spec, status }: FoundPod): Promise<void> {
    const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`
    if (metadata.deletionTimestamp !== undefined) {
      await this.#admin.call('DELETE', path, { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 })
      return
    }
    const phase = spec.restartPolicy === 'Never' ? 'Succeeded' : 'Running'
    if (status.phase === phase) return
    const ip = `10.244.99.${1 + Math.floor(Math.random() * 250)}`
    const lastTransitionTime = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
    const conditions = [{ type: 'Ready', status: phase === 'Running' ? 'True' : 'False', lastTransitionTime }]
    const next = { phase, podIP: ip, podIPs: [{ ip }], conditions }
    await this.#admin.call('PATCH', `${path}/status`, { status: next })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#beat.stop({ signal: AbortSignal.timeout(5_000) })
  }
}

/** Starts a server with controllers and scheduler, and Nodes whose pods run at once. The stack ends both. */
export async function startHollowCluster(
  stack: AsyncDisposableStack,
  nodes: readonly string[],
): Promise<ClientsServer> {
  const ports = [`--controller-manager-port=${await findFreePort()}`, `--scheduler-port=${await findFreePort()}`]
  const server = stack.use(await startServer('api,controllers,scheduler', ports))
  await stack.use(new HollowKubelet(server.admin, nodes)).start()
  return server
}
