import { NetfilterSocket, type NftSession, openNftSession, type Run, runProgram } from '../../host/index.ts'
import type { Component, Health } from '../../loop/component.ts'
import { describeError } from '../../model/errors.ts'
import type { IpFamily } from '../../model/ip.ts'
import { findNftProblem, hasTable, RulesError } from '../../node/rules/index.ts'

/** The mode of the proxy in one family, with what it writes by. */
export type ModeChoice =
  | { readonly name: 'iptables'; readonly why: string }
  | { readonly name: 'nftables'; readonly why: string; readonly session: NftSession }

export interface ModeQuestion {
  readonly wish: 'iptables' | 'nftables' | 'auto'
  readonly run: Run
  /** Whether our table stands in the kernel, which proves that it can be loaded. */
  readonly hasTable: (family: IpFamily) => boolean
  readonly openSession?: () => Promise<NftSession>
}

/**
 * Chooses the mode of each family: the one that is asked for, or with `auto` nftables where its library can be reached and the kernel
 * takes the table. The mode of a family is chosen once. One session serves both; as a component it closes that session after all that write
 * by it have stopped.
 */
export class ModeChooser implements Component {
  readonly name = 'proxy-mode'
  readonly #question: ModeQuestion
  #session: Promise<NftSession> | undefined
  readonly #choices = new Map<IpFamily, Promise<ModeChoice>>()

  constructor(question: ModeQuestion) {
    this.#question = question
  }

  /** Rejects with RulesError where nftables is asked for and cannot be used. */
  choose(family: IpFamily): Promise<ModeChoice> {
    const known = this.#choices.get(family) ?? this.#chooseNow(family)
    this.#choices.set(family, known)
    return known
  }

  async #chooseNow(family: IpFamily): Promise<ModeChoice> {
    const { wish } = this.#question
    if (wish === 'iptables') return { name: 'iptables', why: 'chosen by --proxy-mode' }
    return wish === 'auto' ? this.#chooseByAbility(family) : this.#chooseNftables()
  }

  async start(): Promise<void> {}

  /** Closes the session, which starts a program for each later transaction. */
  async stop(): Promise<void> {
    const session = await this.#session?.catch(() => undefined)
    await session?.close()
  }

  health(): Health {
    return { level: 'ok', message: '', sinceMs: 0 }
  }

  #open(): Promise<NftSession> {
    const { run, openSession = () => openNftSession({ run, start: runProgram }) } = this.#question
    this.#session ??= openSession()
    return this.#session
  }

  async #chooseByAbility(family: IpFamily): Promise<ModeChoice> {
    try {
      const session = await this.#open()
      const obstacle = await this.#findObstacle(family, session)
      if (obstacle === undefined) return { name: 'nftables', why: 'auto: the kernel and libnftables can', session }
      return { name: 'iptables', why: `auto: ${obstacle}` }
    } catch (error) {
      return { name: 'iptables', why: `auto: ${describeError(error)}` }
    }
  }

  async #findObstacle(family: IpFamily, { kind }: NftSession): Promise<string | undefined> {
    if (kind !== 'library') return 'libnftables cannot be reached from this process'
    const { hasTable, run } = this.#question
    return hasTable(family) ? undefined : findNftProblem(run, family)
  }

  async #chooseNftables(): Promise<ModeChoice> {
    try {
      const session = await this.#open()
      return { name: 'nftables', why: `chosen by --proxy-mode, written by ${writtenBy[session.kind]}`, session }
    } catch (cause) {
      throw new RulesError('not-found', `--proxy-mode nftables cannot be used: ${describeError(cause)}`, {
        remedy: 'install the package nftables, or start with --proxy-mode auto',
        cause,
      })
    }
  }
}

/** Makes the chooser of a process that writes by `run`; opens nothing before it is asked. */
export function createModeChooser(wish: ModeQuestion['wish'], run: Run): ModeChooser {
  return new ModeChooser({ wish, run, hasTable: createTableLookup() })
}

/** Tells whether our table of nftables stands in the kernel; false where that cannot be asked. */
function createTableLookup(): (family: IpFamily) => boolean {
  let socket: NetfilterSocket | undefined
  return (family) => {
    socket ??= NetfilterSocket.open()
    return socket !== undefined && hasTable(socket, { family, name: 'platnet' })
  }
}

const writtenBy: Readonly<Record<NftSession['kind'], string>> = {
  library: 'libnftables',
  interactive: 'a kept nft, as libnftables cannot be reached',
  program: 'a started nft for each change, as libnftables cannot be reached',
}
