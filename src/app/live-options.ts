import type { LoadedOptions, OptionGroup, ResolvedOption } from '../config/index.ts'
import { optionGroups } from './option-groups.ts'

type Options = LoadedOptions<typeof optionGroups>

type Values = Options['values']

/** The outcome of the newest attempt to read the options again. */
export interface ReloadReport {
  /** Milliseconds since 1970. */
  readonly atMs: number
  /** Changed options that hold at the next start, by key. */
  readonly waiting: readonly string[]
  /** The reason why the options could not be read; those before hold. */
  readonly problem?: string
}

/** Values of live options in the form of the file, by key: what a supervisor sends to its agent. */
export type ShownOptions = Readonly<Record<string, unknown>>

/** The options in force: those of the start, with live ones as they were read last. Code that can follow a change reads them at each use. */
export class LiveOptions {
  readonly #start: Options
  #values: Values
  #resolved: readonly ResolvedOption[]
  #report: ReloadReport | undefined
  readonly #listeners: (() => void)[] = []

  constructor(start: Options) {
    this.#start = start
    this.#values = start.values
    this.#resolved = start.resolved
  }

  get values(): Values {
    return this.#values
  }

  get resolved(): readonly ResolvedOption[] {
    return this.#resolved
  }

  /** Undefined if the options have not been read again. */
  get report(): ReloadReport | undefined {
    return this.#report
  }

  /** Calls the listener after each change of a live option. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Puts the live options of a new reading into effect. Returns the report, and the keys that changed at once. */
  take(next: Options, nowMs: number): ReloadReport & { readonly changed: readonly string[] } {
    const waiting = changedKeys(this.#start.resolved, next.resolved, 'restart')
    const changed = changedKeys(this.#resolved, next.resolved, 'live')
    this.#report = { atMs: nowMs, waiting }
    if (changed.length > 0) {
      this.#values = withLive(this.#start.values, next.values)
      const read = new Map(next.resolved.map((option) => [option.key, option]))
      this.#resolved = this.#start.resolved.map((option) =>
        option.spec.reload === 'live' ? (read.get(option.key) ?? option) : option,
      )
      for (const listener of this.#listeners) listener()
    }
    return { ...this.#report, changed }
  }

  /** Remembers why the options could not be read again. */
  refuse(problem: string, nowMs: number): void {
    this.#report = { atMs: nowMs, waiting: this.#report?.waiting ?? [], problem }
  }

  /** Puts live options that another process has read into effect. Values that do not parse are left out. */
  takeShown(shown: ShownOptions, report: ReloadReport | undefined): void {
    const parsed = new Map(
      liveSpecs().flatMap(([key, spec]) => {
        const read = Object.hasOwn(shown, key) ? spec.schema.safeParse(shown[key] ?? undefined) : undefined
        return read?.success === true ? [[key, read.data] as const] : []
      }),
    )
    this.#report = report
    this.#values = mapValues(this.#start.values, (key, value) => (parsed.has(key) ? parsed.get(key) : value))
    this.#resolved = this.#start.resolved.map((option) =>
      parsed.has(option.key) ? { ...option, shown: shown[option.key] ?? undefined } : option,
    )
    for (const listener of this.#listeners) listener()
  }

  /** Returns the live options in the form of the file; null for one that is not set. */
  shown(): ShownOptions {
    const live = this.#resolved.filter(({ spec }) => spec.reload === 'live')
    return Object.fromEntries(live.map(({ key, shown }) => [key, shown ?? null]))
  }
}

function liveSpecs() {
  return Object.values<OptionGroup>(optionGroups)
    .flatMap((group) => Object.entries(group))
    .filter(([, spec]) => spec.reload === 'live')
}

/** Returns the keys of changed options of one kind. */
function changedKeys(
  before: readonly ResolvedOption[],
  after: readonly ResolvedOption[],
  reload: 'live' | 'restart',
): readonly string[] {
  const shown = new Map(before.map((option) => [option.key, JSON.stringify(option.shown)]))
  return after
    .filter(({ key, spec, shown: value }) => spec.reload === reload && shown.get(key) !== JSON.stringify(value))
    .map(({ key }) => key)
}

function withLive(start: Values, next: Values): Values {
  const live = new Set(liveSpecs().map(([key]) => key))
  const flat = new Map(Object.values(next).flatMap((group) => Object.entries<unknown>(group)))
  return mapValues(start, (key, value) => (live.has(key) ? flat.get(key) : value))
}

function mapValues(values: Values, change: (key: string, value: unknown) => unknown): Values {
  const groups = Object.entries(values).map(([name, group]) => [
    name,
    Object.fromEntries(Object.entries<unknown>(group).map(([key, value]) => [key, change(key, value)])),
  ])
  return Object.fromEntries(groups) as Values
}
