import type { Json } from '../../model/api-object.ts'
import { type ApiDocument, listAt, textAt, valueAt, without } from '../document.ts'
import { validateOperator, validateRequirement } from '../resources/label-selector.ts'
import { type Check, each, fields } from '../schema/checks.ts'
import { type FieldError, invalidField, requiredField } from '../schema/field-error.ts'

/** Returns the errors of a SubjectAccessReview. */
export function checkAccessReview(review: ApiDocument): readonly FieldError[] {
  return [...checkAttributes(review), ...checkSubject(review), ...checkBare(review, 'must be empty')]
}

/** Returns the errors of a SelfSubjectAccessReview. */
export function checkSelfReview(review: ApiDocument): readonly FieldError[] {
  return [...checkAttributes(review), ...checkBare(review, 'must be empty')]
}

/** Returns the errors of a LocalSubjectAccessReview, which asks about the namespace of the review. */
export function checkLocalReview(review: ApiDocument): readonly FieldError[] {
  const { namespace } = review.metadata
  const [asked, path] = attributesOf(review)
  const elsewhere = asked !== undefined && textAt(asked, 'namespace') !== namespace
  return [
    ...checkAttributes(review),
    ...checkSubject(review),
    ...checkBare({ ...review, metadata: without(review.metadata, 'namespace') }, 'must be empty except for namespace'),
    ...(elsewhere
      ? [invalidField(`${resourceField}.namespace`, textAt(asked, 'namespace'), 'must match metadata.namespace')]
      : []),
    ...(path === undefined ? [] : [invalidField(pathField, path, 'disallowed on this kind of request')]),
  ]
}

const resourceField = 'spec.resourceAttributes'
const pathField = 'spec.nonResourceAttributes'

function attributesOf({ spec }: ApiDocument): readonly [asked: Json | undefined, path: Json | undefined] {
  return [valueAt(spec, 'resourceAttributes'), valueAt(spec, 'nonResourceAttributes')]
}

function checkAttributes(review: ApiDocument): readonly FieldError[] {
  const [asked, path] = attributesOf(review)
  if (asked === undefined && path === undefined) {
    const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
    return [invalidField(resourceField, null, why)]
  }
  const both = 'cannot be specified in combination with resourceAttributes'
  return [
    ...(asked !== undefined && path !== undefined ? [invalidField(pathField, path, both)] : []),
    ...(asked === undefined ? [] : selectorRules(asked, resourceField)),
  ]
}

function checkSubject({ spec }: ApiDocument): readonly FieldError[] {
  if (textAt(spec, 'user') !== '' || listAt(spec, 'groups').length > 0) return []
  return [invalidField('spec.user', '', 'at least one of user or group must be specified')]
}

/** Checks that a review has no name and no labels: it is not a stored object. */
function checkBare({ metadata }: ApiDocument, why: string): readonly FieldError[] {
  const named = Object.entries(without(metadata, 'managedFields')).filter(([, value]) => value !== '')
  return named.length === 0 ? [] : [invalidField('metadata', Object.fromEntries(named), why)]
}

const selectorRules = fields({
  fieldSelector: checkSelector(each(checkFieldRequirement)),
  labelSelector: checkSelector(each((value, path) => validateRequirement(value, path, 'any-operator'))),
})

function checkSelector(requirements: Check): Check {
  return (selector, path) => {
    const [raw, count] = [textAt(selector, 'rawSelector'), listAt(selector, 'requirements').length]
    const missing = `when ${path} is specified, requirements or rawSelector is required`
    return [
      ...(raw !== '' && count > 0
        ? [invalidField(`${path}.rawSelector`, raw, 'may not specified at the same time as requirements')]
        : []),
      ...(raw === '' && count === 0 ? [requiredField(`${path}.requirements`, missing)] : []),
      ...requirements(valueAt(selector, 'requirements') ?? [], `${path}.requirements`),
    ]
  }
}

function checkFieldRequirement(requirement: Json, path: string): readonly FieldError[] {
  return [
    ...(textAt(requirement, 'key') === '' ? [requiredField(`${path}.key`, 'must be specified')] : []),
    ...validateOperator(requirement, path, 'any-operator'),
  ]
}
