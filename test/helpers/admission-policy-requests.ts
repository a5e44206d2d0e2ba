export type Fields = Readonly<Record<string, unknown>>

/** A request that both servers get as a dry run. */
export interface PolicyRequest {
  readonly method: string
  readonly path: string
  readonly body?: Fields
  readonly type?: string
}

/** A policy with its bindings, and requests of which the first shows that the policy is in effect. */
export interface PolicyCase {
  readonly title: string
  readonly policy: Fields
  readonly bindings?: readonly Fields[]
  readonly requests: readonly PolicyRequest[]
}

export const configMaps = '/api/v1/namespaces/default/configmaps'
export const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] }
export const constraints = { resourceRules: [rule] }
export const on = (fields: Fields) => ({ matchConstraints: { resourceRules: [{ ...rule, ...fields }] } })
export const create = (name: string, data: Fields = {}, metadata: Fields = {}): PolicyRequest => ({
  method: 'POST',
  path: configMaps,
  body: { metadata: { name, ...metadata }, data },
})
export const merge = (path: string, body: Fields): PolicyRequest => {
  return { method: 'PATCH', path, body, type: 'application/merge-patch+json' }
}
export const one = create('a', { x: '1' })
export const two = create('b', { x: '1', y: '2' })
export const few = 'object.data.size() < 2'

export function validates(title: string, validation: Fields, ...requests: readonly PolicyRequest[]): PolicyCase {
  return { title, policy: { validations: [validation] }, requests: requests.length === 0 ? [two, one] : requests }
}

/** A policy that refuses each request and says the value of an expression. */
export function shows(title: string, expression: string, ...requests: readonly PolicyRequest[]): PolicyCase {
  return validates(title, { expression: 'false', messageExpression: expression }, ...requests)
}
