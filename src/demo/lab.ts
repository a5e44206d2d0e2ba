import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import {
  addAddress,
  addRoute,
  allowHairpin,
  attachToBridge,
  createBridge,
  createNetns,
  createVethPair,
  type Link,
  type LinkAddress,
  type RunningProgram,
  runProgram,
} from '../host/index.ts'
import { PlatnetError } from '../model/errors.ts'
import { type Ip, parseIp } from '../model/ip.ts'
import { type LoadReport, loadReportSchema } from './load-report.ts'

class LabError extends PlatnetError<'program-failed'> {}

/** A namespace with a web server in it. */
export interface Pod {
  readonly name: string
  readonly address: Ip
  readonly port: number
  /** SIGTERM: resolves when the server has drained and is gone. */
  stop(): Promise<void>
  /** SIGKILL: resolves when the server is gone, its connections cut. */
  kill(): Promise<void>
}

/** The parameters of the load generator; defaults: half keep-alive, no limit of requests. */
export interface LoadRequest {
  /** An address or a name. */
  readonly host: string
  /** Where the name is asked for, once, before the load; without it the system looks it up for each connection. */
  readonly nameServer?: string
  readonly port: number
  readonly rate: number
  readonly maxSeconds: number
  readonly maxRequests?: number
  readonly keepAliveShare?: number
  readonly sources?: readonly Ip[]
  /** After which a request counts as failed; 5 s where it is not given. */
  readonly timeoutMs?: number
}

export interface RunningLoad {
  /** Ends the load if it still runs, and tells what it saw. */
  finish(): Promise<LoadReport>
  /** Waits for the limit that was asked for. */
  report(): Promise<LoadReport>
}

const bridge: Link = { name: 'plt0' }
const client: Link = { name: 'eth0', netns: 'plt-client' }
const uplink: Link = { name: 'plt-uplink' }
const podPort = 8080

export const nodeAddress = addressOf('192.0.2.1')
const clientAddress = addressOf('192.0.2.2')
const podGateway = addressOf('10.244.0.1')

/** Further addresses of the client, for what depends on the source. */
export const clientSources: readonly Ip[] = Array.from({ length: 16 }, (_, index) => addressOf(`192.0.2.${16 + index}`))

/**
 * A small cluster of one node, made in the namespace this process runs in, which must be empty and its own: pods behind the
 * bridge plt0 (10.244.0.0/24) and a client outside the cluster (192.0.2.0/24). Nothing leads out of it, and it goes with its namespace.
 */
export class Lab {
  readonly #programs: RunningProgram[] = []
  #podCount = 0

  /** Creates links, addresses and routes. The agent enables forwarding. */
  async build(): Promise<void> {
    await createNetns('plt-client')
    await createVethPair(uplink, client)
    await addAddress(uplink, { ip: nodeAddress, prefixLength: 24 })
    for (const ip of [clientAddress, ...clientSources]) await addAddress(client, { ip, prefixLength: 24 })
    await addRoute({ destination: 'default', via: nodeAddress, netns: 'plt-client' })
    // Like any node's: a Service address has no route of its own, and only a packet that has one reaches the filter's REJECT.
    await addRoute({ destination: 'default', via: clientAddress })
    // That route leads back to the client. Redirects saying so would use up the few ICMP messages a second that one host gets.
    const redirects = ['all', uplink.name].map((link) => `net.ipv4.conf.${link}.send_redirects=0`)
    await runProgram('sysctl', ['-qw', ...redirects], { timeoutMs: 5000 })
    const manyPorts = ['-qw', 'net.ipv4.ip_local_port_range=1024 65535']
    await runProgram('sysctl', manyPorts, { netns: 'plt-client', timeoutMs: 5000 })
  }

