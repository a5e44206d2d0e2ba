import type { Json } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, textAt, valueAt } from '../document.ts'
import { all, strictText } from '../schema/checks.ts'
import {
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  tooLongField,
  unsupportedField,
} from '../schema/field-error.ts'
import { checkDnsLabel, checkDnsSubdomain } from '../schema/names.ts'
import { defineKind } from './define-kind.ts'
import { typedReference } from './object-references.ts'
import { column, type Resource } from './resource.ts'

const maxControllerLength = 250

export function ingressClasses(dialect: Dialect): Resource {
  return defineKind({
    group: dialect.groups.networking,
    version: 'v1',
    kind: 'IngressClass',
    plural: 'ingressclasses',
    namespaced: false,
    defaults: { spec: { default: {}, properties: { parameters: { properties: { scope: { default: 'Cluster' } } } } } },
    countsGeneration: true,
    columns: [
      column('Controller', (ingressClass) => textAt(ingressClass['spec'], 'controller')),
      column('Parameters', parametersCell),
    ],
    strategy: { validate: validateIngressClass, validateUpdate: validateController },
  })
}

function parametersCell(ingressClass: ApiDocument): string {
  const part = (field: string) => textAt(ingressClass['spec'], 'parameters', field)
  if (part('kind') === '') return '<none>'
  return `${part('kind')}${part('apiGroup') === '' ? '' : `.${part('apiGroup')}`}/${part('name')}`
}

function validateController(ingressClass: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const controller = textAt(ingressClass['spec'], 'controller')
  if (controller === textAt(old['spec'], 'controller')) return []
  return [invalidField('spec.controller', controller, 'field is immutable')]
}

function validateIngressClass(ingressClass: ApiDocument): readonly FieldError[] {
  return [...validateControllerName(textAt(ingressClass['spec'], 'controller')), ...validateParameters(ingressClass)]
}

const controllerPath = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/

/** Checks the name of a controller, `example.com/controller`: a domain and a path (RFC 3986 characters). */
function validateControllerName(controller: string): readonly FieldError[] {
  const field = 'spec.controller'
  if (controller === '') return [requiredField(field)]
  const long = controller.length > maxControllerLength ? [tooLongField(field, maxControllerLength)] : []
  const slash = controller.indexOf('/')
  const [domain, path] = [controller.slice(0, slash), controller.slice(slash + 1)]
  if (slash < 1 || path === '') {
    return [...long, invalidField(field, controller, 'must be a domain-prefixed path (such as "acme.io/foo")')]
  }
  const problem = checkDnsSubdomain(domain)
  const wrongPath = `Invalid path (regex used for validation is '${controllerPath.source.slice(1, -1)}')`
  return [
    ...long,
    ...(problem === undefined ? [] : [invalidField(field, domain, problem)]),
    ...(problem !== undefined || isControllerPath(path) ? [] : [invalidField(field, path, wrongPath)]),
  ]
}

function isControllerPath(path: string): boolean {
  return controllerPath.test(path) && !path.endsWith('\n')
}

const parameterRules = all(typedReference)

function validateParameters(ingressClass: ApiDocument): readonly FieldError[] {
  const parameters = valueAt(ingressClass['spec'], 'parameters')
  if (parameters === undefined) return []
  const path = 'spec.parameters'
  return [...parameterRules(parameters, path), ...checkPlace(parameters, path)]
}

const scopes = ['Cluster', 'Namespace']

function checkPlace(parameters: Json, path: string): readonly FieldError[] {
  const scope = textAt(parameters, 'scope')
  const namespace = valueAt(parameters, 'namespace')
  if (!scopes.includes(scope)) return [unsupportedField(`${path}.scope`, scope, scopes)]
  if (scope === 'Namespace')
    return namespace === undefined
      ? [requiredField(`${path}.namespace`, "`parameters.scope` is set to 'Namespace'")]
      : namespaceName(namespace, `${path}.namespace`)
  return namespace === undefined ? [] : [forbiddenField(`${path}.namespace`, "`parameters.scope` is set to 'Cluster'")]
}

const namespaceName = strictText(checkDnsLabel)
