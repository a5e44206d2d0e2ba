import { checkDnsLabel, checkDnsSubdomain } from '../../schema/names.ts'
import { parseType } from '../values/types.ts'
import { CelError, OpaqueValue, type Value } from '../values/values.ts'
import type { CelFunction } from './declarations.ts'

/** A question of an expression: may the user do this? */
export type AccessQuestion =
  | { readonly kind: 'path'; readonly verb: string; readonly path: string }
  | {
      readonly kind: 'resource'
      readonly verb: string
      readonly group: string
      readonly resource: string
      readonly subresource: string
      readonly namespace: string
      readonly name: string
      readonly fieldSelector: string
    }

/** The permissions of one user. */
export interface Access {
  readonly allows: (question: AccessQuestion) => boolean
  /** Returns the permissions of a service account. */
  readonly ofServiceAccount: (namespace: string, name: string) => Access
}

/** A value that is only asked, never compared with another one. */
abstract class Receiver extends OpaqueValue {
  equals(other: OpaqueValue): boolean {
    return other === this
  }
}

/** The variable `authorizer`. */
export class AuthorizerValue extends Receiver {
  readonly type = parseType('kubernetes.authorization.Authorizer')
  readonly access: Access

  constructor(access: Access) {
    super()
    this.access = access
  }
}

class PathCheck extends Receiver {
  readonly type = parseType('kubernetes.authorization.PathCheck')
  readonly access: Access
  readonly path: string

  constructor(access: Access, path: string) {
    super()
    this.access = access
    this.path = path
  }
}

class GroupCheck extends Receiver {
  readonly type = parseType('kubernetes.authorization.GroupCheck')
  readonly access: Access
  readonly group: string

  constructor(access: Access, group: string) {
    super()
    this.access = access
    this.group = group
  }
}

type ResourceQuestion = Omit<Extract<AccessQuestion, { kind: 'resource' }>, 'verb'>

/** A question about a resource that still lacks the verb; `authorizer.requestResource` is one. */
export class ResourceCheck extends Receiver {
  readonly type = parseType('kubernetes.authorization.ResourceCheck')
  readonly access: Access
  readonly question: ResourceQuestion

  constructor(access: Access, question: ResourceQuestion) {
    super()
    this.access = access
    this.question = question
  }

  with(part: Partial<ResourceQuestion>): ResourceCheck {
    return new ResourceCheck(this.access, { ...this.question, ...part })
  }
}

class Decision extends Receiver {
  readonly type = parseType('kubernetes.authorization.Decision')
  readonly isAllowed: boolean

  constructor(isAllowed: boolean) {
    super()
    this.isAllowed = isAllowed
  }
}

function serviceAccount({ access }: AuthorizerValue, namespace: string, name: string): Value {
  if (checkDnsSubdomain(name) !== undefined) return new CelError('Invalid service account name')
  if (checkDnsLabel(namespace) !== undefined) return new CelError('Invalid service account namespace')
  return new AuthorizerValue(access.ofServiceAccount(namespace, name))
}

function resource({ access, group }: GroupCheck, plural: string): Value {
  if (plural.trim() === '') return new CelError('resource must not be empty')
  const rest = { subresource: '', namespace: '', name: '', fieldSelector: '' }
  return new ResourceCheck(access, { kind: 'resource', group, resource: plural, ...rest })
}

/** Declares the functions of one type; its name and those of the results are in `kubernetes.authorization`. */
function functionsOf(type: string, functions: readonly (readonly [string, string, CelFunction[1]])[]) {
  return functions.map(([signature, result, run]): CelFunction => {
    const name = /^[A-Z]/.test(result) ? `kubernetes.authorization.${result}` : result
    return [`kubernetes.authorization.${type}.${signature}: ${name}`, run]
  })
}

/** The authorizer library of Kubernetes. An authorizer here gives no reasons and no errors. */
export const authorizerFunctions: readonly CelFunction[] = [
  ...functionsOf('Authorizer', [
    [
      'path(string)',
      'PathCheck',
      ({ access }: AuthorizerValue, path: string) =>
        path.trim() === '' ? new CelError('path must not be empty') : new PathCheck(access, path),
    ],
    ['group(string)', 'GroupCheck', ({ access }: AuthorizerValue, group: string) => new GroupCheck(access, group)],
    ['serviceAccount(string, string)', 'Authorizer', serviceAccount],
  ]),
  ...functionsOf('PathCheck', [
    [
      'check(string)',
      'Decision',
      ({ access, path }: PathCheck, verb: string) => new Decision(access.allows({ kind: 'path', path, verb })),
    ],
  ]),
  ...functionsOf('GroupCheck', [['resource(string)', 'ResourceCheck', resource]]),
  ...functionsOf('ResourceCheck', [
    [
      'check(string)',
      'Decision',
      ({ access, question }: ResourceCheck, verb: string) => new Decision(access.allows({ ...question, verb })),
    ],
    ...(['subresource', 'namespace', 'name', 'fieldSelector'] as const).map(
      (field) =>
        [
          `${field}(string)`,
          'ResourceCheck',
          (check: ResourceCheck, text: string) => check.with({ [field]: text }),
        ] as const,
    ),
    // No authorizer of this server looks at the labels that a list selects.
    ['labelSelector(string)', 'ResourceCheck', (check: ResourceCheck) => check],
  ]),
  ...functionsOf('Decision', [
    ['allowed()', 'bool', ({ isAllowed }: Decision) => isAllowed],
    ['reason()', 'string', () => ''],
    ['errored()', 'bool', () => false],
    ['error()', 'string', () => ''],
  ]),
]
