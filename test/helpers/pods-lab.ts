// For programs in namespaces of their own (runIsolated): one node whose pods really run, driven through its API.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type ApiClient, ApiError, ApiClient as Client, loadKubeconfig } from '../../src/client/index.ts'
import { addAddress, createBridge, type RunningProgram, runProgram } from '../../src/host/index.ts'
import type { ApiObject } from '../../src/model/api-object.ts'
import { ipOf } from './addresses.ts'
import { httpGet } from './http-get.ts'
import { checkoutLauncher } from './program.ts'
import { untilAsync } from './until.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test looks into any object
export type AnyObject = any

export const deadlineMs = 60_000
/** The built-in Corefile without the 5 s of answers after the agent's SIGTERM. */
export const quickCorefile = '/run/Corefile'
const corefile = `.:53 {
  errors
  ready
  kubernetes cluster.local in-addr.arpa ip6.arpa
  cache 30
}
`
/** A folder that containers see and tests write to. */
export const shownFolder = '/run/shown'
/** The folder whose own folders may be root filesystems. */
export const rootsFolder = '/run/roots'
/** The options of an agent whose pods run Node. */
export const podFlags = [
  '--run-pods',
  '--pod-host-folders',
  `${resolve(process.execPath, '../..')},${shownFolder}`,
  '--pod-root-filesystems',
  rootsFolder,
]
const podsResource = { group: '', version: 'v1', resource: 'pods' }

export interface PodsLabOptions {
  readonly nodeAddress?: string
  readonly podCidr?: string
  /** The data folders of server and agent. */
  readonly dataDir?: string
  /** The control socket, which the gate of the lab's network list uses too. */
  readonly controlSocket?: string
  /** A program and its arguments that start the agent's command, for example with fewer rights than root. */
  readonly agentPrefix?: readonly string[]
  /** More flags of the server. */
  readonly serverFlags?: readonly string[]
  /** The identity of the agent: the administrator, or its node. */
  readonly agentIdentity?: 'admin' | 'agent'
}

/** The resources that pods use on the node. Two equal counts show that nothing leaked. */
export interface Leftovers {
  readonly namespaces: readonly string[]
  readonly links: readonly string[]
  readonly addresses: readonly string[]
  readonly results: readonly string[]
  readonly chains: readonly string[]
  readonly folders: readonly string[]
  readonly volumes: readonly string[]
}

/** `platnet server` and `platnet agent` as two processes, so that each can be killed alone. */
export class PodsLab {
  #server: RunningProgram | undefined
  #agent: RunningProgram | undefined
  #client: ApiClient | undefined
  readonly nodeAddress: string
  readonly controlSocket: string
  readonly #podCidr: string
  readonly #dataDir: string
  readonly #agentPrefix: readonly string[]
  readonly #serverFlags: readonly string[]
  readonly #agentIdentity: string

  constructor(options: PodsLabOptions = {}) {
    const { nodeAddress = '192.0.2.1', podCidr = '10.244.0.0/24', dataDir = '/run/platnet' } = options
    this.nodeAddress = nodeAddress
    this.controlSocket = options.controlSocket ?? '/run/agent.sock'
    this.#podCidr = podCidr
    this.#dataDir = dataDir
    this.#agentPrefix = options.agentPrefix ?? []
    this.#serverFlags = options.serverFlags ?? []
    this.#agentIdentity = options.agentIdentity ?? 'admin'
  }

