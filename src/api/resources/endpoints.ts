import type { Json } from '../../model/api-object.ts'
import { parseIp } from '../../model/ip.ts'
import { type ApiDocument, listAt, textAt } from '../document.ts'
import { builtInSchema, overlaySchema } from '../schema/built-in-schema.ts'
import { type FieldError, invalidField, requiredField, unsupportedField } from '../schema/field-error.ts'
import { object } from '../schema/schema.ts'
import { checkPortNumber } from './names.ts'
import { protocols } from './protocols.ts'
import { column, type Resource } from './resource.ts'
import { validateSpecialAddress } from './special-addresses.ts'

const defaults = object({
  subsets: { items: { properties: { ports: { items: { properties: { protocol: { default: 'TCP' } } } } } } },
})

export function endpoints(): Resource {
  return {
    group: '',
    version: 'v1',
    kind: 'Endpoints',
    plural: 'endpoints',
    singular: 'endpoints',
    shortNames: ['ep'],
    categories: [],
    namespaced: true,
    subresources: [],
    schema: overlaySchema(builtInSchema('', 'v1', 'Endpoints'), defaults),
    countsGeneration: false,
    selectableFields: {},
    columns: [column('Endpoints', endpointsCell)],
    strategy: {
      validate: (document) =>
        listAt(document['subsets']).flatMap((item, index) => validateSubset(item, `subsets[${index}]`)),
    },
  }
}

function validateSubset(item: Json, path: string): readonly FieldError[] {
  const isEmpty = listAt(item, 'addresses').length === 0 && listAt(item, 'notReadyAddresses').length === 0
  return [
    ...(isEmpty ? [requiredField(path, 'must specify `addresses` or `notReadyAddresses`')] : []),
    ...['addresses', 'notReadyAddresses'].flatMap((list) => validateAddresses(item, list, path)),
    ...listAt(item, 'ports').flatMap((entry, index) => validatePort(entry, `${path}.ports[${index}]`)),
  ]
}

function validateAddresses(item: Json, list: string, path: string): readonly FieldError[] {
  return listAt(item, list).flatMap((entry, index) => {
    const ip = textAt(entry, 'ip')
    const field = `${path}.${list}[${index}].ip`
    if (parseIp(ip) !== undefined) return validateSpecialAddress(ip, field)
    return [invalidField(field, ip, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')]
  })
}

function validatePort(entry: Json, path: string): readonly FieldError[] {
  const number = Number(textAt(entry, 'port'))
  const problem = checkPortNumber(number)
  const protocol = textAt(entry, 'protocol')
  return [
    ...(problem === undefined ? [] : [invalidField(`${path}.port`, number, problem)]),
    ...(protocols.includes(protocol) ? [] : [unsupportedField(`${path}.protocol`, protocol, protocols)]),
  ]
}

function endpointsCell(document: ApiDocument): string {
  const pairs = listAt(document['subsets']).flatMap((item) =>
    listAt(item, 'addresses').flatMap((entry) =>
      listAt(item, 'ports').map((target) => `${textAt(entry, 'ip')}:${textAt(target, 'port')}`),
    ),
  )
  if (pairs.length === 0) return '<none>'
  return pairs.length <= 3 ? pairs.join(',') : `${pairs.slice(0, 3).join(',')} + ${pairs.length - 3} more...`
}
