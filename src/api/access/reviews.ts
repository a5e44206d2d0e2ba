import type { Json, JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type FieldSelector, parseFieldSelector, SelectorError } from '../../model/selector.ts'
import { type ApiDocument, listAt, objectAt, textAt, valueAt } from '../document.ts'
import type { User } from '../identity.ts'
import { defineKind } from '../resources/define-kind.ts'
import type { Resource, Review, Strategy } from '../resources/resource.ts'
import { badRequest } from '../status.ts'
import type { Attributes } from './attributes.ts'
import type { TokenAuthenticator } from './authenticate.ts'
import { isAllowed } from './authorize.ts'
import type { Authorizer } from './authorizer.ts'
import { checkAccessReview, checkLocalReview, checkSelfReview } from './review-rules.ts'
import type { Grant, RoleIndex } from './role-index.ts'

export interface ReviewParts {
  readonly dialect: Dialect
  readonly authorizers: readonly Authorizer[]
  readonly roles: RoleIndex | undefined
  readonly authenticateToken: TokenAuthenticator
}

/** Returns the kinds by which clients ask for their own identity and for a user's permissions. */
export function reviewKinds({ dialect, authorizers, roles, authenticateToken }: ReviewParts): readonly Resource[] {
  const { authentication, authorization } = dialect.groups
  const decide = (user: User, document: ApiDocument) => ({ allowed: isAllowed(user, askedFor(document), authorizers) })
  const decideOther: Review = ({ document }) => decide(subjectOf(document), document)
  return [
    kind(authorization, 'SelfSubjectAccessReview', ({ user, document }) => decide(user, document), checkSelfReview),
    kind(authorization, 'SubjectAccessReview', decideOther, checkAccessReview),
    { ...kind(authorization, 'LocalSubjectAccessReview', decideOther, checkLocalReview), namespaced: true },
    kind(authorization, 'SelfSubjectRulesReview', ({ user, document }) => {
      const namespace = textAt(document['spec'], 'namespace')
      if (namespace === '') throw badRequest('no namespace on request')
      return listRules(roles?.grantsOf(user) ?? [], namespace)
    }),
    kind(authentication, 'SelfSubjectReview', ({ user }) => ({ userInfo: userInfo(user) })),
    kind(authentication, 'TokenReview', async ({ document }) => {
      const token = textAt(document['spec'], 'token')
      if (token === '') throw badRequest('token is required for TokenReview in authentication')
      const identity = await authenticateToken(token, audiencesOf(document))
      if (identity === undefined) return { authenticated: false }
      const { user, audiences } = identity
      return { authenticated: true, user: userInfo(user), ...(audiences.length === 0 ? {} : { audiences }) }
    }),
  ]
}

function kind(group: string, name: string, review: Review, validate?: Strategy['validate']): Resource {
  const plural = `${name.toLowerCase()}s`
  const strategy = validate === undefined ? {} : { validate }
  return defineKind({ group, version: 'v1', kind: name, plural, namespaced: false, review, strategy })
}

function askedFor({ spec }: ApiDocument): Attributes {
  const path = valueAt(spec, 'nonResourceAttributes')
  if (path !== undefined) return { kind: 'path', verb: textAt(path, 'verb'), path: textAt(path, 'path') }
  const asked = objectAt(spec, 'resourceAttributes')
  const subresource = textAt(asked, 'subresource')
  return {
    kind: 'resource',
    verb: textAt(asked, 'verb'),
    group: textAt(asked, 'group'),
    resource: subresource === '' ? textAt(asked, 'resource') : `${textAt(asked, 'resource')}/${subresource}`,
    namespace: textAt(asked, 'namespace'),
    name: textAt(asked, 'name'),
    fieldSelector: fieldSelectorOf(asked),
  }
}

/** Returns the selector of a review. It omits requirements that it cannot read: the question then covers more objects. */
function fieldSelectorOf(asked: Json): FieldSelector {
  const raw = textAt(asked, 'fieldSelector', 'rawSelector')
  if (raw !== '') return readSelector(raw)
  return listAt(asked, 'fieldSelector', 'requirements').flatMap((requirement) => {
    const [field, operator] = [textAt(requirement, 'key'), fieldOperators.get(textAt(requirement, 'operator'))]
    const values = listAt(requirement, 'values').map((value) => textAt(value))
    const [value] = values
    return operator === undefined || value === undefined || values.length > 1 ? [] : [{ field, operator, value }]
  })
}

const fieldOperators: ReadonlyMap<string, '=' | '!='> = new Map([
  ['In', '='],
  ['NotIn', '!='],
])

function readSelector(raw: string): FieldSelector {
  try {
    return parseFieldSelector(raw)
  } catch (thrown) {
    if (thrown instanceof SelectorError) return []
    throw thrown
  }
}

function subjectOf({ spec }: ApiDocument): User {
  const groups = listAt(spec, 'groups').filter((group) => typeof group === 'string')
  return { name: textAt(spec, 'user'), groups }
}

/** Lists the rules that the bindings of the namespace and of the cluster grant; it omits what other authorizers allow. */
function listRules(grants: readonly Grant[], namespace: string): JsonObject {
  const rules = grants
    .filter((grant) => grant.namespace === undefined || grant.namespace === namespace)
    .flatMap((grant) => grant.rules)
  return {
    resourceRules: rules
      .filter(({ resources }) => resources.length > 0)
      .map(({ verbs, apiGroups, resources, resourceNames }) => ({ verbs, apiGroups, resources, resourceNames })),
    nonResourceRules: rules
      .filter(({ nonResourceURLs }) => nonResourceURLs.length > 0)
      .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
    incomplete: false,
  }
}

function audiencesOf({ spec }: ApiDocument): readonly string[] {
  return listAt(spec, 'audiences').filter((audience) => typeof audience === 'string')
}

function userInfo({ name, groups, uid, extra }: User): JsonObject {
  return { username: name, groups, ...(uid !== undefined && { uid }), ...(extra !== undefined && { extra }) }
}
