import type { Environment } from '../compile-source.ts'
import { CelType, listType, mapType, parseType, types } from '../values/types.ts'
import { namespaceType, requestType } from './request-types.ts'

/** The variables of an expression of admission, and their types where they are known. */
export interface PolicyScope {
  readonly hasParams: boolean
  readonly hasAuthorizer: boolean
  /** The types of the policy's own variables; absent: the expression cannot name any. */
  readonly variables?: ReadonlyMap<string, CelType> | undefined
  /** The type of `object` and `oldObject`; absent: not known. */
  readonly objectType?: CelType
  readonly paramsType?: CelType
  readonly functions: Environment['functions']
}

/** Returns the environment of an expression of a policy, or of a match condition of a webhook. */
export function policyEnvironment(scope: PolicyScope): Environment {
  const { objectType = types.dyn, paramsType = types.dyn, hasParams, hasAuthorizer, functions } = scope
  const variables = new Map([
    ['object', objectType],
    ['oldObject', objectType],
    ['namespaceObject', namespaceType],
    ['request', requestType],
  ])
  if (hasParams) variables.set('params', paramsType)
  if (hasAuthorizer) {
    variables.set('authorizer', parseType('kubernetes.authorization.Authorizer'))
    variables.set('authorizer.requestResource', parseType('kubernetes.authorization.ResourceCheck'))
  }
  if (scope.variables !== undefined) {
    variables.set('variables', new CelType('struct', 'kubernetes.variables', [], scope.variables))
  }
  return { variables, functions }
}

/** Returns the type of a variable as other expressions see it: Kubernetes forgets the types of objects. */
export function declaredType(type: CelType): CelType {
  const [first = types.dyn, second = types.dyn] = type.parameters
  if (type.kind === 'list') return listType(declaredType(first))
  if (type.kind === 'map') return mapType(declaredType(first), declaredType(second))
  return Object.values<CelType>(types).includes(type) && type !== types.type ? type : types.dyn
}

/** Returns the name of a type as cel-go shows it outside of its own issues: `list(string)`, `null_type`. */
export function nameOfType({ name, parameters }: CelType): string {
  return parameters.length === 0 ? name : `${name}(${parameters.map(nameOfType).join(', ')})`
}
