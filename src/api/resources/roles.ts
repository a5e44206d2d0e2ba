import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, isJsonObject, listAt, objectAt, textAt } from '../document.ts'
import { builtInSchema } from '../schema/built-in-schema.ts'
import {
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from '../schema/field-error.ts'
import { checkPathSegment } from './names.ts'
import { column, type Resource, type Strategy } from './resource.ts'

/** Role, ClusterRole, RoleBinding and ClusterRoleBinding: who may do what. */
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
    validateName: checkPathSegment,
    validate: (role) =>
      listAt(role['rules']).flatMap((rule, index) => checkRule(rule, `rules[${index}]`, isNamespaced)),
  }
}

function checkRule(rule: Json, field: string, isNamespaced: boolean): readonly FieldError[] {
  const needed = (name: string, why: string) =>
    listAt(rule, name).length > 0 ? [] : [requiredField(`${field}.${name}`, why)]
  const verbs = needed('verbs', 'verbs must contain at least one value')
  const urls = listAt(rule, 'nonResourceURLs')
  if (urls.length === 0) {
    return [
      ...verbs,
      ...needed('apiGroups', 'resource rules must supply at least one api group'),
      ...needed('resources', 'resource rules must supply at least one resource'),
    ]
  }
  const at = `${field}.nonResourceURLs`
  if (isNamespaced) return [...verbs, invalidField(at, urls, 'namespaced rules cannot apply to non-resource URLs')]
  const isMixed = ['apiGroups', 'resources', 'resourceNames'].some((name) => listAt(rule, name).length > 0)
  return isMixed
    ? [...verbs, invalidField(at, urls, 'rules cannot apply to both regular resources and non-resource URLs')]
    : verbs
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
    validateName: checkPathSegment,
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

function checkRoleRef(binding: ApiDocument, rbac: string, roleKinds: readonly string[]): readonly FieldError[] {
  const [apiGroup, kindName, name] = ['apiGroup', 'kind', 'name'].map((field) => textAt(binding['roleRef'], field))
  return [
    ...(apiGroup === rbac ? [] : [unsupportedField('roleRef.apiGroup', apiGroup, [rbac])]),
    ...(roleKinds.includes(kindName ?? '') ? [] : [unsupportedField('roleRef.kind', kindName, roleKinds)]),
    ...(name ? [] : [requiredField('roleRef.name')]),
  ]
}

const subjectKinds = ['ServiceAccount', 'User', 'Group']

function checkSubject(subject: Json, field: string, rbac: string, isNamespaced: boolean): readonly FieldError[] {
  const [subjectKind, apiGroup] = [textAt(subject, 'kind'), textAt(subject, 'apiGroup')]
  const nameless = textAt(subject, 'name') === '' ? [requiredField(`${field}.name`)] : []
  if (!subjectKinds.includes(subjectKind)) {
    return [...nameless, unsupportedField(`${field}.kind`, subjectKind, subjectKinds)]
  }
  const expected = subjectKind === 'ServiceAccount' ? '' : rbac
  const wrongGroup = apiGroup === expected ? [] : [unsupportedField(`${field}.apiGroup`, apiGroup, [expected])]
  const isPlaceless = subjectKind === 'ServiceAccount' && !isNamespaced && textAt(subject, 'namespace') === ''
  const placeless = isPlaceless ? [requiredField(`${field}.namespace`)] : []
  const isPlaced = subjectKind !== 'ServiceAccount' && textAt(subject, 'namespace') !== ''
  const placed = isPlaced ? [forbiddenField(`${field}.namespace`, 'only a ServiceAccount has a namespace')] : []
  return [...nameless, ...wrongGroup, ...placeless, ...placed]
}
