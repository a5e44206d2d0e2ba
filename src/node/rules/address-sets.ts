import { setTimeout as sleep } from 'node:timers/promises'
import { ExecError, type Run } from '../../host/index.ts'
import type { IpFamily } from '../../model/ip.ts'
import { type AddressSets, parseSets, planSets } from '../../netfilter/sets.ts'
import { explainRestoreFailure, explainSaveFailure } from './errors.ts'

const timeoutMs = 30_000
/** nf_tables frees a removed rule, and with it the set, some milliseconds after the commit that `Iptables.restore` waits for. */
const inUseDelayMs = 50
const inUseAttempts = 40

/** The ipsets that one family's rules name: made before the rules that name them, removed after. Sets of others stay. */
export class AddressSetWriter {
  readonly #family: IpFamily
  readonly #run: Run
  /** Undefined until the kernel was asked. */
  #held: AddressSets | undefined

  constructor(family: IpFamily, run: Run) {
    this.#family = family
    this.#run = run
  }

  /** Makes what is missing, and says whether anything was; what is no longer wanted stays until `removeOthers`. Throws RulesError. */
  async ensure(wanted: AddressSets): Promise<boolean> {
    if (wanted.size === 0 || wanted === this.#held) return false
    this.#held ??= await this.#read()
    const { before } = planSets(wanted, this.#held)
    await this.#restore(before)
    this.#held = this.#held.keys().every((name) => wanted.has(name)) ? wanted : new Map([...this.#held, ...wanted])
    return before !== ''
  }

  /** Reads the kernel before it makes what is missing: others may have removed sets that no rule names. */
  async ensureAgain(wanted: AddressSets): Promise<boolean> {
    this.#held = undefined
    return this.ensure(wanted)
  }

  /** Removes what no rule names any more. Where no set was ever wanted, leftovers of an earlier form stay. Throws RulesError. */
  async removeOthers(wanted: AddressSets): Promise<void> {
    if (this.#held === undefined || this.#held === wanted) return
    for (let attempt = 1; this.#held !== wanted; attempt++) {
      this.#held ??= await this.#read()
      try {
        await this.#restore(planSets(wanted, this.#held).after)
        this.#held = wanted
      } catch (thrown) {
        if (attempt === inUseAttempts || !isInUse(thrown)) throw thrown
        await sleep(inUseDelayMs)
      }
    }
  }

  async #read(): Promise<AddressSets> {
    try {
      const { stdout } = await this.#run('ipset', ['save', '-terse'], { timeoutMs })
      return new Map([...parseSets(stdout)].filter(([, set]) => set.family === this.#family))
    } catch (thrown) {
      throw explainSaveFailure(thrown)
    }
  }

  async #restore(text: string): Promise<void> {
    if (text === '') return
    try {
      await this.#run('ipset', ['restore', '-exist'], { timeoutMs, input: text })
    } catch (thrown) {
      this.#held = undefined
      throw explainRestoreFailure(thrown, text)
    }
  }
}

function isInUse(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.cause instanceof ExecError && /in use by a kernel/.test(thrown.cause.stderr)
}
