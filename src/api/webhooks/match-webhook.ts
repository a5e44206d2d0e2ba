import type { Authorizer } from '../access/authorizer.ts'
import { evaluateMatchConditions, matchConditionBudget } from '../admission/match-conditions.ts'
import { type AdmissionSubject, convertTo, selectsNamespace, selectsObject } from '../admission/match-resources.ts'
import { type Match, matchRules } from '../admission/match-rules.ts'
import { policyInputOf } from '../admission/policy-input.ts'
import { PolicyEvaluation } from '../cel/admission/evaluate-policy-expression.ts'
import { type ApiDocument, listAt, textAt, valueAt } from '../document.ts'
import { forbidden } from '../status.ts'
import type { Invocation } from './review.ts'
import type { Webhook } from './webhook.ts'

/**
 * Returns how a webhook is asked about a request; undefined where its rules, selectors and conditions leave it out.
 * Throws a 403 for conditions that cannot be evaluated, unless the failure policy is Ignore.
 */
export function matchWebhook(
  webhook: Webhook,
  subject: AdmissionSubject,
  authorizers: readonly Authorizer[],
): Invocation | undefined {
  const { request } = subject
  const { matching } = webhook
  if (!selectsNamespace(valueAt(matching, 'namespaceSelector'), subject)) return undefined
  if (!selectsObject(valueAt(matching, 'objectSelector'), request)) return undefined
  const match = matchRules(listAt(matching, 'rules'), textAt(matching, 'matchPolicy'), subject)
  if (match === undefined || !meetsConditions(webhook, subject, match, authorizers)) return undefined
  // The body of a subresource with a kind of its own has one version.
  const isConverted = match.kind !== request.kind
  const convert = (document: ApiDocument | undefined) =>
    document && isConverted ? convertTo(match.resource, request.resource, document) : document
  return { ...match, object: convert(request.object), oldObject: convert(request.oldObject) }
}

function meetsConditions(
  { conditions, ignoresFailure }: Webhook,
  subject: AdmissionSubject,
  match: Match,
  authorizers: readonly Authorizer[],
): boolean {
  if (conditions.length === 0) return true
  const input = { ...policyInputOf(subject, match, { params: undefined, authorizers }), namespaceObject: null }
  const result = evaluateMatchConditions(conditions, new PolicyEvaluation(input, new Map(), matchConditionBudget))
  if (result.kind !== 'error') return result.kind === 'match'
  if (ignoresFailure) return false
  const { resource, name } = subject.request
  throw forbidden(resource, name, result.message)
}
