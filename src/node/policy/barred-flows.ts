import type { FlowEnds, Run } from '../../host/index.ts'
import { TimeSlice } from '../../loop/time-slice.ts'
import { type Ip, type IpFamily, parseIp } from '../../model/ip.ts'
import type { MemberEntry } from '../../netfilter/member-sets.ts'
import { barredSeconds, fixedSets } from '../../netfilter/policy/names.ts'
import { type ElementSocket, writeElements } from '../rules/index.ts'
import type { FlowJudge } from './flow-judge.ts'

export interface BarredFlowsParts {
  readonly family: IpFamily
  readonly run: Run
  /** In the network namespace in which `run` starts programs; without it `ipset restore` writes everything. */
  readonly socket?: ElementSocket | undefined
  /** Reads a set of the kernel; none where there is no such set. */
  readonly membersOf: (set: string) => Promise<readonly MemberEntry[]>
}

interface Barred {
  readonly flow: FlowEnds
  /** Milliseconds since 1970; the kernel forgets it by then. */
  readonly untilMs: number
}

const timeoutMs = 60_000
/** ICMP and ICMPv6: an answer alone begins no connection in conntrack, so there is nothing to bar. */
const beginsByRequest: ReadonlySet<number> = new Set([1, 58])
/** Names that ipset prints for protocols with ports. */
const protocolNumbers: Readonly<Record<string, number>> = { tcp: 6, udp: 17, sctp: 132, udplite: 136 }

/**
 * The cut connections whose servers may begin none to their clients, in a set of the kernel and in memory. An element goes when the
 * connection is allowed again, and after a day. Those of an earlier process are learned from the kernel. The rules of the family stand
 * still while a method runs.
 */
export class BarredFlows {
  readonly #parts: BarredFlowsParts
  readonly #barred = new Map<string, Barred>()
  #areLearned = false

  constructor(parts: BarredFlowsParts) {
    this.#parts = parts
  }

  /** Bars these; one that is barred already begins its time anew. Throws ExecError, also where the set is full. */
  async bar(all: readonly FlowEnds[]): Promise<void> {
    const flows = all.filter(({ protocol }) => !beginsByRequest.has(protocol))
    await this.#restore([...new Set(flows.map((flow) => `add ${this.#set} ${elementOf(flow)}`))])
    for (const flow of flows) this.#remember(elementOf(flow), flow)
    this.#forgetOld()
  }

  /** Lets go of those that the rules allow now. Throws ExecError, and RulesError where the set cannot be read. */
  async release(createJudge: () => FlowJudge): Promise<void> {
    await this.#learn()
    if (this.#barred.size === 0) return
    const isAllowed = createJudge()
    await this.#letGo((flow) => isAllowed(flow))
  }

  /** Lets go of those whose server was one of these addresses: a pod that has left sends no more. Throws ExecError. */
  async releaseServers(addresses: ReadonlySet<Ip>): Promise<void> {
    await this.#letGo(({ replySource }) => addresses.has(replySource))
  }

  get #set(): string {
    return fixedSets(this.#parts.family).cut
  }

  async #letGo(mayGo: (flow: FlowEnds) => boolean): Promise<void> {
    const slice = new TimeSlice()
    const gone: string[] = []
    for (const [element, { flow }] of this.#barred) {
      if (mayGo(flow)) gone.push(element)
      if (slice.spent) await slice.pause()
    }
    await this.#restore(gone.map((element) => `del ${this.#set} ${element}`))
    for (const element of gone) this.#barred.delete(element)
  }

  /** Elements of protocols without ports are left to their time: ipset prints names for them that vary. */
  async #learn(): Promise<void> {
    if (this.#areLearned) return
    for (const { element } of await this.#parts.membersOf(this.#set)) {
      const flow = parseElement(element)
      if (flow !== undefined) this.#remember(elementOf(flow), flow)
    }
    this.#areLearned = true
  }

  #remember(element: string, flow: FlowEnds): void {
    this.#barred.delete(element)
    this.#barred.set(element, { flow, untilMs: Date.now() + 1000 * barredSeconds })
  }

  /** The oldest come first. */
  #forgetOld(): void {
    for (const [element, { untilMs }] of this.#barred) {
      if (untilMs > Date.now()) return
      this.#barred.delete(element)
    }
  }

  async #restore(lines: readonly string[]): Promise<void> {
    if (lines.length === 0 || writeElements(this.#parts.socket, lines)) return
    const input = lines.map((line) => `${line}\n`).join('')
    await this.#parts.run('ipset', ['restore', '-exist'], { input, timeoutMs })
  }
}

function elementOf({ protocol, source, replySource, replySourcePort }: FlowEnds): string {
  return `${replySource},${protocol}:${replySourcePort},${source}`
}

function parseElement(element: string): FlowEnds | undefined {
  const [, server = '', name = '', port = '', client = ''] = /^([^,]+),(\w+):(\d+),([^,]+)$/.exec(element) ?? []
  const [replySource, source] = [parseIp(server), parseIp(client)]
  const protocol = protocolNumbers[name]
  if (replySource === undefined || source === undefined || protocol === undefined) return undefined
  return { protocol, source, replySource, replySourcePort: Number(port) }
}