  /** A pod that no agent knows of, for tests without one. Resolves once its server listens. */
  async startPod(): Promise<Pod> {
    if (this.#podCount === 0) await this.#buildPodNetwork()
    this.#podCount += 1
    const name = `web-${this.#podCount}`
    const address = addressOf(`10.244.0.${9 + this.#podCount}`)
    await this.#connectPod(`plt-pod-${this.#podCount}`, `plt-veth-${this.#podCount}`, { ip: address, prefixLength: 24 })
    const args = [programPath('web-server'), '--name', name, '--port', String(podPort)]
    const server = await runProgram(process.execPath, args, {
      netns: `plt-pod-${this.#podCount}`,
      background: true,
      stdout: 'pipe',
      stderr: 'inherit',
    })
    this.#programs.push(server)
    await nextLine(linesOf(server, `the web server of ${name}`))
    const end = async (signal: NodeJS.Signals): Promise<void> => {
      server.kill(signal)
      await server.exited
    }
    return { name, address, port: podPort, stop: () => end('SIGTERM'), kill: () => end('SIGKILL') }
  }

  /** Starts the load generator in the client's namespace, or as `inside` says: a command that runs another one. Resolves once it sends. */
  async startLoad(request: LoadRequest, inside: readonly string[] = insideNetns('plt-client')): Promise<RunningLoad> {
    const [file = '', ...args] = [...inside, process.execPath, programPath('load'), ...loadArguments(request)]
    const generator = await runProgram(file, args, { background: true, stdout: 'pipe', stderr: 'inherit' })
    this.#programs.push(generator)
    const lines = linesOf(generator, 'the load generator')
    await nextLine(lines)
    const line = nextLine(lines)
    // The caller that awaits the report sees the failure; an unhandled rejection before that must not end the process.
    line.catch(() => {})
    const report = async (): Promise<LoadReport> => loadReportSchema.parse(JSON.parse(await line))
    return {
      report,
      finish: () => {
        generator.kill('SIGTERM')
        return report()
      },
    }
  }

  /**
   * Ends the tracking of all connections to an address, for when pods behind it were killed: the kernel remembers a refused
   * connection for 10 s and would send the next one from the same port to the same dead pod.
   */
  async forgetConnections(host: Ip): Promise<void> {
    await runProgram('conntrack', ['-D', '-p', 'tcp', '--orig-dst', host], { timeoutMs: 10_000 })
  }

  /** Ends every program started here; the links stay. */
  async stop(): Promise<void> {
    for (const program of this.#programs) program.kill('SIGKILL')
    await Promise.all(this.#programs.map((program) => program.exited))
  }

  async #buildPodNetwork(): Promise<void> {
    await createBridge(bridge)
    await addAddress(bridge, { ip: podGateway, prefixLength: 24 })
  }

  async #connectPod(netns: string, port: string, address: LinkAddress): Promise<void> {
    const eth0: Link = { name: 'eth0', netns }
    await createNetns(netns)
    await createVethPair({ name: port }, eth0)
    await attachToBridge({ name: port }, bridge.name)
    await allowHairpin({ name: port })
    await addAddress(eth0, address)
    await addRoute({ destination: 'default', via: podGateway, netns })
  }
}

/** The command that runs another one in a namespace. */
export function insideNetns(netns: string): readonly string[] {
  return ['ip', 'netns', 'exec', netns]
}

function loadArguments(request: LoadRequest): string[] {
  const options: Record<string, string | number | undefined> = {
    host: request.host,
    'name-server': request.nameServer,
    port: request.port,
    rate: request.rate,
    seconds: request.maxSeconds,
    requests: request.maxRequests,
    'keep-alive-share': request.keepAliveShare,
    sources: request.sources?.join(','),
    'timeout-ms': request.timeoutMs,
  }
  return Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, String(value)]))
}

function programPath(name: 'web-server' | 'load'): string {
  return resolve(import.meta.dirname, `${name}.program.ts`)
}

/** The lines a program says; throws LabError where it ends instead of saying the next one. */
async function* linesOf(program: RunningProgram, what: string): AsyncGenerator<string, never> {
  if (program.stdout !== null) yield* createInterface({ input: program.stdout })
  const { exitCode, signal } = await program.exited
  throw new LabError('program-failed', `${what} ended with ${signal ?? exitCode} before it said what it should`)
}

async function nextLine(lines: AsyncGenerator<string, never>): Promise<string> {
  return (await lines.next()).value
}

function addressOf(text: string): Ip {
  const ip = parseIp(text)
  if (ip === undefined) throw new TypeError(`${text} is not an IP address`)
  return ip
}
