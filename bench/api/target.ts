import type { AdminAccess } from '../../test/helpers/platnet-server.ts'

/** An API server under measurement. */
export interface BenchTarget {
  readonly name: string
  /** Whether it has a Node main loop to measure. */
  readonly hasLoop: boolean
  /** Resolves once it is ready. Can be started again after it was stopped, with the state it had. */
  start(): Promise<AdminAccess>
  /** Of all its processes together. */
  residentMiB(): number
  stop(): Promise<void>
  /** Takes its files away. */
  remove(): void
}
