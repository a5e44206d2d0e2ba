import { Metadata } from '@grpc/grpc-js'
import { EtcdCallError, isRefusal } from './etcd-error.ts'
import type { Credentials } from './messages.ts'

/** A user of etcd. */
export interface EtcdUser {
  readonly name: string
  /** Reads the password anew for each token, so that a changed one is found. */
  readonly readPassword: () => Promise<string>
}

/** Asks etcd for a token. */
type AskToken = (credentials: Credentials) => Promise<string>

/** After a refusal etcd is not asked again for this long: each check of a password costs it a hash. */
const refusalPauseMs = 1_000

/** Users may be known to etcd already; it wants no token. */
const notEnabled = /authentication is not enabled/
/** The token is not that of a member any more: it expired, the member has started again, or users and roles have changed. */
const stale = /invalid auth token|revision of auth store is old|user name is empty/

export function isStaleToken(error: EtcdCallError): boolean {
  return stale.test(error.message)
}

/** The token of one user, for all calls of a client. */
export class EtcdLogin {
  readonly #user: EtcdUser
  #token: string | undefined
  #atMs = Number.NEGATIVE_INFINITY
  #asking: Promise<void> | undefined
  #refusal: EtcdCallError | undefined
  #refusedMs = 0

  constructor(user: EtcdUser) {
    this.#user = user
  }

  /** The refusal of etcd when it was asked for a token last; undefined when it gave one. */
  get refusal(): EtcdCallError | undefined {
    return this.#refusal
  }

  /** Notes that a call with the token was answered: an earlier refusal holds no longer. */
  confirm(): void {
    this.#refusal = undefined
  }

  /** Returns the token of the last answer; undefined before the first one, and where etcd asks for none. */
  get token(): string | undefined {
    return this.#token
  }

  /** Asks for a token before the first call. */
  async ready(ask: AskToken): Promise<void> {
    if (this.#atMs === Number.NEGATIVE_INFINITY) await this.#renew(ask)
  }

  /** Returns true when there is another token than the one that failed, unless that is newer than `minAgeMs`. */
  async renewed(failed: string | undefined, ask: AskToken, minAgeMs = 0): Promise<boolean> {
    if (this.#token === failed && performance.now() - this.#atMs >= minAgeMs) await this.#renew(ask)
    return this.#token !== failed
  }

  #renew(ask: AskToken): Promise<void> {
    if (this.#refusal !== undefined && performance.now() - this.#refusedMs < refusalPauseMs) {
      return Promise.reject(this.#refusal)
    }
    this.#asking ??= this.#ask(ask).finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #ask(ask: AskToken): Promise<void> {
    const { name, readPassword } = this.#user
    const password = await readPassword()
    try {
      this.#token = await ask({ name, password })
    } catch (thrown) {
      if (!(thrown instanceof EtcdCallError && notEnabled.test(thrown.message))) throw this.#noted(thrown)
      this.#token = undefined
    }
    this.#refusal = undefined
    this.#atMs = performance.now()
  }

  #noted(thrown: unknown): unknown {
    this.#refusal = thrown instanceof EtcdCallError && isRefusal(thrown) ? thrown : undefined
    this.#refusedMs = performance.now()
    return thrown
  }
}

/** Returns the metadata of a call. */
export function withToken(base: Metadata, token: string | undefined): Metadata {
  if (token === undefined) return base
  const metadata = base.clone()
  metadata.set('token', token)
  return metadata
}

export const noMetadata: Metadata = new Metadata()
