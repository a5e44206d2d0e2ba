import assert from 'node:assert/strict'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { type RunningProgram, runProgram } from '../../../../src/host/index.ts'
import type { Protocol } from '../../../../src/model/service.ts'

/** One try to reach an address from a namespace. */
export interface Try {
  /** The name of the namespace that sends. */
  readonly from: string
  /** The address to send from; the kernel chooses where it is left out. */
  readonly source?: string
  readonly destination: string
  /** `other` sends an ICMP echo request. */
  readonly protocol: Protocol | 'other'
  readonly port: number
  /** An answer is waited for; a try that is not expected to be answered costs no patience. */
  readonly isWanted: boolean
}

/**
 * What became of a try: `x/b 10.244.0.1` (who received it and which source it saw), `one-way …` where the answer did not come back, `echo`,
 * `refused`, or `-` for silence.
 */
export type Outcome = string

/** How long a try that should meet silence is listened for; both ends are in one process, so that an arrival is seen at once. */
const quietMs = 40
const patienceMs = 8_000
const setnsNumbers: Readonly<Record<string, number>> = { x64: 308, arm64: 268 }

/** A process that sends and receives in all namespaces of a test (prober.pl). One question at a time. */
export class Prober {
  readonly #program: RunningProgram
  readonly #lines: AsyncIterator<string>
  readonly #listening = new Set<string>()
  #sourcePort = 10_000
  #turn: Promise<unknown> = Promise.resolve()

  private constructor(program: RunningProgram) {
    this.#program = program
    this.#lines = createInterface({ input: program.stdout ?? assert.fail() })[Symbol.asyncIterator]()
  }

  /** @param namespaces names under /run/netns by the names that answers tell */
  static async start(namespaces: ReadonlyMap<string, string>): Promise<Prober> {
    const number = setnsNumbers[process.arch] ?? assert.fail(`no number of setns for ${process.arch}`)
    const program = await runProgram('perl', [path.join(import.meta.dirname, 'prober.pl'), String(number)], {
      background: true,
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const prober = new Prober(program)
    for (const [name, netns] of namespaces) prober.enter(name, netns)
    return prober
  }

  /** Also for a namespace that was made again under another name. */
  enter(name: string, netns: string): void {
    this.#write(`enter ${name} ${netns}`)
  }

  /** Answers there from now on. */
  listen(name: string, protocol: Protocol | 'other', address: string, port: number): void {
    const order = `listen ${name} ${protocol} ${address} ${port}`
    if (protocol === 'other' || this.#listening.has(order)) return
    this.#listening.add(order)
    this.#write(order)
  }

  /** Makes all tries at once; outcomes stand in their order. A try is repeated while its answer is waited for, but not with `once`. */
  probe(tries: readonly Try[], once?: { readonly patienceMs: number }): Promise<readonly Outcome[]> {
    return this.#exclusive(async () => {
      for (const { from, protocol, source, destination, port, isWanted } of tries)
        this.#write(
          `probe ${from} ${protocol} ${source ?? '-'} ${this.#nextPort()} ${destination} ${port} ${isWanted ? 1 : 0}`,
        )
      this.#write(`go ${quietMs} ${once?.patienceMs ?? patienceMs} ${once === undefined ? 1 : 0}`)
      const outcomes: Outcome[] = []
      while (outcomes.length < tries.length) {
        const line = await this.#read()
        if (!line.startsWith('late ')) outcomes.push(line)
        else assert.ok(once !== undefined, `a try arrived after its turn: ${line}`)
      }
      return outcomes
    })
  }

  /** Opens a flow that stays, and returns the order to ask in it: it answers with what came back within the time. */
  openFlow({ from, source, destination, protocol, port }: Omit<Try, 'isWanted'>): Flow {
    const sourcePort = this.#nextPort()
    const id = `f${sourcePort}`
    this.#write(`open ${id} ${from} ${protocol} ${source ?? '-'} ${sourcePort} ${destination} ${port}`)
    return {
      ask: (withinMs) =>
        this.#exclusive(() => {
          this.#write(`ask ${id} ${withinMs}`)
          return this.#read()
        }),
      close: () => this.#write(`close ${id}`),
    }
  }

  /** Counts the datagrams and the connections that arrive there from now on. */
  catch(name: string, address: string, port: number): void {
    this.#write(`catch ${name} ${address} ${port}`)
  }

  /** What has arrived since the last call: the number of datagrams by their text, of connections by `tcp:` and their source. */
  caught(): Promise<ReadonlyMap<string, number>> {
    return this.#exclusive(async () => {
      this.#write('caught')
      const words = (await this.#read()).split(' ')
      const pairs = Array.from({ length: Math.floor(words.length / 2) }, (_, index) => index * 2)
      return new Map(pairs.map((at) => [words[at] ?? '', Number(words[at + 1])]))
    })
  }

  /** Every TCP connection that was accepted there sends one more line by itself. */
  push(name: string): void {
    this.#write(`push ${name}`)
  }

  async stop(): Promise<void> {
    this.#program.kill('SIGKILL')
    await this.#program.exited
  }

  /** No port comes again while conntrack may remember it. */
  #nextPort(): number {
    this.#sourcePort = this.#sourcePort >= 60_000 ? 10_000 : this.#sourcePort + 1
    return this.#sourcePort
  }

  #exclusive<T>(body: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(body)
    this.#turn = result.catch(() => undefined)
    return result
  }

  #write(order: string): void {
    this.#program.stdin?.write(`${order}\n`)
  }

  async #read(): Promise<string> {
    const { value, done } = await this.#lines.next()
    if (done) assert.fail('the program that probes has ended')
    return value
  }
}

export interface Flow {
  ask(withinMs: number): Promise<Outcome>
  close(): void
}
