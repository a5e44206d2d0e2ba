import { type NetfilterSocket, NftError, openNftSession, type Run, runProgram } from '../../host/index.ts'
import { Backoff } from '../../loop/backoff.ts'
import { BoundedFrequencyRunner } from '../../loop/bounded-frequency-runner.ts'
import type { Component, Health } from '../../loop/component.ts'
import { describeError } from '../../model/errors.ts'
import type { IpFamily } from '../../model/ip.ts'
import { ModeHandover } from '../../node/proxy/index.ts'
import { hasTable, removeTable } from '../../node/rules/index.ts'
import type { Logger } from '../../observe/index.ts'

export interface TableHandoverParts {
  readonly family: IpFamily
  readonly run: Run
  /** Tells without a program whether there is a table; where it cannot be opened nft is asked. */
  readonly socket: Pick<NetfilterSocket, 'ask'> | undefined
  readonly log: Logger
}

/** Removes the table that the mode nftables left, once the rules of iptables are complete. */
export class TableHandover implements Component {
  readonly name: string
  readonly #parts: TableHandoverParts
  readonly #runner: BoundedFrequencyRunner
  readonly #handover: ModeHandover
  #health: Health = { level: 'ok', message: '', sinceMs: Date.now() }

  constructor(parts: TableHandoverParts) {
    this.#parts = parts
    this.name = parts.family === 'IPv4' ? 'nft-handover' : 'nft-handover-ipv6'
    this.#runner = new BoundedFrequencyRunner(() => this.#remove(), {
      backoff: new Backoff({ baseMs: 1000, maxMs: 60_000 }),
      onError: (error) => this.#onFailure(error),
    })
    const { family, socket, log } = parts
    const hasOthers = async () => socket === undefined || hasTable(socket, { family, name: 'platnet' })
    this.#handover = new ModeHandover({ hasOthers, onDue: () => this.#runner.request(), log })
  }

  async start(): Promise<void> {}

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#handover.stop()
    await this.#runner.stop(scope)
  }

  health(): Health {
    return this.#health
  }

  /** The rules of iptables are complete but for these Services, whose rules the kernel refuses. */
  allow(unserved: readonly string[]): void {
    this.#handover.complete(unserved)
  }

  async #remove(): Promise<void> {
    const { family, run, socket, log } = this.#parts
    if (socket !== undefined && !hasTable(socket, { family, name: 'platnet' })) return
    const session = await openNftSession({ run, start: runProgram, kinds: ['program'] }).catch((thrown: unknown) => {
      // Nothing says that there is a table, and there is no nft that could have made one.
      if (socket === undefined && thrown instanceof NftError && thrown.code === 'unavailable') return undefined
      throw thrown
    })
    if (session === undefined) return
    if (!(await removeTable(session, family))) return
    this.#health = { level: 'ok', message: '', sinceMs: Date.now() }
    log.info('the table of the mode nftables was removed', { family })
  }

  #onFailure(error: unknown): void {
    const message = `the table of the mode nftables stays beside the rules of iptables: ${describeError(error)}`
    this.#health = { level: 'degraded', message, sinceMs: Date.now() }
    this.#parts.log.warn(message)
  }
}
