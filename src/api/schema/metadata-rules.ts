import type { Json, JsonObject } from '../../model/api-object.ts'
import { isDnsSubdomain, isLabelValue, isQualifiedName } from '../../model/selector.ts'
import { isJsonObject, listAt, textAt } from '../document.ts'
import { type FieldError, invalidField, tooLongField } from './field-error.ts'

const maxAnnotationBytes = 256 * 1024

export const qualifiedNameRule =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
export const labelValueRule =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

const subdomainRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const slashRule =
  "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"

/** Returns each rule of a qualified name that a text breaks. */
export function qualifiedNameProblems(text: string): readonly string[] {
  if (isQualifiedName(text)) return none
  const [first = '', second, ...rest] = text.split('/')
  if (rest.length > 0) return [slashRule]
  const name = second ?? first
  const prefixProblem = second === undefined || isDnsSubdomain(first) ? undefined : prefixRule(first)
  const isNameGood = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(name)
  return [
    ...(prefixProblem === undefined ? [] : [`prefix part ${prefixProblem}`]),
    ...(name === '' ? ['name part must be non-empty'] : []),
    ...(name.length > maxNameLength ? [`name part must be no more than ${maxNameLength} characters`] : []),
    ...(isNameGood ? [] : [qualifiedNameRule]),
  ]
}

const maxNameLength = 63
const none: readonly never[] = []

function prefixRule(prefix: string): string {
  if (prefix === '') return 'must be non-empty'
  return prefix.length > 253 ? 'must be no more than 253 characters' : subdomainRule
}

/** Returns each rule of a label value that a text breaks. */
export function labelValueProblems(text: string): readonly string[] {
  if (isLabelValue(text)) return none
  const isFormGood = /^[-A-Za-z0-9_.]*$/.test(text) && /^[A-Za-z0-9].*[A-Za-z0-9]$/.test(text)
  return [
    ...(text.length > maxNameLength ? [`must be no more than ${maxNameLength} characters`] : []),
    ...(isFormGood ? [] : [labelValueRule]),
  ]
}

/** Checks a map of labels. Values of another type than declared are skipped: coercion reports them. */
export function checkLabels(labels: Json | undefined, path: string): readonly FieldError[] {
  if (!isJsonObject(labels)) return none
  const errors: FieldError[] = []
  for (const [key, value] of Object.entries(labels)) {
    if (typeof value !== 'string') continue
    for (const why of qualifiedNameProblems(key)) errors.push(invalidField(path, key, why))
    for (const why of labelValueProblems(value)) errors.push(invalidField(path, value, why))
  }
  return errors
}

/** Checks the metadata of any object, objects embedded in another kind included. */
export function checkMetadata(metadata: JsonObject, path: string): readonly FieldError[] {
  return [
    ...checkLabelsAndAnnotations(metadata, path),
    ...checkOwners(listAt(metadata, 'ownerReferences'), `${path}.ownerReferences`),
    ...checkFinalizers(listAt(metadata, 'finalizers').filter(isText), `${path}.finalizers`),
  ]
}

/** Checks the metadata of a template, which has rules for labels and annotations only. */
export function checkLabelsAndAnnotations(metadata: JsonObject, path: string): readonly FieldError[] {
  const labels = checkLabels(metadata['labels'], `${path}.labels`)
  const annotations = checkAnnotations(metadata['annotations'], `${path}.annotations`)
  return annotations.length === 0 ? labels : [...labels, ...annotations]
}

function isText(value: Json | undefined): value is string {
  return typeof value === 'string'
}

function checkAnnotations(annotations: Json | undefined, path: string): readonly FieldError[] {
  if (!isJsonObject(annotations)) return none
  const errors: FieldError[] = []
  let bytes = 0
  for (const [key, value] of Object.entries(annotations)) {
    if (typeof value !== 'string') continue
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value)
    for (const why of qualifiedNameProblems(key.toLowerCase())) errors.push(invalidField(path, key, why))
  }
  if (bytes > maxAnnotationBytes) errors.push(tooLongField(path, maxAnnotationBytes))
  return errors
}

function checkOwners(owners: readonly Json[], path: string): readonly FieldError[] {
  if (owners.length === 0) return none
  const [first, second] = owners.filter((owner) => isJsonObject(owner) && owner['controller'] === true)
  const errors = owners.flatMap((owner) => checkOwner(owner, path))
  if (first === undefined || second === undefined) return errors
  const named = (owner: Json) => `${textAt(owner, 'kind')}/${textAt(owner, 'name')}`
  const why = `Only one reference can have Controller set to true. Found "true" in references for ${named(first)} and ${named(second)}`
  return [...errors, invalidField(path, [...owners], why)]
}

/** Matches a group version of one or two parts, the last of which is the version. */
const groupVersion = /^(?:[^/]*\/)?[^/]+$/

function checkOwner(owner: Json, path: string): readonly FieldError[] {
  const apiVersion = textAt(owner, 'apiVersion')
  const isEvent = apiVersion === 'v1' && textAt(owner, 'kind') === 'Event'
  const empty = ['kind', 'name', 'uid'].filter((field) => textAt(owner, field) === '')
  return [
    ...(groupVersion.test(apiVersion)
      ? []
      : [invalidField(`${path}.apiVersion`, apiVersion, 'version must not be empty')]),
    ...empty.map((field) => invalidField(`${path}.${field}`, '', 'must not be empty')),
    ...(isEvent ? [invalidField(path, owner, '/v1, Kind=Event is disallowed from being an owner')] : []),
  ]
}

/** The finalizers that a deletion sets for its propagation policy; an object may have only one of them. */
const [leaving, waiting] = ['orphan', 'foregroundDeletion']

function checkFinalizers(finalizers: readonly string[], path: string): readonly FieldError[] {
  const errors = finalizers.flatMap((finalizer) =>
    qualifiedNameProblems(finalizer).map((why) => invalidField(path, finalizer, why)),
  )
  const isBoth = finalizers.includes(leaving) && finalizers.includes(waiting)
  const why = `finalizer ${leaving} and ${waiting} cannot be both set`
  return isBoth ? [...errors, invalidField(path, [...finalizers], why)] : errors
}

const standardFinalizers: readonly string[] = ['kubernetes', leaving, waiting]

/** Checks the finalizers of nearly all built-in kinds: finalizers other than Kubernetes' own have a domain. */
export function checkFinalizerDomains(
  finalizers: readonly Json[],
  pathOf: (index: number) => string,
): readonly FieldError[] {
  const why = 'name is neither a standard finalizer name nor is it fully qualified'
  return finalizers.flatMap((finalizer, index) => {
    const isGood = !isText(finalizer) || finalizer.includes('/') || standardFinalizers.includes(finalizer)
    return isGood ? [] : [invalidField(pathOf(index), finalizer, why)]
  })
}
