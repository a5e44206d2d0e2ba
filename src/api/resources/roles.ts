import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, isJsonObject, listAt, objectAt, textAt } from '../document.ts'
import { builtInSchema } from '../schema/built-in-schema.ts'
import { all, fields, required, text } from '../schema/checks.ts'
import { type FieldError, invalidField, requiredField, unsupportedField } from '../schema/field-error.ts'
import { checkDnsSubdomain, checkPathSegment } from '../schema/names.ts'
import { validateLabelSelector } from './label-selector.ts'
import { column, type Resource, type Strategy } from './resource.ts'

const common: Strategy = { validateName: checkPathSegment, createsOnUpdate: true }

/** The kinds Role, ClusterRole, RoleBinding and ClusterRoleBinding. */
export function roles({ groups: { rbac } }: Dialect): readonly Resource[] {
  return [
    { ...kind(rbac, 'Role', true, []), strategy: roleStrategy(true) },
    { ...kind(rbac, 'ClusterRole', false, []), strategy: roleStrategy(false) },
    {
      ...kind(rbac, 'RoleBinding', true, [column('Role', roleOf)]),
      strategy: bindingStrategy(rbac, ['Role', 'ClusterRole']),
    },
    {
      ...kind(rbac, 'ClusterRoleBinding', false, [column('Role', roleOf)]),
      strategy: bindingStrategy(rbac, ['ClusterRole']),
    },
  ]
}

function kind(
  group: string,
  name: string,
  namespaced: boolean,
  columns: Resource['columns'],
): Omit<Resource, 'strategy'> {
  const singular = name.toLowerCase()
  return {
    group,
    version: 'v1',
    kind: name,
    plural: `${singular}s`,
    singular,
    shortNames: [],
    categories: [],
    namespaced,
    subresources: [],
    schema: builtInSchema(group, 'v1', name),
    countsGeneration: false,
    selectableFields: {},
    columns,
  }
}

function roleOf(binding: ApiDocument): string {
  return `${textAt(binding['roleRef'], 'kind')}/${textAt(binding['roleRef'], 'name')}`
}

function roleStrategy(isNamespaced: boolean): Strategy {
  return {
    ...common,
    validate: (role) => [
      ...listAt(role['rules']).flatMap((rule, index) => checkRule(rule, `rules[${index}]`, isNamespaced)),
      ...(isNamespaced ? [] : aggregationRules(role, '')),
    ],
  }
}

const aggregationRules = fields({ aggregationRule: checkAggregation })

function checkAggregation(value: Json, path: string): readonly FieldError[] {
  const field = `${path}.clusterRoleSelectors`
  const selectors = listAt(value, 'clusterRoleSelectors')
  if (selectors.length === 0)
    return [requiredField(field, 'at least one clusterRoleSelector required if aggregationRule is non-nil')]
  return selectors.flatMap((selector, index) => {
    const errors = validateLabelSelector(selector, `${field}[${index}]`)
    return errors.length === 0 ? [] : [...errors, invalidField(`${field}[${index}]`, null, 'invalid label selector.')]
  })
}

function checkRule(rule: Json, field: string, isNamespaced: boolean): readonly FieldError[] {
  const needed = (name: string, why: string) =>
    listAt(rule, name).length > 0 ? [] : [requiredField(`${field}.${name}`, why)]
  const verbs = needed('verbs', 'verbs must contain at least one value')
  const urls = listAt(rule, 'nonResourceURLs')
  if (urls.length > 0) return [...verbs, ...checkUrls(rule, `${field}.nonResourceURLs`, isNamespaced)]
  return [
    ...verbs,
    ...needed('apiGroups', 'resource rules must supply at least one api group'),
    ...needed('resources', 'resource rules must supply at least one resource'),
  ]
}

function checkUrls(rule: Json, field: string, isNamespaced: boolean): readonly FieldError[] {
  const urls = listAt(rule, 'nonResourceURLs')
  const isMixed = ['apiGroups', 'resources', 'resourceNames'].some((name) => listAt(rule, name).length > 0)
  const mixed = 'rules cannot apply to both regular resources and non-resource URLs'
  return [
    ...(isNamespaced ? [invalidField(field, urls, 'namespaced rules cannot apply to non-resource URLs')] : []),
    ...(isMixed ? [invalidField(field, urls, mixed)] : []),
  ]
}

function bindingStrategy(rbac: string, roleKinds: readonly string[]): Strategy {
  const withDefaults = (binding: ApiDocument): ApiDocument => ({
    ...binding,
    roleRef: { ...objectAt(binding['roleRef']), apiGroup: textAt(binding['roleRef'], 'apiGroup') || rbac },
    ...(binding['subjects'] === undefined
      ? {}
      : { subjects: listAt(binding['subjects']).map((subject) => withGroup(subject, rbac)) }),
  })
  return {
    ...common,
    prepareForCreate: withDefaults,
    prepareForUpdate: withDefaults,
    validate: (binding) => [
      ...checkRoleRef(binding, rbac, roleKinds),
      ...listAt(binding['subjects']).flatMap((subject, index) =>
        checkSubject(subject, `subjects[${index}]`, rbac, binding.metadata.namespace !== undefined),
      ),
    ],
    validateUpdate: (binding, old) =>
      isDeepStrictEqual(binding['roleRef'], old['roleRef'])
        ? []
        : [invalidField('roleRef', binding['roleRef'], 'cannot change roleRef')],
  }
}

function withGroup(subject: Json, rbac: string): Json {
  if (!isJsonObject(subject) || textAt(subject, 'apiGroup') !== '' || textAt(subject, 'kind') === 'ServiceAccount') {
    return subject
  }
  return { ...subject, apiGroup: rbac }
}

const roleName = all([required('name'), fields({ name: text(checkPathSegment) })])

function checkRoleRef(binding: ApiDocument, rbac: string, roleKinds: readonly string[]): readonly FieldError[] {
  const reference = objectAt(binding['roleRef'])
  const [apiGroup, kindName] = [textAt(reference, 'apiGroup'), textAt(reference, 'kind')]
  return [
    ...(apiGroup === rbac ? [] : [unsupportedField('roleRef.apiGroup', apiGroup, [rbac])]),
    ...(roleKinds.includes(kindName) ? [] : [unsupportedField('roleRef.kind', kindName, roleKinds)]),
    ...roleName(reference, 'roleRef'),
  ]
}

const subjectKinds = ['ServiceAccount', 'User', 'Group']
const subjectName = required('name')
const accountName = fields({ name: text(checkDnsSubdomain) })

/**
 * Checks a subject. A namespace of a User or Group has no meaning and is accepted, because many published bindings have
 * one.
 */
function checkSubject(subject: Json, field: string, rbac: string, isNamespaced: boolean): readonly FieldError[] {
  const [subjectKind, apiGroup] = [textAt(subject, 'kind'), textAt(subject, 'apiGroup')]
  const nameless = subjectName(subject, field)
  if (!subjectKinds.includes(subjectKind))
    return [...nameless, unsupportedField(`${field}.kind`, subjectKind, subjectKinds)]
  const isAccount = subjectKind === 'ServiceAccount'
  const expected = isAccount ? '' : rbac
  const isPlaceless = isAccount && !isNamespaced && textAt(subject, 'namespace') === ''
  return [
    ...nameless,
    ...(isAccount ? accountName(subject, field) : []),
    ...(apiGroup === expected ? [] : [unsupportedField(`${field}.apiGroup`, apiGroup, [expected])]),
    ...(isPlaceless ? [requiredField(`${field}.namespace`)] : []),
  ]
}
