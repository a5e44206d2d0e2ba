import type { Json } from '../../model/api-object.ts'
import { isReadAsIp } from '../../model/ip.ts'
import { type ApiDocument, listAt, textAt, valueAt } from '../document.ts'
import { all, type Check, each, fields, required, strictText, text } from '../schema/checks.ts'
import { type FieldError, invalidField, requiredField, unsupportedField } from '../schema/field-error.ts'
import {
  checkDns1035Label,
  checkDnsSubdomain,
  checkPortName,
  checkPortNumber,
  checkWildcardSubdomain,
} from '../schema/names.ts'
import { typedReference } from './object-references.ts'

const pathTypes = ['Exact', 'ImplementationSpecific', 'Prefix']

const host = strictText((name) => (name.includes('*') ? checkWildcardSubdomain(name) : checkDnsSubdomain(name)))

const specRules = fields({
  defaultBackend: checkBackend,
  rules: each(
    fields({
      host: [text(checkNoAddress), (value, path) => (value === '' ? [] : host(value, path))],
      http: (value, path) => checkPaths(listAt(value, 'paths'), `${path}.paths`),
    }),
  ),
  tls: each(fields({ hosts: each(host), secretName: text(checkDnsSubdomain) })),
  ingressClassName: strictText(checkDnsSubdomain),
})

const serviceRules = all([required('name'), fields({ name: text(checkDns1035Label) })])
const resourceRules = all(typedReference)

export function validateIngress({ spec }: ApiDocument): readonly FieldError[] {
  const rules = valueAt(spec, 'rules')
  const isEmpty = listAt(rules).length === 0 && valueAt(spec, 'defaultBackend') === undefined
  return [
    ...(isEmpty ? [invalidField('spec', rules, 'either `defaultBackend` or `rules` must be specified')] : []),
    ...specRules(spec ?? {}, 'spec'),
  ]
}

/** Checks that a new Ingress names one class where it names it both in the annotation and in the spec. */
export function validateClassAnnotation({ metadata, spec }: ApiDocument, annotation: string): readonly FieldError[] {
  const [annotated, named] = [metadata.annotations?.[annotation], valueAt(spec, 'ingressClassName')]
  if (annotated === undefined || named === undefined || annotated === named) return []
  const why = 'must match `ingressClassName` when both are specified'
  return [invalidField(`annotations.${annotation}`, annotated, why)]
}

function checkNoAddress(name: string): string | undefined {
  return isReadAsIp(name) ? 'must be a DNS name, not an IP address' : undefined
}

function checkPaths(paths: readonly Json[], path: string): readonly FieldError[] {
  if (paths.length === 0) return [requiredField(path)]
  return paths.flatMap((item, index) => checkPath(item, `${path}[${index}]`))
}

function checkPath(item: Json, path: string): readonly FieldError[] {
  const pathType = valueAt(item, 'pathType')
  if (pathType === undefined) return [requiredField(`${path}.pathType`, 'pathType must be specified')]
  const isKnown = pathTypes.includes(textAt(pathType))
  return [
    ...(isKnown
      ? checkPathText(textAt(item, 'path'), textAt(pathType), `${path}.path`)
      : [unsupportedField(`${path}.pathType`, pathType, pathTypes)]),
    ...checkBackend(valueAt(item, 'backend') ?? {}, `${path}.backend`),
  ]
}

const badInside = ['//', '/./', '/../', '%2f', '%2F']
const badAtEnd = ['/..', '/.']

/** Checks a path. It is matched literally, so it may contain nothing that a server would normalise. */
function checkPathText(value: string, pathType: string, path: string): readonly FieldError[] {
  const isFree = pathType === 'ImplementationSpecific'
  if (isFree && value === '') return []
  const relative = value.startsWith('/') ? [] : [invalidField(path, value, 'must be an absolute path')]
  if (isFree) return relative
  return [
    ...relative,
    ...badInside
      .filter((bad) => value.includes(bad))
      .map((bad) => invalidField(path, value, `must not contain '${bad}'`)),
    ...badAtEnd
      .filter((bad) => value.endsWith(bad))
      .map((bad) => invalidField(path, value, `cannot end with '${bad}'`)),
  ]
}

function checkBackend(backend: Json, path: string): readonly FieldError[] {
  const service = valueAt(backend, 'service')
  const resource = valueAt(backend, 'resource')
  if (service !== undefined && resource !== undefined)
    return [invalidField(path, '', 'cannot set both resource and service backends')]
  if (resource !== undefined) return resourceRules(resource, `${path}.resource`)
  if (service === undefined) return [invalidField(path, '', 'resource or service backend is required')]
  return [...serviceRules(service, `${path}.service`), ...checkServicePort(valueAt(service, 'port'), path)]
}

/** Checks the port of a backend; errors that concern both name and number are reported at the backend. */
function checkServicePort(port: Json | undefined, path: string): readonly FieldError[] {
  const name = textAt(port, 'name')
  const number = Number(textAt(port, 'number') || 0)
  if (name !== '' && number !== 0) return [invalidField(path, '', 'cannot set both port name & port number')]
  if (name === '' && number === 0) return [requiredField(path, 'port name or number is required')]
  return portRules(port ?? {}, `${path}.service.port`)
}

const portNumber: Check = (value, path) => {
  const why = value === 0 ? undefined : checkPortNumber(Number(textAt(value)))
  return why === undefined ? [] : [invalidField(path, value, why)]
}

const portRules = fields({ name: text(checkPortName), number: portNumber })
