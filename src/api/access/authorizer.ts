import type { User } from '../identity.ts'
import type { Attributes } from './attributes.ts'

/** An authorizer allows a request or has no opinion: one authorizer that allows is enough. */
export interface Authorizer {
  /** Reads the data that decisions need; resolves when the authorizer can decide. */
  start(): Promise<void>
  stop(): void
  allows(user: User, attributes: Attributes): boolean
}
