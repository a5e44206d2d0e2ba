import { NetfilterSocket, type RunningProgram, runProgram } from '../../../../src/host/index.ts'
import { setSpecs } from '../../../../src/netfilter/nft/set-specs.ts'
import type { SetSpec } from '../../../../src/netfilter/nft/types.ts'
import { listElements } from '../../../../src/node/rules/nft-list.ts'
import { AdminConnection } from '../../../helpers/admin-connection.ts'
import { findFreePort } from '../../../helpers/free-port.ts'
import { httpGet } from '../../../helpers/http-get.ts'
import { PlatnetServer } from '../../../helpers/platnet-server.ts'
import { checkoutLauncher } from '../../../helpers/program.ts'
import { untilAsync } from '../../../helpers/until.ts'

export const nodeIp = '192.0.2.1'
export const timeoutSeconds = 600

const dataDir = '/run/server'
export const controlSocket = '/run/agent.sock'
const services = '/api/v1/namespaces/default/services'
const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
const table = { family: 'IPv4', name: 'platnet' } as const

interface Port {
  readonly name: string
  readonly protocol: 'TCP' | 'UDP' | 'SCTP'
  readonly port: number
  readonly targetPort: number
}

/** An API server and a node in this namespace: an agent, in the mode nftables unless asked otherwise, as a process of its own, and what the kernel holds. */
export class NftablesNode {
  readonly #connection: AdminConnection
  readonly #socket: NetfilterSocket
  /** The last revision of each. */
  readonly #written = { services: 0, endpointslices: 0 }
  #agent: RunningProgram | undefined

  static async start(): Promise<NftablesNode> {
    const server = new PlatnetServer(dataDir, await findFreePort(), {}, ['--components=api', '--dialect=kubernetes'])
    const connection = new AdminConnection(await server.start(), 16)
    const socket = NetfilterSocket.open()
    if (socket === undefined) throw new Error('this machine gives no socket')
    const node = new NftablesNode(connection, socket)
    await node.#send('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } }, 201)
    return node
  }

  private constructor(connection: AdminConnection, socket: NetfilterSocket) {
    this.#connection = connection
    this.#socket = socket
  }

  async createService(name: string, clusterIP: string, ports: readonly Port[], spec: object = {}): Promise<void> {
    const body = { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { clusterIP, ports, ...spec } }
    await this.#send('POST', services, body, 201)
  }

  async createSlice(name: string, ports: readonly Port[], addresses: readonly string[]): Promise<void> {
    await this.#send('POST', slices, sliceOf(name, ports, addresses), 201)
  }

  async setEndpoints(name: string, ports: readonly Port[], addresses: readonly string[]): Promise<void> {
    await this.#send('PUT', `${slices}/${name}`, sliceOf(name, ports, addresses), 200)
  }

  async deleteService(name: string): Promise<void> {
    await this.#send('DELETE', `${services}/${name}`, {}, 200)
    await this.#send('DELETE', `${slices}/${name}`, {}, 200)
  }

  async setAffinity(name: string, sessionAffinity: 'ClientIP' | 'None'): Promise<void> {
    await this.#send('PATCH', `${services}/${name}`, { spec: { sessionAffinity } }, 200)
  }

  async #send(method: string, where: string, body: object, expected: number): Promise<void> {
    const reply = await this.#connection.call(method, where, body)
    if (reply.code !== expected)
      throw new Error(`${method} ${where} was answered with ${reply.code}: ${reply.body.message}`)
    const resource = where.startsWith(slices) ? 'endpointslices' : 'services'
    const version = Number(reply.body.metadata?.resourceVersion)
    if (where.includes('/namespaces/') && !Number.isNaN(version))
      this.#written[resource] = Math.max(this.#written[resource], version)
  }

  /** Ends when all that the agent writes for a cluster that rests is written. */
  async startAgent(mode = 'nftables'): Promise<void> {
    const flags = ['--node-name=n1', `--node-ip=${nodeIp}`, '--cluster-cidr=10.244.0.0/16', '--components=proxy']
    const files = [
      `--kubeconfig=${dataDir}/admin.kubeconfig`,
      '--data-dir=/run/agent',
      `--control-socket=${controlSocket}`,
    ]
    this.#agent = await runProgram(
      checkoutLauncher,
      ['agent', `--proxy-mode=${mode}`, ...flags, ...files, '--log-level=error'],
      { background: true, stderr: 'inherit' },
    )
    await this.untilApplied()
    if (mode === 'nftables')
      await untilAsync('the rules in iptables are written, too', () => this.#hasForwardRules(), 60_000)
  }

  /** They come after the table is complete, and so after everything counts as applied. */
  async #hasForwardRules(): Promise<boolean> {
    const { body } = await httpGet({ socketPath: controlSocket, path: '/status' })
    const { components } = JSON.parse(body)
    return ['forward-rules', 'forward-rules-ipv6'].every((name) => components[name].level === 'ok')
  }

  get agentPid(): number {
    return this.#agent?.pid ?? Number.NaN
  }

  async killAgent(): Promise<void> {
    this.#agent?.kill('SIGKILL')
    await this.#agent?.exited
  }

  /** Ends when the kernel holds what was written to the API server. */
  async untilApplied(): Promise<void> {
    for (const resource of ['services', 'endpointslices'] as const) {
      const resourceVersion = String(this.#written[resource])
      const query = new URLSearchParams({ resource, resourceVersion, timeoutMs: '1000' })
      const isApplied = () =>
        httpGet({ socketPath: controlSocket, path: `/applied?${query}` }).then(
          ({ status }) => status === 200,
          () => false,
        )
      await untilAsync(`the agent has applied ${resource}`, isApplied, 60_000)
    }
  }

  /** Every element and rule of the table as sorted lines; empty where there is no table. */
  async snapshot(): Promise<string> {
    const lines: string[] = []
    for (const spec of setSpecs('IPv4', [timeoutSeconds]))
      await listElements(this.#socket, table, spec, ({ set, key, data }) => lines.push(`${set} ${key} ${data}`))
    const listed = await runProgram('nft', ['-s', '-t', 'list', 'table', 'ip', 'platnet'], { timeoutMs: 10_000 }).catch(
      () => ({ stdout: '' }),
    )
    return lines.sort().join('\n') + listed.stdout
  }

  /** The endpoints of a destination, `10.96.0.1 . tcp . 80`, sorted. */
  async endpointsOf(destination: string): Promise<readonly string[]> {
    const spec = setSpecs('IPv4', []).find(({ name }) => name === 'endpoints') as SetSpec
    const found: string[] = []
    await listElements(this.#socket, table, spec, ({ key, data }) => {
      if (key.startsWith(`${destination} . `)) found.push(data)
    })
    return found.sort()
  }
}

function sliceOf(name: string, ports: readonly Port[], addresses: readonly string[]): object {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    ports: ports.map(({ name: portName, protocol, targetPort }) => ({ name: portName, protocol, port: targetPort })),
    endpoints: addresses.map((address) => ({ addresses: [address] })),
  }
}

export function tcp(port: number, targetPort: number): Port {
  return { name: 'tcp', protocol: 'TCP', port, targetPort }
}
