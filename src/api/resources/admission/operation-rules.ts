import type { Json } from '../../../model/api-object.ts'
import { listAt, textAt } from '../../document.ts'
import { all, type Check, fields } from '../../schema/checks.ts'
import { type FieldError, invalidField, requiredField, unsupportedField } from '../../schema/field-error.ts'

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE']
const scopes = ['*', 'Cluster', 'Namespaced']

const scope: Check = (value, path) => (scopes.includes(textAt(value)) ? [] : [unsupportedField(path, value, scopes)])

const scopeOf = fields({ scope })

/** Checks a rule that says which operations on which resources an admission webhook or policy takes. */
export const ruleWithOperations: Check = all([
  (rule, path) => [
    ...checkOperations(listAt(rule, 'operations'), `${path}.operations`),
    ...checkGroups(listAt(rule, 'apiGroups'), `${path}.apiGroups`),
    ...checkVersions(listAt(rule, 'apiVersions'), `${path}.apiVersions`),
    ...checkResources(listAt(rule, 'resources'), `${path}.resources`),
  ],
  scopeOf,
])

function checkOperations(list: readonly Json[], path: string): readonly FieldError[] {
  return [
    ...checkNotEmpty(list, path),
    ...checkWildcard(list, path, 'operations'),
    ...list.flatMap((each, index) =>
      operations.includes(textAt(each)) ? [] : [unsupportedField(`${path}[${index}]`, each, operations)],
    ),
  ]
}

/** An empty group is the core group. */
function checkGroups(list: readonly Json[], path: string): readonly FieldError[] {
  return [...checkNotEmpty(list, path), ...checkWildcard(list, path, 'API groups')]
}

function checkVersions(list: readonly Json[], path: string): readonly FieldError[] {
  return [
    ...checkNotEmpty(list, path),
    ...checkWildcard(list, path, 'API versions'),
    ...list.flatMap((each, index) => (textAt(each) === '' ? [requiredField(`${path}[${index}]`)] : [])),
  ]
}

function checkNotEmpty(list: readonly Json[], path: string): readonly FieldError[] {
  return list.length === 0 ? [requiredField(path)] : []
}

function checkWildcard(list: readonly Json[], path: string, what: string): readonly FieldError[] {
  if (list.length < 2 || !list.includes('*')) return []
  return [invalidField(path, [...list], `if '*' is present, must not specify other ${what}`)]
}

/** Checks resources, which may have a subresource: `pods`, `pods/status`, with wildcards for either. */
function checkResources(list: readonly Json[], path: string): readonly FieldError[] {
  const names = list.map((each) => textAt(each))
  // Kubernetes looks at the last name without a subresource alone.
  const last = names.filter((name) => name !== '' && !name.includes('/')).at(-1)
  return [
    ...checkNotEmpty(list, path),
    ...checkSubresources(names, path),
    ...(names.length > 1 && names.includes('*/*')
      ? [invalidField(path, [...list], "if '*/*' is present, must not specify other resources")]
      : []),
    ...(names.includes('*') && last !== '*'
      ? [invalidField(path, [...list], "if '*' is present, must not specify other resources without subresources")]
      : []),
  ]
}

/** Checks that no name is part of an earlier one with a wildcard. */
function checkSubresources(names: readonly string[], path: string): readonly FieldError[] {
  const ofAnySubresource = new Set<string>()
  const ofAnyResource = new Set<string>()
  return names.flatMap((name, index) => {
    const at = `${path}[${index}]`
    if (name === '') return [requiredField(at)]
    const slash = name.indexOf('/')
    if (slash < 0) return []
    const [resource, subresource] = [name.slice(0, slash), name.slice(slash + 1)]
    const errors = [
      ...(ofAnySubresource.has(resource) ? [covered(at, name, `${resource}/*`)] : []),
      ...(ofAnyResource.has(subresource) ? [covered(at, name, `*/${subresource}`)] : []),
    ]
    if (subresource === '*') ofAnySubresource.add(resource)
    if (resource === '*') ofAnyResource.add(subresource)
    return errors
  })
}

function covered(path: string, name: string, by: string): FieldError {
  return invalidField(path, name, `if '${by}' is present, must not specify ${name}`)
}