  get client(): ApiClient {
    if (this.#client === undefined) throw new Error('the server is not up')
    return this.#client
  }

  /** The node, and the server. */
  async build(): Promise<void> {
    await this.buildNode()
    const args = ['server', '--data-dir', this.#dataDir, '--log-level', 'warn', ...this.#serverFlags]
    this.#server = await runProgram(checkoutLauncher, args, { background: true, stdout: 2, stderr: 2 })
    await this.connect()
  }

  /** Creates the node's address and a pod network of Debian's plugins. */
  async buildNode(): Promise<void> {
    for (const folder of ['/run/net.d', shownFolder, rootsFolder]) mkdirSync(folder)
    mkdirSync(this.#dataDir, { recursive: true })
    writeFileSync('/run/net.d/10-pods.conflist', JSON.stringify(networkList(this.#podCidr, this.controlSocket)))
    writeFileSync(quickCorefile, corefile)
    await createBridge({ name: 'plt-uplink' })
    await addAddress({ name: 'plt-uplink' }, { ip: ipOf(this.nodeAddress), prefixLength: 24 })
  }

  /** Resolves when the API server that wrote its kubeconfig to the data folder answers. */
  async connect(): Promise<void> {
    await untilAsync('the API server is ready', () => this.#tryToConnect(), deadlineMs)
    await allowPods(this.client)
  }

  /** Resolves when its node is registered. `onLine` gets each line of its log. */
  async startAgent(flags: readonly string[] = [], onLine?: (line: string) => void): Promise<void> {
    const dataDir = this.#dataDir
    const places = [
      '--data-dir',
      dataDir,
      '--kubeconfig',
      `${dataDir}/${this.#agentIdentity}.kubeconfig`,
      '--cni-cache-dir',
      '/run/cni',
    ]
    const identity = ['--node-name', 'node-1', '--node-ip', this.nodeAddress, '--cni-conf-dir', '/run/net.d']
    const level = onLine === undefined ? 'warn' : 'warn,platform_kubelet::pods=debug,platform_network_policy=info'
    const own = [
      '--control-socket',
      this.controlSocket,
      '--corefile',
      quickCorefile,
      '--log-level',
      level,
      '--log-format',
      'json',
    ]
    const stdout = onLine === undefined ? 2 : 'pipe'
    const command = [
      ...this.#agentPrefix,
      checkoutLauncher,
      'agent',
      ...places,
      ...identity,
      ...own,
      ...podFlags,
      ...flags,
    ]
    this.#agent = await runProgram(command[0] ?? checkoutLauncher, command.slice(1), {
      background: true,
      stdout,
      stderr: 2,
    })
    if (onLine !== undefined) readLines(this.#agent, onLine)
    const node = { resource: { group: '', version: 'v1', resource: 'nodes' }, name: 'node-1' }
    await untilAsync('the node is registered', () => isThere(this.client.get(node)), deadlineMs)
  }

  get agentPid(): number {
    return this.#agent?.pid ?? 0
  }

  /** Sends SIGKILL; resolves when the process has ended. */
  async killAgent(): Promise<void> {
    this.#agent?.kill('SIGKILL')
    await this.#agent?.exited
  }

  async stopAgent(): Promise<void> {
    this.#agent?.kill('SIGTERM')
    await this.#agent?.exited
  }

  async create(resource: { group: string; resource: string }, object: AnyObject): Promise<AnyObject> {
    const namespace = object.metadata.namespace ?? 'default'
    const place = resource.resource === 'namespaces' ? {} : { namespace }
    return this.client.create({ resource: { ...resource, version: 'v1' }, ...place }, object as ApiObject)
  }

  /** Creates a pod in the default namespace, with one container unless `spec` has others. */
  async createPod(
    name: string,
    container: AnyObject,
    spec: AnyObject = {},
    metadata: AnyObject = {},
  ): Promise<AnyObject> {
    const object = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, ...metadata },
      spec: {
        nodeName: 'node-1',
        terminationGracePeriodSeconds: 1,
        containers: [{ name: 'main', ...container }],
        ...spec,
      },
    }
    return this.create(podsResource, object)
  }

  async pod(name: string, namespace = 'default'): Promise<AnyObject | undefined> {
    return orAbsent(this.client.get({ resource: podsResource, namespace, name }))
  }

  async pods(): Promise<AnyObject[]> {
    const list = (await this.client.getDocument('/api/v1/namespaces/default/pods')) as AnyObject
    return list.items
  }

  /** Returns type and reason of each Event of the pod. */
  async events(name: string): Promise<string[]> {
    const list = (await this.client.getDocument('/api/v1/namespaces/default/events')) as AnyObject
    const own = list.items.filter((event: AnyObject) => event.involvedObject.name === name)
    return own.map((event: AnyObject) => `${event.type} ${event.reason}`)
  }

  async deletePod(name: string): Promise<void> {
    await this.client.delete({ resource: podsResource, namespace: 'default', name })
  }

  async waitFor(name: string, what: string, condition: (pod: AnyObject) => boolean): Promise<AnyObject> {
    let last: AnyObject
    try {
      await untilAsync(
        `${name}: ${what}`,
        async () => {
          last = await this.pod(name)
          return last !== undefined && condition(last)
        },
        deadlineMs,
      )
    } catch (error) {
      throw new Error(`${name}: not ${what}: ${JSON.stringify(last?.status)}`, { cause: error })
    }
    return last
  }

  async waitReady(name: string): Promise<AnyObject> {
    return this.waitFor(name, 'ready', isReady)
  }

  async waitGone(name: string): Promise<void> {
    await untilAsync(`${name} is gone`, async () => (await this.pod(name)) === undefined, deadlineMs)
  }

  /** `platnet logs`, as an operator runs it. */
  async logs(name: string, ...flags: readonly string[]): Promise<string> {
    const args = ['logs', name, '--data-dir', this.#dataDir, ...flags]
    return (await runProgram(checkoutLauncher, args, { timeoutMs: deadlineMs })).stdout
  }

  /** `platnet status`, as an operator runs it. */
  async status(): Promise<string> {
    const args = ['status', '--control-socket', this.controlSocket]
    return (await runProgram(checkoutLauncher, args, { timeoutMs: deadlineMs })).stdout
  }

  /** Reads the agent's metrics with its own token. */
  async metrics(): Promise<string> {
    const authorization = `Bearer ${readFileSync(`${this.#dataDir}/agent.token`, 'utf8').trim()}`
    const options = { host: '127.0.0.1', port: 10_250, path: '/metrics', headers: { authorization } }
    return (await httpGet({ ...options, ca: '', rejectUnauthorized: false })).body
  }

  async leftovers(): Promise<Leftovers> {
    const { stdout: links } = await runProgram('ip', ['-o', 'link', 'show', 'type', 'veth'], { timeoutMs: 10_000 })
    const { stdout: rules } = await runProgram('iptables', ['-t', 'nat', '-S'], { timeoutMs: 10_000 })
    const list = (folder: string) => {
      try {
        return readdirSync(folder)
      } catch {
        return []
      }
    }
    return {
      namespaces: list('/run/netns'),
      links: links.split('\n').filter(Boolean),
      addresses: list('/run/ipam/pods').filter((name) => /^\d/.test(name)),
      results: list('/run/cni/results'),
      chains: rules.split('\n').filter((line) => /^-N CNI-[0-9a-f]|^-N CNI-(DN|SN)-/.test(line)),
      folders: list(`${this.#dataDir}/pods`),
      volumes: list('/run/platnet/volumes').flatMap((agent) => list(`/run/platnet/volumes/${agent}`)),
    }
  }

  /** Finds the processes with the folder of a pod in their command line. */
  processes(): string[] {
    const words = `${this.#dataDir}/pods/`
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && wordsOf(name).includes(words))
  }

  /** Resolves when nothing of pods is left, including processes (shims and their children). Objects can disappear before networks. */
  async waitClean(): Promise<void> {
    let last = {}
    try {
      const isClean = async () => {
        last = { ...(await this.leftovers()), processes: this.processes() }
        return Object.values(last).flat().length === 0
      }
      await untilAsync('pods have left nothing', isClean, deadlineMs)
    } catch (error) {
      throw new Error(`pods have left something: ${JSON.stringify(last)}`, { cause: error })
    }
  }

  async #tryToConnect(): Promise<boolean> {
    try {
      this.#client ??= new Client(await loadKubeconfig(`${this.#dataDir}/admin.kubeconfig`))
      await this.#client.getDocument('/api/v1/namespaces/default')
      return true
    } catch {
      this.#client = undefined
      return false
    }
  }

  async stop(): Promise<void> {
    this.#agent?.kill('SIGKILL')
    this.#server?.kill('SIGKILL')
    await Promise.all([this.#agent?.exited, this.#server?.exited])
  }
}

/** Labels a namespace so that nodes run its pods, also those with the host's network and ports. */
export async function allowPods(client: ApiClient, name = 'default'): Promise<void> {
  const labels = { 'pods.platform.internal/run': 'true', 'pods.platform.internal/host-network': 'true' }
  const namespaces = { group: '', version: 'v1', resource: 'namespaces' }
  await client.patch({ resource: namespaces, name }, { kind: 'merge', patch: { metadata: { labels } } })
}

export function isReady(pod: AnyObject): boolean {
  return pod.status?.conditions?.some((each: AnyObject) => each.type === 'Ready' && each.status === 'True') === true
}

function networkList(subnet: string, socket: string) {
  const ipam = { type: 'host-local', dataDir: '/run/ipam', ranges: [[{ subnet }]], routes: [{ dst: '0.0.0.0/0' }] }
  const bridge = { type: 'bridge', bridge: 'plt-pods', isGateway: true, ipMasq: true, hairpinMode: true, ipam }
  const portmap = { type: 'portmap', capabilities: { portMappings: true }, snat: true }
  const gate = { type: 'platnet-gate', socket }
  return { cniVersion: '1.0.0', name: 'pods', disableCheck: true, plugins: [bridge, portmap, gate] }
}

/** Returns an empty list for a process that has ended. */
function wordsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

function readLines(program: RunningProgram, onLine: (line: string) => void): void {
  let rest = ''
  program.stdout?.on('data', (chunk) => {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(line)
  })
}

async function orAbsent(request: Promise<ApiObject>): Promise<AnyObject | undefined> {
  try {
    return await request
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not-found') return undefined
    throw error
  }
}

async function isThere(request: Promise<ApiObject>): Promise<boolean> {
  return (await orAbsent(request)) !== undefined
}
