import path from 'node:path'
import { createNetns, deleteNetns, type RunningProgram, runProgram } from '../../src/host/index.ts'
import { Lines } from '../proxy/lines.ts'
import { ip, linkNode } from '../proxy/node-lab.ts'

const pods = 'plt-pods'
const remote = 'plt-remote'

/**
 * A node in a namespace of its own that forwards between two others: one has every address of 10.244.0.0/24, the pods of this node, and one
 * every address of 10.245.0.0/16, the pods of other nodes.
 */
export class PolicyLab {
  readonly netns = 'plt-bench'
  #probe: RunningProgram | undefined
  #lines: Lines | undefined

  async create(): Promise<void> {
    for (const name of [this.netns, pods, remote]) await createNetns(name)
    await linkNode(this.netns)
    await this.#connect(pods, '10.244.0.0/24', '198.18.0')
    await this.#connect(remote, '10.245.0.0/16', '198.18.1')
    await runProgram('sysctl', ['-qw', 'net.ipv4.ip_forward=1'], { netns: this.netns, timeoutMs: 5000 })
    await this.#startProbe()
  }

  /** All addresses of the network answer in the namespace, which hangs on a link of its own to the node. */
  async #connect(netns: string, network: string, link: string): Promise<void> {
    await ip('-n', this.netns, 'link', 'add', netns, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', netns)
    await ip('-n', this.netns, 'addr', 'add', `${link}.1/30`, 'dev', netns)
    await ip('-n', this.netns, 'link', 'set', netns, 'up')
    await ip('-n', netns, 'addr', 'add', `${link}.2/30`, 'dev', 'eth0')
    await ip('-n', netns, 'link', 'set', 'eth0', 'up')
    await ip('-n', netns, 'route', 'add', 'default', 'via', `${link}.1`)
    await ip('-n', netns, 'route', 'add', 'local', network, 'dev', 'lo')
    await ip('-n', this.netns, 'route', 'add', network, 'via', `${link}.2`)
  }

  async #startProbe(): Promise<void> {
    const program = path.join(import.meta.dirname, 'probe.pl')
    const streams = { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' } as const
    this.#probe = await runProgram('perl', [program, pods, remote], { background: true, ...streams })
    this.#lines = new Lines(this.#probe)
    await this.#lines.next()
  }

  start(program: string, args: readonly string[]): Promise<RunningProgram> {
    return runProgram(program, args, { netns: this.netns, background: true, stdout: 'pipe', stderr: 'inherit' })
  }

  /** Milliseconds from now until packets from the source reach each destination, or none of them, for good. */
  async timeUntil(fate: 'allowed' | 'denied', source: string, destinations: readonly string[]): Promise<number> {
    const since = process.hrtime.bigint()
    return Number(await this.#ask(`${fate} ${since} ${source} ${destinations.join(' ')}`))
  }

  /** Microseconds of a connect() from each source; infinitely many where it was not answered in time. */
  async timeConnects(destination: string, sources: readonly string[]): Promise<readonly number[]> {
    const answers = await this.#ask(`time ${destination} ${sources.join(' ')}`)
    return answers.split(' ').map((answer) => (answer === 'failed' ? Number.POSITIVE_INFINITY : Number(answer)))
  }

  async #ask(order: string): Promise<string> {
    if (!this.#lines) throw new Error('the lab is not created')
    this.#probe?.stdin?.write(`${order}\n`)
    return this.#lines.next()
  }

  async remove(): Promise<void> {
    this.#probe?.kill('SIGKILL')
    await this.#probe?.exited
    for (const name of [this.netns, pods, remote]) await deleteNetns(name)
    await ip('link', 'delete', 'plt-b0').catch(() => undefined)
  }
}
