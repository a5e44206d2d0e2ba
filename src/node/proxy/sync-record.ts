import type { Health, HealthLevel } from '../../loop/component.ts'
import { describeError } from '../../model/errors.ts'
import { equalHashes, type XorHash } from '../../model/xor-hash.ts'
import type { WriteReport } from '../rules/index.ts'
import type { SetAsideService } from './set-aside.ts'

export type LastSync = WriteReport & { readonly atMs: number }

const maxNamed = 5

/** Records the results of the syncs of one family. */
export class SyncRecord {
  #appliedHash: XorHash | undefined
  #failures = 0
  #lastSync: LastSync | undefined
  #health: Health = { level: 'unknown', message: 'waiting for the first list of Services and endpoints', sinceMs: 0 }

  /** The hash of the objects whose rules the kernel holds, as far as this process knows. */
  get appliedHash(): XorHash | undefined {
    return this.#appliedHash
  }

  /** How many syncs failed in a row: after a failure the kernel may hold rules between the last two wanted states. */
  get failures(): number {
    return this.#failures
  }

  get lastSync(): LastSync | undefined {
    return this.#lastSync
  }

  get health(): Health {
    return this.#health
  }

  /** Spec 2.12 rule 2: equal hashes mean that there is nothing to do. */
  isApplied(objects: XorHash): boolean {
    return this.#appliedHash !== undefined && equalHashes(this.#appliedHash, objects)
  }

  /** All rules of these objects are in the kernel. */
  applied(objects: XorHash): void {
    this.#appliedHash = objects
  }

  /** PLAT-STATE says that the kernel holds the rules of these objects. */
  recognised(objects: XorHash, revision: number): void {
    this.#appliedHash = objects
    this.#setHealth('ok', `rules of revision ${revision} are in the kernel by PLAT-STATE, a comparison follows`)
  }

  wrote(report: WriteReport): void {
    this.#lastSync = { ...report, atMs: Date.now() }
  }

  succeeded(revision: number, setAside: readonly SetAsideService[]): void {
    this.#failures = 0
    const named = setAside.slice(0, maxNamed).map(({ service }) => service)
    const more = setAside.length > maxNamed ? ` and ${setAside.length - maxNamed} more` : ''
    if (setAside.length > 0)
      this.#setHealth('degraded', `set aside with the rules they had: ${named.join(', ')}${more}`)
    else this.#setHealth('ok', `rules of revision ${revision} are in the kernel`)
  }

  failed(error: unknown): void {
    this.#failures += 1
    this.#setHealth(this.#appliedHash ? 'degraded' : 'unknown', `the last write failed: ${describeError(error)}`)
  }

  stopped(): void {
    this.#setHealth('stopped', 'rules stay in the kernel')
  }

  #setHealth(level: HealthLevel, message: string): void {
    const sinceMs = this.#health.level === level ? this.#health.sinceMs : Date.now()
    this.#health = { level, message, sinceMs }
  }
}
