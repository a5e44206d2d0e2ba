import { type PolicyScope, policyEnvironment } from '../../cel/admission/policy-environment.ts'
import { checkSource } from '../../cel/compile-source.ts'
import { SchemaTypes } from '../../cel/schema-types.ts'
import type { CelType } from '../../cel/values/types.ts'
import { type ApiDocument, listAt, textAt } from '../../document.ts'
import type { Registry } from '../../resources/registry.ts'
import type { Resource } from '../../resources/resource.ts'
import { findParamResource } from './collect-params.ts'
import { compileVariables, paramKindOf } from './policy.ts'

/** An ExpressionWarning (admissionregistration.k8s.io/v1). */
export interface ExpressionWarning {
  readonly fieldRef: string
  readonly warning: string
}

/** The most kinds that an expression is checked against, as in Kubernetes. */
const maxKinds = 10

/**
 * Checks the expressions of a policy against the schemas of the kinds that its rules name without a wildcard. Returns
 * warnings in the words of Kubernetes; they do not change the effect of the policy.
 */
export function checkPolicyTypes({ spec }: ApiDocument, registry: Registry): readonly ExpressionWarning[] {
  const kinds = kindsToCheck(listAt(spec, 'matchConstraints', 'resourceRules'), registry)
  const paramKind = paramKindOf(spec)
  const params = paramKind && findParamResource(registry, paramKind)
  const variables = listAt(spec, 'variables')
  const scopes = kinds.map((resource) => {
    const base = scopeOf(typeOf(resource), params && typeOf(params))
    return { resource, scope: compileVariables(variables, base).scope }
  })
  const check = (fieldRef: string, expression: string): readonly ExpressionWarning[] => {
    const warning = scopes.flatMap(({ resource, scope }) => issuesOf(expression, resource, scope)).join('\n')
    return expression === '' || warning === '' ? [] : [{ fieldRef, warning }]
  }
  return listAt(spec, 'validations').flatMap((validation, index) =>
    ['expression', 'messageExpression'].flatMap((field) =>
      check(`spec.validations[${index}].${field}`, textAt(validation, field)),
    ),
  )
}

function scopeOf(objectType: CelType | undefined, paramsType: CelType | undefined): PolicyScope {
  return {
    hasParams: paramsType !== undefined,
    hasAuthorizer: true,
    functions: 'stored',
    ...(objectType === undefined ? {} : { objectType }),
    ...(paramsType === undefined ? {} : { paramsType }),
  }
}

function typeOf({ schema, kind }: Resource): CelType | undefined {
  return new SchemaTypes().typeOf(schema, true)?.typeNamed(kind)
}

function issuesOf(expression: string, resource: Resource, scope: PolicyScope): readonly string[] {
  const result = checkSource(expression, policyEnvironment(scope))
  return 'issues' in result ? [`${nameOf(resource)}: ${result.issues}\n`] : []
}

function nameOf({ group, version, kind }: Resource): string {
  return `${group}/${version}, Kind=${kind}`
}

function kindsToCheck(rules: ReturnType<typeof listAt>, registry: Registry): readonly Resource[] {
  const found = rules.flatMap((rule) => {
    const [groups, versions] = ['apiGroups', 'apiVersions'].map((field) => exactNames(listAt(rule, field)))
    const resources = listAt(rule, 'resources')
      .map((each) => textAt(each))
      .filter((name) => !/[*/]/.test(name))
    return (groups ?? []).flatMap((group) =>
      (versions ?? []).flatMap((version) => resources.flatMap((plural) => registry.find(group, version, plural) ?? [])),
    )
  })
  const distinct = [...new Set(found)].slice(0, maxKinds)
  return distinct.toSorted((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1))
}

/** Returns the names; none where one of them is a wildcard. */
function exactNames(names: ReturnType<typeof listAt>): readonly string[] {
  return names.includes('*') ? [] : names.map((name) => textAt(name))
}
