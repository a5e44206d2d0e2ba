import type { Json } from '../../model/api-object.ts'
import { parseIp } from '../../model/ip.ts'
import { type ApiDocument, listAt, textAt, valueAt } from '../document.ts'
import { type FieldError, invalidField, requiredField, unsupportedField } from '../schema/field-error.ts'
import { checkDns1035Label, checkDnsSubdomain, checkPortName, checkPortNumber } from './names.ts'

const pathTypes = ['Exact', 'ImplementationSpecific', 'Prefix']

export function validateIngress({ spec }: ApiDocument): readonly FieldError[] {
  const rules = listAt(spec, 'rules')
  const defaultBackend = valueAt(spec, 'defaultBackend')
  const className = valueAt(spec, 'ingressClassName')
  const isEmpty = rules.length === 0 && defaultBackend === undefined
  return [
    ...(isEmpty ? [invalidField('spec', '', 'either `defaultBackend` or `rules` must be specified')] : []),
    ...(defaultBackend === undefined ? [] : validateBackend(defaultBackend, 'spec.defaultBackend')),
    ...listAt(spec, 'tls').flatMap((entry, index) => validateTls(entry, `spec.tls[${index}]`)),
    ...rules.flatMap((rule, index) => validateRule(rule, `spec.rules[${index}]`)),
    ...(typeof className === 'string' ? problem('spec.ingressClassName', className, checkDnsSubdomain(className)) : []),
  ]
}

function problem(field: string, value: string | number, why: string | undefined): readonly FieldError[] {
  return why === undefined ? [] : [invalidField(field, value, why)]
}

function validateTls(entry: Json, path: string): readonly FieldError[] {
  const secret = textAt(entry, 'secretName')
  return [
    ...listAt(entry, 'hosts').flatMap((host, index) => validateHost(textAt(host), `${path}.hosts[${index}]`)),
    ...(secret === '' ? [] : problem(`${path}.secretName`, secret, checkDnsSubdomain(secret))),
  ]
}

function validateRule(rule: Json, path: string): readonly FieldError[] {
  const host = textAt(rule, 'host')
  const http = valueAt(rule, 'http')
  return [
    ...(host === '' ? [] : validateHost(host, `${path}.host`)),
    ...(http === undefined ? [] : validatePaths(listAt(http, 'paths'), `${path}.http.paths`)),
  ]
}

function validateHost(host: string, path: string): readonly FieldError[] {
  if (parseIp(host) !== undefined) return [invalidField(path, host, 'must be a DNS name, not an IP address')]
  const plain = host.startsWith('*.') ? host.slice(2) : host
  return problem(path, host, checkDnsSubdomain(plain))
}

function validatePaths(paths: readonly Json[], path: string): readonly FieldError[] {
  if (paths.length === 0) return [requiredField(path)]
  return paths.flatMap((item, index) => validatePath(item, `${path}[${index}]`))
}

function validatePath(item: Json, path: string): readonly FieldError[] {
  const pathType = textAt(item, 'pathType')
  return [
    ...(pathType === '' ? [requiredField(`${path}.pathType`, 'pathType must be specified')] : []),
    ...(pathType === '' || pathTypes.includes(pathType)
      ? validatePathText(textAt(item, 'path'), pathType, `${path}.path`)
      : [unsupportedField(`${path}.pathType`, pathType, pathTypes)]),
    ...validateBackend(valueAt(item, 'backend') ?? {}, `${path}.backend`),
  ]
}

const badInside = ['//', '/./', '/../', '%2f', '%2F']
const badAtEnd = ['/..', '/.']

/** A path is matched as it stands, so nothing that a server would normalise may be in it. */
function validatePathText(text: string, pathType: string, path: string): readonly FieldError[] {
  if (pathType === 'ImplementationSpecific' && text === '') return []
  if (!text.startsWith('/')) return [invalidField(path, text, 'must be an absolute path')]
  if (pathType === 'ImplementationSpecific') return []
  return [
    ...badInside
      .filter((bad) => text.includes(bad))
      .map((bad) => invalidField(path, text, `must not contain '${bad}'`)),
    ...badAtEnd.filter((bad) => text.endsWith(bad)).map((bad) => invalidField(path, text, `cannot end with '${bad}'`)),
  ]
}

function validateBackend(backend: Json, path: string): readonly FieldError[] {
  const service = valueAt(backend, 'service')
  const resource = valueAt(backend, 'resource')
  if (service !== undefined && resource !== undefined) {
    return [invalidField(path, '', 'cannot set both resource and service backends')]
  }
  if (service !== undefined) return validateService(service, `${path}.service`)
  if (resource === undefined) return [invalidField(path, '', 'resource or service backend is required')]
  return ['kind', 'name'].flatMap((field) =>
    textAt(resource, field) === '' ? [requiredField(`${path}.resource.${field}`)] : [],
  )
}

function validateService(service: Json, path: string): readonly FieldError[] {
  const name = textAt(service, 'name')
  return [
    ...(name === '' ? [requiredField(`${path}.name`)] : problem(`${path}.name`, name, checkDns1035Label(name))),
    ...validateServicePort(valueAt(service, 'port'), `${path}.port`),
  ]
}

function validateServicePort(port: Json | undefined, path: string): readonly FieldError[] {
  const name = textAt(port, 'name')
  const number = Number(textAt(port, 'number') || 0)
  if (name !== '' && number !== 0) return [invalidField(path, '', 'cannot set both port name & port number')]
  if (name === '' && number === 0) return [requiredField(path, 'port name or number is required')]
  return name === ''
    ? problem(`${path}.number`, number, checkPortNumber(number))
    : problem(`${path}.name`, name, checkPortName(name))
}
