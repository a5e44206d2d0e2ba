import path from 'node:path'
import { createNetns, deleteNetns, type RunningProgram, runProgram } from '../../src/host/index.ts'
import { Lines } from './lines.ts'

/** The API server's address as the nodes see it, and each node's own. */
export const serverAddress = '198.51.100.1'
export const nodeAddress = '198.51.100.2'
export const podNetwork = '10.128.0.0/9'
const clientAddress = '10.255.255.1'

/** A node in a namespace of its own, where every address of the pod network answers on port 8080. */
export class NodeLab {
  readonly netns = 'plt-bench'
  #probe: RunningProgram | undefined
  #lines: Lines | undefined

  async create(): Promise<void> {
    await createNetns(this.netns)
    await linkNode(this.netns)
    await ip('-n', this.netns, 'route', 'add', 'local', podNetwork, 'dev', 'lo')
    await this.#startProbe()
  }

  async #startProbe(): Promise<void> {
    const program = path.join(import.meta.dirname, 'connect.pl')
    const probe = await runProgram('perl', [program, clientAddress], {
      netns: this.netns,
      background: true,
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'inherit',
    })
    this.#probe = probe
    this.#lines = new Lines(probe)
    await this.#lines.next()
  }

  start(program: string, args: readonly string[], stderr: 'inherit' | 'ignore' = 'inherit'): Promise<RunningProgram> {
    return runProgram(program, args, { netns: this.netns, background: true, stdout: 'pipe', stderr })
  }

  /** Microseconds of a connect() to each of the Services, one after the other; infinitely many where it was not answered in time. */
  async timeConnects(addresses: readonly string[]): Promise<readonly number[]> {
    const answers = await this.#ask(`time 80 ${addresses.join(' ')}`)
    return answers.split(' ').map((answer) => (answer === 'failed' ? Number.POSITIVE_INFINITY : Number(answer)))
  }

  /** Ends when this endpoint has answered for the Service. */
  async untilReached(address: string, endpoint: string): Promise<void> {
    await this.#ask(`until ${address} 80 ${endpoint}`)
  }

  /** Whether this endpoint answers for the Service within some seconds. */
  async isReached(address: string, endpoint: string, seconds: number): Promise<boolean> {
    return (await this.#ask(`until ${address} 80 ${endpoint} ${seconds}`)) === 'seen'
  }

  /** Milliseconds until this endpoint answered for the Service for the last time. Some endpoint has to answer. */
  async timeUntilGone(address: string, endpoint: string): Promise<number> {
    return Number(await this.#ask(`gone ${address} 80 ${endpoint}`))
  }

  async #ask(order: string): Promise<string> {
    if (!this.#lines) throw new Error('the lab is not created')
    this.#probe?.stdin?.write(`${order}\n`)
    return this.#lines.next()
  }

  /** Rejects the requests that wait for an answer. */
  stopProbe(): void {
    this.#probe?.kill('SIGKILL')
  }

  async remove(): Promise<void> {
    this.stopProbe()
    await this.#probe?.exited
    await deleteNetns(this.netns)
    await runProgram('ip', ['link', 'delete', 'plt-b0'], { timeoutMs: 10_000 }).catch(() => undefined)
  }
}

/** Links the namespace of a node with the API server by `plt-b0`. */
export async function linkNode(netns: string): Promise<void> {
  await ip('link', 'add', 'plt-b0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', netns)
  await ip('link', 'set', 'plt-b0', 'up')
  await ip('route', 'add', nodeAddress, 'dev', 'plt-b0')
  await ip('-n', netns, 'addr', 'add', `${nodeAddress}/24`, 'dev', 'eth0')
  await ip('-n', netns, 'link', 'set', 'eth0', 'up')
  await ip('-n', netns, 'route', 'add', 'default', 'via', serverAddress)
}

export async function ip(...args: string[]): Promise<void> {
  await runProgram('ip', args, { timeoutMs: 10_000 })
}
