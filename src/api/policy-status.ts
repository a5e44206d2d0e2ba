import type { Backoff } from '../loop/backoff.ts'
import { BoundedFrequencyRunner } from '../loop/bounded-frequency-runner.ts'
import type { JsonObject } from '../model/api-object.ts'
import { describeError } from '../model/errors.ts'
import type { Logger } from '../observe/index.ts'
import { followStore } from './access/follow-store.ts'
import { checkPolicyTypes } from './admission/policies/check-types.ts'
import { policyPlural } from './admission/policies/policy-index.ts'
import { type ApiDocument, textAt } from './document.ts'
import { collectionPrefix } from './resources/keys.ts'
import { apiVersionOf, type Resource } from './resources/resource.ts'
import { StatusError } from './status.ts'
import type { StoreWatch } from './store/index.ts'
import { applyConfigured } from './verbs/apply.ts'
import type { VerbContext } from './verbs/verb-context.ts'

export interface PolicyStatusOptions {
  readonly context: VerbContext
  readonly resource: Resource
  readonly backoff: Backoff
  readonly log: Logger
}

/** The field manager of the status, under the name of Kubernetes' controller: where that runs too, both write the same. */
const manager = 'validatingadmissionpolicy-status'

/** Writes the status of each new generation of a ValidatingAdmissionPolicy: the type check of its expressions. */
export class PolicyStatus {
  readonly #options: PolicyStatusOptions
  readonly #due = new Map<string, ApiDocument>()
  readonly #writing: BoundedFrequencyRunner
  #watch: StoreWatch | undefined

  constructor(options: PolicyStatusOptions) {
    this.#options = options
    this.#writing = new BoundedFrequencyRunner(() => this.#write(), {
      backoff: options.backoff,
      onError: (thrown, retryInMs) =>
        options.log.warn('the status of a policy is not written yet', { error: describeError(thrown), retryInMs }),
    })
  }

  async start(): Promise<void> {
    const prefix = collectionPrefix({ plural: policyPlural }, undefined)
    this.#watch = await followStore(this.#options.context.store, prefix, (name, policy) => this.#take(name, policy))
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#watch?.close()
    await this.#writing.stop(scope)
  }

  #take(name: string, policy: ApiDocument | undefined): void {
    if (policy === undefined || !isDue(policy)) {
      this.#due.delete(name)
      return
    }
    this.#due.set(name, policy)
    this.#writing.request()
  }

  /** Writes what is due; a failure of one policy does not delay the others. */
  async #write(): Promise<void> {
    const results = await Promise.allSettled([...this.#due].map(([name, policy]) => this.#settle(name, policy)))
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  async #settle(name: string, policy: ApiDocument): Promise<void> {
    await this.#apply(name, policy).catch(ignoreGone)
    if (this.#due.get(name) === policy) this.#due.delete(name)
  }

  async #apply(name: string, policy: ApiDocument): Promise<void> {
    const { context, resource } = this.#options
    const { kind } = resource
    const status = statusOf(policy, checkPolicyTypes(policy, context.registry))
    const applied = { apiVersion: apiVersionOf(resource), kind, metadata: { name }, status }
    const target = { resource, namespace: undefined, name, subresource: 'status' } as const
    await applyConfigured(context, target, applied, { dryRun: false, manager, force: true })
  }
}

function statusOf({ metadata }: ApiDocument, warnings: ReturnType<typeof checkPolicyTypes>): JsonObject {
  const expressionWarnings = warnings.map(({ fieldRef, warning }) => ({ fieldRef, warning }))
  const typeChecking = expressionWarnings.length === 0 ? {} : { expressionWarnings }
  return { observedGeneration: metadata.generation ?? 1, typeChecking }
}

function isDue({ metadata, status }: ApiDocument): boolean {
  return (metadata.generation ?? 0) > Number(textAt(status, 'observedGeneration') || 0)
}

function ignoreGone(thrown: unknown): void {
  if (!(thrown instanceof StatusError) || thrown.code !== 'NotFound') throw thrown
}
