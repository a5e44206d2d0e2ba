import type { Json } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { cidrContains, parseCidr } from '../../model/ip.ts'
import { type ApiDocument, listAt, objectAt, textAt, valueAt } from '../document.ts'
import {
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  tooManyField,
  unsupportedField,
} from '../schema/field-error.ts'
import type { Schema } from '../schema/schema.ts'
import { defineKind } from './define-kind.ts'
import { formatLabelSelector, validateLabelSelector } from './label-selector.ts'
import { checkPortName, checkPortNumber } from './names.ts'
import { protocols } from './protocols.ts'
import { column, type Resource } from './resource.ts'

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
      validate: validateNetworkPolicy,
    },
  })
}

/** Ingress always, Egress where there are egress rules. */
function defaultPolicyTypes(policy: ApiDocument): ApiDocument {
  const spec = objectAt(policy['spec'])
  if (listAt(spec, 'policyTypes').length > 0) return policy
  const policyTypes = listAt(spec, 'egress').length > 0 ? ['Ingress', 'Egress'] : ['Ingress']
  return { ...policy, spec: { ...spec, policyTypes } }
}

function validateNetworkPolicy(policy: ApiDocument): readonly FieldError[] {
  const spec = policy['spec']
  return [
    ...validateLabelSelector(valueAt(spec, 'podSelector'), 'spec.podSelector'),
    ...validateTypes(listAt(spec, 'policyTypes').map((type) => textAt(type))),
    ...listAt(spec, 'ingress').flatMap((rule, index) => validateRule(rule, 'from', `spec.ingress[${index}]`)),
    ...listAt(spec, 'egress').flatMap((rule, index) => validateRule(rule, 'to', `spec.egress[${index}]`)),
  ]
}

function validateTypes(types: readonly string[]): readonly FieldError[] {
  const supported = ['Egress', 'Ingress']
  if (types.length > 2) return [tooManyField('spec.policyTypes', types.length, 2)]
  return types.flatMap((type, index) =>
    supported.includes(type) ? [] : [unsupportedField(`spec.policyTypes[${index}]`, type, supported)],
  )
}

function validateRule(rule: Json, peers: 'from' | 'to', path: string): readonly FieldError[] {
  return [
    ...listAt(rule, 'ports').flatMap((item, index) => validatePort(item, `${path}.ports[${index}]`)),
    ...listAt(rule, peers).flatMap((item, index) => validatePeer(item, `${path}.${peers}[${index}]`)),
  ]
}

function validatePort(item: Json, path: string): readonly FieldError[] {
  const protocol = textAt(item, 'protocol')
  const number = valueAt(item, 'port')
  const endPort = valueAt(item, 'endPort')
  return [
    ...(protocols.includes(protocol) ? [] : [unsupportedField(`${path}.protocol`, protocol, protocols)]),
    ...validatePortValue(number, `${path}.port`),
    ...(typeof endPort === 'number' ? validateEndPort(endPort, number, path) : []),
  ]
}

function validatePortValue(value: Json | undefined, path: string): readonly FieldError[] {
  if (typeof value !== 'number' && typeof value !== 'string') return []
  const problem = typeof value === 'number' ? checkPortNumber(value) : checkPortName(value)
  return problem === undefined ? [] : [invalidField(path, value, problem)]
}

function validateEndPort(endPort: number, port: Json | undefined, path: string): readonly FieldError[] {
  const field = `${path}.endPort`
  if (port === undefined) return [requiredField(`${path}.port`, 'must be specified when `endPort` is')]
  if (typeof port !== 'number') return [invalidField(field, endPort, 'may not be specified when `port` is non-numeric')]
  if (endPort < port) return [invalidField(field, endPort, 'must be greater than or equal to `port`')]
  const problem = checkPortNumber(endPort)
  return problem === undefined ? [] : [invalidField(field, endPort, problem)]
}

function validatePeer(item: Json, path: string): readonly FieldError[] {
  const selectors = ['podSelector', 'namespaceSelector'].filter((field) => valueAt(item, field) !== undefined)
  const block = valueAt(item, 'ipBlock')
  if (block !== undefined && selectors.length > 0) {
    return [forbiddenField(path, 'may not specify both ipBlock and another peer')]
  }
  if (block !== undefined) return validateBlock(block, `${path}.ipBlock`)
  if (selectors.length === 0) return [requiredField(path, 'must specify a peer')]
  return selectors.flatMap((field) => validateLabelSelector(valueAt(item, field), `${path}.${field}`))
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
