import type { Component, Health } from '../../loop/component.ts'
import { orAborted } from '../../loop/deadline.ts'
import { Periodic } from '../../loop/periodic.ts'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/index.ts'

export interface PulseParts {
  /** The parts of this process; each that can be examined is. */
  readonly components: readonly Component[]
  readonly intervalMs: number
  /** Time between beats while the line about the process stays the same; `intervalMs` if absent. */
  readonly restMs?: number
  /** Called at each beat with one line about the process; its caller counts on the next one. */
  readonly beat: (status: string) => unknown
  readonly log: Logger
  /** A part that does not say within this time how it is has failed; 10 s if absent. */
  readonly examinationMs?: number
}

/**
 * Beats while this process works: its event loop turns and no part of it is found broken. A part counts once it has been found well, so
 * that what never worked here, such as DNS behind a firewall, does not restart the process again and again.
 */
export class Pulse implements Component {
  readonly name = 'pulse'
  readonly #parts: PulseParts
  readonly #rhythm: Periodic
  readonly #wasWell = new Set<Component>()
  #health: Health = { level: 'ok', message: '', sinceMs: Date.now() }
  #problems = ''
  #status = ''
  #isAtRest = false

  constructor(parts: PulseParts) {
    this.#parts = parts
    const { intervalMs: busyMs, restMs = busyMs, log } = parts
    const intervalMs = () => (this.#isAtRest ? restMs : busyMs)
    const onError = (error: unknown): void => log.warn('a beat was not passed on', { error: describeError(error) })
    this.#rhythm = new Periodic(() => this.#look(), { intervalMs, firstAfterMs: 0, onError })
  }

  async start(): Promise<void> {
    this.#rhythm.start()
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    await this.#rhythm.stop(scope)
  }

  health(): Health {
    return this.#health
  }

  async #look(): Promise<void> {
    const { components, beat } = this.#parts
    const found = await Promise.all(components.map((component) => this.#examine(component)))
    const problems = found.filter((problem) => problem !== undefined)
    this.#report(problems.join('; '))
    const status = statusLine(components)
    this.#isAtRest = problems.length === 0 && status === this.#status
    this.#status = status
    if (problems.length === 0) await beat(status)
  }

  async #examine(component: Component): Promise<string | undefined> {
    if (component.examine === undefined) return undefined
    const { examinationMs = 10_000 } = this.#parts
    const silence = `it did not say within ${examinationMs} ms how it is`
    const problem = await orAborted(component.examine(), AbortSignal.timeout(examinationMs)).catch(() => silence)
    if (problem === undefined) this.#wasWell.add(component)
    return problem !== undefined && this.#wasWell.has(component) ? `${component.name}: ${problem}` : undefined
  }

  #report(problems: string): void {
    if (problems === this.#problems) return
    this.#problems = problems
    this.#health = { level: problems === '' ? 'ok' : 'degraded', message: problems, sinceMs: Date.now() }
    if (problems === '') this.#parts.log.info('every part of this process works again')
    else this.#parts.log.error('a part of this process is stuck: without a change the process is ended', { problems })
  }
}

/** One line: what does not work, or what each part says of itself. */
export function statusLine(components: readonly Component[]): string {
  const states = components.map((component) => ({ name: component.name, ...component.health() }))
  const troubled = states.filter(({ level }) => level !== 'ok')
  const shown = troubled.length > 0 ? troubled : states.filter(({ message }) => message !== '')
  const words = shown.map(({ name, level, message }) => `${name}${level === 'ok' ? '' : ` ${level}`}: ${message}`)
  return words.length === 0 ? 'all parts work' : words.join('; ')
}
