import type { Json } from '../../model/api-object.ts'
import { compileMatchConditions, type MatchCondition } from '../admission/match-conditions.ts'
import { type ApiDocument, listAt, textAt, valueAt } from '../document.ts'
import { conditionScope } from '../resources/admission/webhook-rules.ts'

/** Conditions of stored webhooks may use functions that a later version of the server accepts in new ones. */
const storedScope = { ...conditionScope, functions: 'stored' } as const

export type WebhookType = 'mutating' | 'validating'

/** How a webhook is reached. */
export type ClientConfig = {
  /** The authorities that its certificate is checked by, in PEM; undefined: those that Node trusts. */
  readonly caPem: string | undefined
} & (
  | { readonly kind: 'url'; readonly url: string }
  | {
      readonly kind: 'service'
      readonly namespace: string
      readonly name: string
      readonly port: number
      readonly path: string
    }
)

/** One webhook of a configuration. */
export interface Webhook {
  readonly type: WebhookType
  /** The name of its configuration. */
  readonly configuration: string
  readonly name: string
  readonly client: ClientConfig
  /** Its rules, selectors and `matchPolicy`. */
  readonly matching: Json
  readonly conditions: readonly MatchCondition[]
  /** Whether a request goes on where the webhook cannot be asked. */
  readonly ignoresFailure: boolean
  /** Whether it may be asked about a dry run. */
  readonly takesDryRun: boolean
  readonly timeoutMs: number
  /** The first version of AdmissionReview that it takes and this server knows; undefined: none. */
  readonly reviewVersion: ReviewVersion | undefined
  /** Whether it is asked again after a later webhook has changed the object. */
  readonly isReinvoked: boolean
}

const reviewVersions = ['v1', 'v1beta1'] as const
export type ReviewVersion = (typeof reviewVersions)[number]

/** Returns the webhooks of a stored configuration, in its order. */
export function readWebhooks(type: WebhookType, { metadata, webhooks }: ApiDocument): readonly Webhook[] {
  return listAt(webhooks).map((webhook) => ({
    type,
    configuration: metadata.name ?? '',
    name: textAt(webhook, 'name'),
    client: readClientConfig(valueAt(webhook, 'clientConfig')),
    matching: webhook,
    conditions: compileMatchConditions(listAt(webhook, 'matchConditions'), storedScope),
    ignoresFailure: textAt(webhook, 'failurePolicy') === 'Ignore',
    takesDryRun: ['None', 'NoneOnDryRun'].includes(textAt(webhook, 'sideEffects')),
    timeoutMs: Number(textAt(webhook, 'timeoutSeconds') || 10) * 1000,
    reviewVersion: listAt(webhook, 'admissionReviewVersions').map(toReviewVersion).find(Boolean),
    isReinvoked: textAt(webhook, 'reinvocationPolicy') === 'IfNeeded',
  }))
}

function toReviewVersion(version: Json): ReviewVersion | undefined {
  return reviewVersions.find((known) => known === version)
}

function readClientConfig(config: Json | undefined): ClientConfig {
  const bundle = textAt(config, 'caBundle')
  const caPem = bundle === '' ? undefined : Buffer.from(bundle, 'base64').toString()
  const service = valueAt(config, 'service')
  if (service === undefined) return { kind: 'url', url: textAt(config, 'url'), caPem }
  return {
    kind: 'service',
    namespace: textAt(service, 'namespace'),
    name: textAt(service, 'name'),
    port: Number(textAt(service, 'port') || 443),
    path: textAt(service, 'path'),
    caPem,
  }
}
