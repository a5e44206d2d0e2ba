import { isDeepStrictEqual } from 'node:util'
import type { Dialect } from '../../model/dialect.ts'
import { ipFamily, isReadAsIp, parseIp } from '../../model/ip.ts'
import { type ApiDocument, textAt, valueAt } from '../document.ts'
import { all, fields, required } from '../schema/checks.ts'
import { type FieldError, invalidField } from '../schema/field-error.ts'
import { defineKind } from './define-kind.ts'
import { resourceReference } from './object-references.ts'
import { column, type Resource, type Strategy } from './resource.ts'

/** The kind IPAddress reserves an address. The address is its name, so it is reserved only once. Both versions share one storage. */
export function ipAddresses(dialect: Dialect, guard: NonNullable<Strategy['coWrites']>): readonly Resource[] {
  const group = dialect.groups.networking
  return ['v1beta1', 'v1'].map((version) =>
    defineKind({
      group,
      version,
      isPreferred: dialect.name === 'platform' && version === 'v1beta1',
      kind: 'IPAddress',
      plural: 'ipaddresses',
      shortNames: ['ip'],
      namespaced: false,
      defaults: { spec: { default: {} } },
      selectableFields: {
        'spec.parentRef.name': (document) => textAt(document['spec'], 'parentRef', 'name'),
        'spec.parentRef.namespace': (document) => textAt(document['spec'], 'parentRef', 'namespace'),
        'spec.parentRef.resource': (document) => textAt(document['spec'], 'parentRef', 'resource'),
      },
      columns: [column('ParentRef', parentCell)],
      strategy: {
        validateName: checkAddressName,
        validate: ({ spec }) => specRules(spec ?? {}, 'spec'),
        validateUpdate: validateIpAddressUpdate,
        coWrites: guard,
      },
      storage: { prefix: 'ipaddresses', apiVersion: `${group}/v1` },
    }),
  )
}

function checkAddressName(name: string): string | undefined {
  const ip = parseIp(name)
  if (ip === undefined && isReadAsIp(name)) return 'must not have leading 0s'
  if (ip === undefined) return 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'
  if (ipFamily(ip) === 'IPv4' && name.includes(':')) return 'must not be an IPv4-mapped IPv6 address'
  return ip === name ? undefined : `must be in canonical form (${JSON.stringify(ip)})`
}

function parentCell(document: ApiDocument): string {
  const part = (field: string) => textAt(document['spec'], 'parentRef', field)
  const group = part('group') === '' ? '' : `.${part('group')}`
  const namespace = part('namespace') === '' ? '' : `${part('namespace')}/`
  return `${part('resource')}${group}/${namespace}${part('name')}`
}

const specRules = all([required('parentRef'), fields({ parentRef: resourceReference })])

function validateIpAddressUpdate(document: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const parent = valueAt(document['spec'], 'parentRef')
  if (isDeepStrictEqual(parent, valueAt(old['spec'], 'parentRef'))) return []
  return [invalidField('spec.parentRef', parent, 'field is immutable')]
}
