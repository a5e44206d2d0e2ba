import type { User } from '../identity.ts'
import type { Attributes } from './attributes.ts'

/** Says yes, or has no opinion: somebody may do what any one authorizer allows. */
export interface Authorizer {
  /** Reads what it decides by; resolves when it can decide. */
  start(): Promise<void>
  stop(): void
  allows(user: User, attributes: Attributes): boolean
}
