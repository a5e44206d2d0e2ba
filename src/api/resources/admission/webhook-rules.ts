import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../../model/api-object.ts'
import type { PolicyScope } from '../../cel/admission/policy-environment.ts'
import { type ApiDocument, listAt, textAt, valueAt } from '../../document.ts'
import { all, between, type Check, each, exactlyOneOf, fields } from '../../schema/checks.ts'
import { duplicateField, type FieldError, invalidField, requiredField } from '../../schema/field-error.ts'
import { checkDns1035Label, checkDnsSubdomain } from '../../schema/names.ts'
import { validateLabelSelector } from '../label-selector.ts'
import { checkClientConfig } from './client-config-rules.ts'
import { checkMatchConditions } from './match-condition-rules.ts'
import { ruleWithOperations } from './operation-rules.ts'

/** The variables and functions of match conditions. */
export const conditionScope: PolicyScope = { hasParams: false, hasAuthorizer: true, functions: 'new' }

const sideEffects = ['None', 'NoneOnDryRun']
/** The versions of AdmissionReview that a webhook may take. */
const reviewVersions = ['v1', 'v1beta1']

const selector: Check = (value, path) => validateLabelSelector(value, path)

const webhookFields = all([
  fields({
    rules: each(ruleWithOperations),
    failurePolicy: exactlyOneOf('Fail', 'Ignore'),
    matchPolicy: exactlyOneOf('Equivalent', 'Exact'),
    sideEffects: exactlyOneOf(...sideEffects),
    timeoutSeconds: between(1, 30, 'the timeout value must be between 1 and 30 seconds'),
    namespaceSelector: selector,
    objectSelector: selector,
    reinvocationPolicy: exactlyOneOf('IfNeeded', 'Never'),
  }),
  (webhook, path) => [
    ...checkWebhookName(textAt(webhook, 'name'), `${path}.name`),
    ...(valueAt(webhook, 'sideEffects') === undefined
      ? [requiredField(`${path}.sideEffects`, `must specify one of ${sideEffects.join(', ')}`)]
      : []),
    ...checkClientConfig(valueAt(webhook, 'clientConfig') ?? {}, `${path}.clientConfig`),
    ...checkReviewVersions(listAt(webhook, 'admissionReviewVersions'), `${path}.admissionReviewVersions`),
  ],
])

/** Checks the webhooks of a configuration; an update does not check match conditions that it leaves as they were. */
export function checkWebhooks({ webhooks: given }: ApiDocument, old: ApiDocument | undefined): readonly FieldError[] {
  const [webhooks, oldWebhooks] = [listAt(given), listAt(old?.['webhooks'])]
  const names = webhooks.map((webhook) => textAt(webhook, 'name'))
  const areKept = isDeepStrictEqual(webhooks.map(conditionsOf), oldWebhooks.map(conditionsOf))
  const stored = new Set(oldWebhooks.flatMap(conditionsOf).map((condition) => textAt(condition, 'expression')))
  return webhooks.flatMap((webhook, index) => {
    const [path, name] = [`webhooks[${index}]`, names[index] ?? '']
    const at = `${path}.matchConditions`
    return [
      ...webhookFields(webhook, path),
      ...(areKept ? [] : checkMatchConditions(conditionsOf(webhook), at, conditionScope, stored)),
      ...(name !== '' && names.indexOf(name) < index ? [duplicateField(`${path}.name`, name)] : []),
    ]
  })
}

function conditionsOf(webhook: Json): readonly Json[] {
  return listAt(webhook, 'matchConditions')
}

function checkWebhookName(name: string, path: string): readonly FieldError[] {
  if (name === '') return [requiredField(path)]
  const problem = checkDnsSubdomain(name)
  if (problem !== undefined) return [invalidField(path, name, problem)]
  if (name.split('.').length >= 3) return []
  return [invalidField(path, name, 'should be a domain with at least three segments separated by dots')]
}

function checkReviewVersions(versions: readonly Json[], path: string): readonly FieldError[] {
  const known = reviewVersions.join(', ')
  if (versions.length === 0) return [requiredField(path, `must specify one of ${known}`)]
  return [
    ...versions.flatMap((version, index) =>
      checkReviewVersion(version, `${path}[${index}]`, versions.indexOf(version) < index),
    ),
    ...(versions.some((version) => reviewVersions.includes(textAt(version)))
      ? []
      : [invalidField(path, [...versions], `must include at least one of ${known}`)]),
  ]
}

function checkReviewVersion(version: Json, path: string, isRepeated: boolean): readonly FieldError[] {
  if (isRepeated) return [invalidField(path, version, 'duplicate version')]
  const problem = checkDns1035Label(textAt(version))
  return problem === undefined ? [] : [invalidField(path, version, problem)]
}
