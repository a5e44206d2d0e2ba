import type { Lab } from './lab.ts'

/** One trial of the hostile identities: what it tries, and what must come of it beyond a canary that is served in time. */
export interface Trial {
  /** Of issue 15. */
  readonly line: number
  readonly title: string
  run(lab: Lab): Promise<void>
}
