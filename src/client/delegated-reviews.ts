import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { Dialect } from '../model/dialect.ts'
import type { ApiClient } from './api-client.ts'
import { detectDialect } from './dialect-detection.ts'
import { ApiError } from './errors.ts'

/** An identity in the form of reviews. */
export interface ReviewedUser {
  readonly username: string
  readonly groups?: readonly string[] | undefined
  readonly uid?: string | undefined
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined
}

/** The access that a SubjectAccessReview asks about. */
export type AskedAccess =
  | { readonly nonResourceAttributes: { readonly verb: string; readonly path: string } }
  | {
      readonly resourceAttributes: {
        readonly verb: string
        readonly group: string
        readonly resource: string
        readonly subresource: string
        readonly name: string
      }
    }

const userSchema = z.object({
  username: z.string().min(1),
  groups: z.array(z.string()).optional(),
  uid: z.string().optional(),
  extra: z.record(z.string(), z.array(z.string())).optional(),
})

const tokenReviewSchema = z.object({
  status: z.object({ authenticated: z.boolean().default(false), user: userSchema.nullish() }),
})

const accessReviewSchema = z.object({ status: z.object({ allowed: z.boolean() }) })

/** Lifetime of an answer: a revoked token or right stays valid for at most this long. */
const cacheMs = 10_000
const cachedAnswers = 512
/** Limit of concurrent reviews: strangers that send tokens without end must not load the API server. */
const maxConcurrent = 8

/**
 * Asks the API server who a token belongs to and what a user may do (TokenReview, SubjectAccessReview), like Kubernetes' components for
 * their own endpoints. Caches answers for 10 s. Rejects with an ApiError if the server does not answer or too many reviews are open.
 */
export class DelegatedReviews {
  readonly #client: ApiClient
  readonly #users = new RecentAnswers<ReviewedUser | undefined>()
  readonly #decisions = new RecentAnswers<boolean>()
  #dialect: Dialect | undefined
  #open = 0

  constructor(client: ApiClient) {
    this.#client = client
  }

  /** Resolves with the user of a token, or undefined if this API server does not know the token. */
  authenticate(token: string): Promise<ReviewedUser | undefined> {
    return this.#users.find(token, async () => {
      const { status } = await this.#review('authentication', 'TokenReview', { token }, tokenReviewSchema)
      return status.authenticated ? (status.user ?? undefined) : undefined
    })
  }

  authorize(user: ReviewedUser, asked: AskedAccess): Promise<boolean> {
    return this.#decisions.find(JSON.stringify([user, asked]), async () => {
      const { username, ...rest } = user
      const spec = { user: username, ...rest, ...asked }
      const { status } = await this.#review('authorization', 'SubjectAccessReview', spec, accessReviewSchema)
      return status.allowed
    })
  }

  async #review<T>(
    group: 'authentication' | 'authorization',
    kind: string,
    spec: object,
    schema: z.ZodType<T>,
  ): Promise<T> {
    if (this.#open >= maxConcurrent)
      throw new ApiError('too-many-requests', `${kind}: ${maxConcurrent} reviews are open already`)
    this.#open++
    try {
      this.#dialect ??= await detectDialect(this.#client)
      const resource = { group: this.#dialect.groups[group], version: 'v1', resource: `${kind.toLowerCase()}s` }
      const parsed = schema.safeParse(await this.#client.review(resource, kind, spec))
      if (!parsed.success) throw new ApiError('bad-response', `${kind}: the answer has no status`)
      return parsed.data
    } finally {
      this.#open--
    }
  }
}

/** Caches answers by a digest of the question, because the question may contain a secret; concurrent equal questions share one request. */
class RecentAnswers<T> {
  readonly #answers = new LRUCache<string, Promise<T>>({ max: cachedAnswers, ttl: cacheMs })

  find(question: string, ask: () => Promise<T>): Promise<T> {
    const key = createHash('sha256').update(question).digest('base64')
    const known = this.#answers.get(key)
    if (known !== undefined) return known
    const answer = ask()
    this.#answers.set(key, answer)
    answer.catch(() => this.#answers.delete(key))
    return answer
  }
}
