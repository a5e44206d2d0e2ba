import type { Json, JsonObject } from '../../../model/api-object.ts'
import { isDnsSubdomain } from '../../../model/selector.ts'
import { objectAt, textAt } from '../../document.ts'
import { type Check, fields, nonNegative, oneOf } from '../../schema/checks.ts'
import {
  type FieldError,
  invalidField,
  requiredField,
  tooLongField,
  unsupportedField,
} from '../../schema/field-error.ts'
import { checkDnsSubdomain } from '../../schema/names.ts'
import { validatePodTemplate } from '../pod-spec/pod-template-rules.ts'
import { failurePolicy } from './failure-policy-rules.ts'
import { successPolicy } from './success-policy-rules.ts'

/** The sizes up to which the status of an Indexed Job can name its indexes. */
const mostIndexes = 100_000
const mostWithHighCompletions = 10_000
const maxManagerLength = 63

const numbers: Check = fields({
  parallelism: nonNegative,
  completions: nonNegative,
  activeDeadlineSeconds: nonNegative,
  backoffLimit: nonNegative,
  ttlSecondsAfterFinished: nonNegative,
  backoffLimitPerIndex: nonNegative,
  maxFailedIndexes: nonNegative,
  managedBy,
})

/** Checks the spec of a Job, or of the template of a CronJob; the selector is checked apart. */
export function validateJobSpec(spec: JsonObject, path: string): readonly FieldError[] {
  const mode = textAt(spec, 'completionMode')
  return [
    ...numbers(spec, path),
    ...checkPerIndex(spec, path),
    ...(mode === '' || mode === 'NonIndexed' || mode === 'Indexed'
      ? []
      : [unsupportedField(`${path}.completionMode`, mode, ['NonIndexed', 'Indexed'])]),
    ...(mode === 'Indexed' ? checkIndexed(spec, path) : []),
    ...(mode === '' || mode === 'NonIndexed' ? checkNotIndexed(spec, path) : []),
    ...checkPolicies(spec, path, mode),
    ...validatePodTemplate(spec['template'], `${path}.template`),
    ...checkRestartPolicy(spec, `${path}.template.spec.restartPolicy`),
  ]
}

function checkPerIndex(spec: JsonObject, path: string): readonly FieldError[] {
  return isGiven(spec, 'maxFailedIndexes') && !isGiven(spec, 'backoffLimitPerIndex')
    ? [requiredField(`${path}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified')]
    : []
}

function managedBy(value: Json, path: string): readonly FieldError[] {
  const text = textAt(value)
  const tooLong = text.length > maxManagerLength ? [tooLongField(path, maxManagerLength)] : []
  return [...checkPrefixedPath(text, path), ...tooLong]
}

function checkPrefixedPath(text: string, path: string): readonly FieldError[] {
  if (text === '') return [requiredField(path)]
  const slash = text.indexOf('/')
  const [domain, rest] = [text.slice(0, slash), text.slice(slash + 1)]
  if (slash < 1 || rest === '')
    return [invalidField(path, text, 'must be a domain-prefixed path (such as "acme.io/foo")')]
  const why = isDnsSubdomain(domain) ? undefined : checkDnsSubdomain(domain)
  return [
    ...(why === undefined ? [] : [invalidField(path, domain, why)]),
    ...(/^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(rest)
      ? []
      : [invalidField(path, rest, "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')")]),
  ]
}

function checkIndexed(spec: JsonObject, path: string): readonly FieldError[] {
  const [completions, parallelism] = [numberAt(spec, 'completions'), numberAt(spec, 'parallelism') ?? 0]
  const failures = numberAt(spec, 'maxFailedIndexes')
  const least = (field: string, value: number, limit: string) =>
    invalidField(`${path}.${field}`, value, `must be less than or equal to ${limit}`)
  return [
    ...(completions === undefined ? [requiredField(`${path}.completions`, 'when completion mode is Indexed')] : []),
    ...(parallelism > mostIndexes
      ? [least('parallelism', parallelism, `${mostIndexes} when completion mode is Indexed`)]
      : []),
    ...(failures !== undefined && completions !== undefined && failures > completions
      ? [least('maxFailedIndexes', failures, 'completions')]
      : []),
    ...(failures !== undefined && failures > mostIndexes
      ? [least('maxFailedIndexes', failures, String(mostIndexes))]
      : []),
    ...(completions !== undefined && completions > mostIndexes && isGiven(spec, 'backoffLimitPerIndex')
      ? checkHighCompletions(path, parallelism, failures)
      : []),
  ]
}

function checkHighCompletions(path: string, parallelism: number, failures: number | undefined): readonly FieldError[] {
  const why = `must be less than or equal to ${mostWithHighCompletions} when completions are above ${mostIndexes} and used with backoff limit per index`
  return [
    ...(failures === undefined
      ? [requiredField(`${path}.maxFailedIndexes`, `must be specified when completions is above ${mostIndexes}`)]
      : []),
    ...(parallelism > mostWithHighCompletions ? [invalidField(`${path}.parallelism`, parallelism, why)] : []),
    ...(failures !== undefined && failures > mostWithHighCompletions
      ? [invalidField(`${path}.maxFailedIndexes`, failures, why)]
      : []),
  ]
}

function checkNotIndexed(spec: JsonObject, path: string): readonly FieldError[] {
  return ['backoffLimitPerIndex', 'maxFailedIndexes']
    .filter((field) => isGiven(spec, field))
    .map((field) => invalidField(`${path}.${field}`, spec[field], 'requires indexed completion mode'))
}

function checkPolicies(spec: JsonObject, path: string, mode: string): readonly FieldError[] {
  const [hasFailure, hasSuccess] = [isGiven(spec, 'podFailurePolicy'), isGiven(spec, 'successPolicy')]
  const replacement = hasFailure ? oneOf('Failed') : oneOf('Failed', 'TerminatingOrFailed')
  const atSuccess = `${path}.successPolicy`
  return [
    ...(hasFailure ? failurePolicy(spec, `${path}.podFailurePolicy`) : []),
    ...(hasSuccess && mode !== 'Indexed'
      ? [invalidField(atSuccess, spec['successPolicy'], 'requires indexed completion mode')]
      : []),
    ...(hasSuccess && mode === 'Indexed' ? successPolicy(spec, atSuccess) : []),
    ...fields({ podReplacementPolicy: replacement })(spec, path),
  ]
}

/** Checks that the containers of the Pods end: a Job counts ends. */
function checkRestartPolicy(spec: JsonObject, path: string): readonly FieldError[] {
  const policy = textAt(objectAt(spec, 'template', 'spec'), 'restartPolicy')
  if (policy === '' || policy === 'Always') return [requiredField(path, 'valid values: "OnFailure", "Never"')]
  if (policy !== 'OnFailure' && policy !== 'Never') return [unsupportedField(path, policy, ['OnFailure', 'Never'])]
  if (policy === 'Never' || !isGiven(spec, 'podFailurePolicy')) return []
  return [invalidField(path, policy, 'only "Never" is supported when podFailurePolicy is specified')]
}

export function isGiven(object: JsonObject, field: string): boolean {
  return object[field] !== undefined && object[field] !== null
}

/** Returns the number in a field; undefined where it is absent. */
export function numberAt(object: JsonObject, field: string): number | undefined {
  return isGiven(object, field) ? Number(textAt(object, field)) : undefined
}
