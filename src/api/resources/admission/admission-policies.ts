import type { Dialect } from '../../../model/dialect.ts'
import { type ApiDocument, listAt, objectAt, textAt, valueAt } from '../../document.ts'
import { type Check, fields } from '../../schema/checks.ts'
import { type FieldError, invalidField, requiredField } from '../../schema/field-error.ts'
import { object, type Schema } from '../../schema/schema.ts'
import { conditions } from '../condition-rules.ts'
import { defineKind } from '../define-kind.ts'
import { formatLabelSelector } from '../label-selector.ts'
import { column, type Resource } from '../resource.ts'
import { checkBinding } from './binding-rules.ts'
import { checkPolicy } from './policy-rules.ts'

const rules: Schema = { items: object({ scope: { default: '*' } }) }
const matchResources = object({
  matchPolicy: { default: 'Equivalent' },
  namespaceSelector: { default: {} },
  objectSelector: { default: {} },
  resourceRules: rules,
  excludeResourceRules: rules,
})

/** Returns ValidatingAdmissionPolicy, and ValidatingAdmissionPolicyBinding, which puts a policy into effect. */
export function admissionPolicies({ groups }: Dialect): readonly Resource[] {
  const shared = {
    group: groups.admissionregistration,
    version: 'v1',
    categories: ['api-extensions'],
    namespaced: false,
    countsGeneration: true,
  }
  return [
    defineKind({
      ...shared,
      kind: 'ValidatingAdmissionPolicy',
      plural: 'validatingadmissionpolicies',
      subresources: ['status'],
      defaults: {
        spec: { ...object({ failurePolicy: { default: 'Fail' }, matchConstraints: matchResources }), default: {} },
        status: { default: {} },
      },
      columns: [
        { ...column('Validations', ({ spec }) => listAt(spec, 'validations').length), type: 'integer' },
        column('ParamKind', paramKindCell),
      ],
      strategy: {
        needsRevision: 'object-and-status',
        statusLeaves: ['labels', 'annotations', 'finalizers', 'ownerReferences'],
        validate: checkPolicy,
        validateStatus: checkStatus,
      },
    }),
    defineKind({
      ...shared,
      kind: 'ValidatingAdmissionPolicyBinding',
      plural: 'validatingadmissionpolicybindings',
      defaults: { spec: { ...object({ matchResources }), default: {} } },
      columns: [column('PolicyName', ({ spec }) => textAt(spec, 'policyName')), column('ParamRef', paramRefCell)],
      strategy: { needsRevision: 'object-and-status', validate: checkBinding },
    }),
  ]
}

function paramKindCell({ spec }: ApiDocument): string {
  const paramKind = valueAt(spec, 'paramKind')
  return paramKind === undefined ? '<unset>' : `${textAt(paramKind, 'apiVersion')}/${textAt(paramKind, 'kind')}`
}

function paramRefCell({ spec }: ApiDocument): string {
  const paramRef = objectAt(spec, 'paramRef')
  const [namespace, name] = [textAt(paramRef, 'namespace'), textAt(paramRef, 'name')]
  if (name !== '') return `${namespace || '*'}/${name}`
  return paramRef['selector'] === undefined ? '<unset>' : formatLabelSelector(paramRef['selector'])
}

const checkWarnings: Check = (typeChecking, path) =>
  listAt(typeChecking, 'expressionWarnings').flatMap((warning, index) => {
    const at = `${path}.expressionWarnings[${index}]`
    return [
      ...(textAt(warning, 'warning') === '' ? [requiredField(`${at}.warning`)] : []),
      ...checkFieldRef(textAt(warning, 'fieldRef').trim(), `${at}.fieldRef`),
    ]
  })

/** The beginning of a JSONPath in the form of Kubernetes: a name, a step, a quote, a root, or a number alone. */
const pathStart = /^(?:[\p{L}_.["'$@]|[+-]?\d+$)/u

function checkFieldRef(fieldRef: string, path: string): readonly FieldError[] {
  if (fieldRef === '') return [requiredField(path)]
  return pathStart.test(fieldRef) ? [] : [invalidField(path, fieldRef, 'invalid JSONPath')]
}

const statusFields = fields({ typeChecking: checkWarnings, conditions })

function checkStatus({ status = null }: ApiDocument): readonly FieldError[] {
  return statusFields(status, 'status')
}
