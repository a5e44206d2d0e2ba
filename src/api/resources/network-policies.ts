import type { Json } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { cidrContains, parseCidr } from '../../model/ip.ts'
import { type ApiDocument, listAt, objectAt, textAt, valueAt } from '../document.ts'
import { all, type Check, each, exactlyOneOf, fields } from '../schema/checks.ts'
import { type FieldError, forbiddenField, invalidField, requiredField } from '../schema/field-error.ts'
import { checkPortName, checkPortNumber } from '../schema/names.ts'
import type { Schema } from '../schema/schema.ts'
import { defineKind } from './define-kind.ts'
import { formatLabelSelector, validateLabelSelector } from './label-selector.ts'
import { column, type Resource } from './resource.ts'

const policyProtocols = ['TCP', 'UDP', 'SCTP']

const badCidr = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'

const rules: Schema = { items: { properties: { ports: { items: { properties: { protocol: { default: 'TCP' } } } } } } }

export function networkPolicies(dialect: Dialect): Resource {
  return defineKind({
    group: dialect.groups.networking,
    version: 'v1',
    kind: 'NetworkPolicy',
    plural: 'networkpolicies',
    shortNames: ['netpol'],
    namespaced: true,
    defaults: { spec: { default: {}, properties: { podSelector: { default: {} }, ingress: rules, egress: rules } } },
    countsGeneration: true,
    columns: [column('Pod-Selector', (policy) => formatLabelSelector(valueAt(policy['spec'], 'podSelector')))],
    strategy: {
      prepareForCreate: defaultPolicyTypes,
      prepareForUpdate: defaultPolicyTypes,
      validate: ({ spec }) => specRules(spec ?? {}, 'spec'),
    },
  })
}

/** Returns the default policy types: Ingress always, Egress where there are egress rules. */
function defaultPolicyTypes(policy: ApiDocument): ApiDocument {
  const spec = objectAt(policy['spec'])
  if (listAt(spec, 'policyTypes').length > 0) return policy
  const policyTypes = listAt(spec, 'egress').length > 0 ? ['Ingress', 'Egress'] : ['Ingress']
  return { ...policy, spec: { ...spec, policyTypes } }
}

const policyTypes = each(exactlyOneOf('Ingress', 'Egress'))

function validateTypes(value: Json, path: string): readonly FieldError[] {
  const types = listAt(value)
  if (types.length > 2) return [invalidField(path, value, 'may not specify more than two policyTypes')]
  return policyTypes(value, path)
}

const policyPort = all([fields({ protocol: exactlyOneOf(...policyProtocols), port: validatePort }), validateEndPort])

const selector: Check = (value, path) => validateLabelSelector(value, path)

const peer = all([validatePeer, fields({ podSelector: selector, namespaceSelector: selector, ipBlock: validateBlock })])

const specRules = fields({
  podSelector: selector,
  ingress: each(fields({ ports: each(policyPort), from: each(peer) })),
  egress: each(fields({ ports: each(policyPort), to: each(peer) })),
  policyTypes: validateTypes,
})

function validatePort(value: Json, path: string): readonly FieldError[] {
  const problem = typeof value === 'number' ? checkPortNumber(value) : checkPortName(textAt(value))
  return problem === undefined ? [] : [invalidField(path, value, problem)]
}

function validateEndPort(item: Json, path: string): readonly FieldError[] {
  const [endPort, port] = [valueAt(item, 'endPort'), valueAt(item, 'port')]
  if (typeof endPort !== 'number') return []
  const refuse = (why: string) => [invalidField(`${path}.endPort`, endPort, why)]
  if (port === undefined) return refuse('may not be specified when `port` is not specified')
  if (typeof port !== 'number') return refuse('may not be specified when `port` is non-numeric')
  const problem = checkPortNumber(endPort)
  return [
    ...(endPort < port ? refuse('must be greater than or equal to `port`') : []),
    ...(problem === undefined ? [] : refuse(problem)),
  ]
}

function validatePeer(item: Json, path: string): readonly FieldError[] {
  const parts = ['podSelector', 'namespaceSelector', 'ipBlock'].filter((field) => valueAt(item, field) !== undefined)
  if (parts.length === 0) return [requiredField(path, 'must specify a peer')]
  return parts.length > 1 && parts.includes('ipBlock')
    ? [forbiddenField(path, 'may not specify both ipBlock and another peer')]
    : []
}

function validateBlock(block: Json, path: string): readonly FieldError[] {
  const text = textAt(block, 'cidr')
  if (text === '') return [requiredField(`${path}.cidr`)]
  const cidr = parseCidr(text)
  if (cidr === undefined) return [invalidField(`${path}.cidr`, text, badCidr)]
  return listAt(block, 'except').flatMap((item, index) => {
    const field = `${path}.except[${index}]`
    const except = parseCidr(textAt(item))
    if (except === undefined) return [invalidField(field, textAt(item), badCidr)]
    const isInside = except !== cidr && cidrContains(cidr, except)
    return isInside ? [] : [invalidField(field, textAt(item), 'must be a strict subset of `cidr`')]
  })
}
