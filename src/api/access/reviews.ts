import type { JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, listAt, objectAt, textAt } from '../document.ts'
import { defineKind } from '../resources/define-kind.ts'
import type { Question, Resource, Review } from '../resources/resource.ts'
import { badRequest } from '../status.ts'
import type { Attributes } from './attributes.ts'
import type { TokenAuthenticator, User } from './authenticate.ts'
import { isAllowed } from './authorize.ts'
import type { Authorizer } from './authorizer.ts'
import type { Grant, RoleIndex } from './role-index.ts'

export interface ReviewParts {
  readonly dialect: Dialect
  readonly authorizers: readonly Authorizer[]
  readonly roles: RoleIndex | undefined
  readonly authenticateToken: TokenAuthenticator
}

/** The kinds by which clients ask who they are and what somebody may do. */
export function reviewKinds({ dialect, authorizers, roles, authenticateToken }: ReviewParts): readonly Resource[] {
  const { authentication, authorization } = dialect.groups
  const decide = (user: User, document: ApiDocument) => ({ allowed: isAllowed(user, askedFor(document), authorizers) })
  const decideOther: Review = ({ document }) => decide(subjectOf(document), document)
  return [
    kind(authorization, 'SelfSubjectAccessReview', ({ user, document }) => decide(user, document)),
    kind(authorization, 'SubjectAccessReview', decideOther),
    {
      ...kind(authorization, 'LocalSubjectAccessReview', (asked) => decideOther(assertLocal(asked))),
      namespaced: true,
    },
    kind(authorization, 'SelfSubjectRulesReview', ({ user, document }) =>
      listRules(roles?.grantsOf(user) ?? [], textAt(document['spec'], 'namespace')),
    ),
    kind(authentication, 'SelfSubjectReview', ({ user }) => ({ userInfo: userInfo(user) })),
    kind(authentication, 'TokenReview', async ({ document }) => {
      const token = textAt(document['spec'], 'token')
      if (token === '') throw badRequest('spec.token: expected a token')
      const identity = await authenticateToken(token, audiencesOf(document))
      if (identity === undefined) return { authenticated: false }
      const { user, audiences } = identity
      return { authenticated: true, user: userInfo(user), ...(audiences.length === 0 ? {} : { audiences }) }
    }),
  ]
}

function kind(group: string, name: string, review: Review): Resource {
  const plural = `${name.toLowerCase()}s`
  return defineKind({ group, version: 'v1', kind: name, plural, namespaced: false, review })
}

function askedFor({ spec }: ApiDocument): Attributes {
  const path = objectAt(spec, 'nonResourceAttributes')
  const asked = objectAt(spec, 'resourceAttributes')
  if (Object.keys(path).length > 0) {
    return { kind: 'path', verb: textAt(path, 'verb'), path: textAt(path, 'path') }
  }
  if (Object.keys(asked).length === 0) {
    throw badRequest('spec: expected one of resourceAttributes and nonResourceAttributes')
  }
  const subresource = textAt(asked, 'subresource')
  return {
    kind: 'resource',
    verb: textAt(asked, 'verb'),
    group: textAt(asked, 'group'),
    resource: subresource === '' ? textAt(asked, 'resource') : `${textAt(asked, 'resource')}/${subresource}`,
    namespace: textAt(asked, 'namespace'),
    name: textAt(asked, 'name'),
    fieldSelector: [],
  }
}

function subjectOf({ spec }: ApiDocument): User {
  const groups = listAt(spec, 'groups').filter((group) => typeof group === 'string')
  const name = textAt(spec, 'user')
  if (name === '' && groups.length === 0) throw badRequest('spec: expected at least one of user and groups')
  return { name, groups }
}

function assertLocal(question: Question): Question {
  const { document } = question
  if (textAt(document['spec'], 'resourceAttributes', 'namespace') === document.metadata.namespace) return question
  throw badRequest('spec.resourceAttributes.namespace: expected the namespace of the review')
}

/** What the bindings of the namespace and those of the whole cluster grant; what other authorizers allow is not in it. */
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
