import { inSlices, TimeSlice } from '../../../loop/time-slice.ts'
import type { Logger } from '../../../observe/index.ts'
import type { Authorizer } from '../../access/authorizer.ts'
import { type ApiDocument, listAt, valueAt } from '../../document.ts'
import type { Registry } from '../../resources/registry.ts'
import type { Resource } from '../../resources/resource.ts'
import type { Store } from '../../store/index.ts'
import type { AdmissionCall, AdmissionRequest, ValidatingStep } from '../admission-request.ts'
import { isExemptFromPolicies } from '../exempt-resources.ts'
import { type AdmissionSubject, matchResources, subjectOf } from '../match-resources.ts'
import type { Match } from '../match-rules.ts'
import { policyInputOf } from '../policy-input.ts'
import { ConfigurationError, collectParams, findParamResource, unknownParamKind } from './collect-params.ts'
import { evaluatePolicy, type Failure, type PolicyResult } from './evaluate-policy.ts'
import type { CompiledPolicy } from './policy.ts'
import type { BoundPolicy, PolicyIndex } from './policy-index.ts'
import { type Denial, refusalOf } from './refusal.ts'

export interface PolicyParts {
  readonly index: PolicyIndex
  readonly store: Store
  readonly registry: Registry
  readonly authorizers: readonly Authorizer[]
  readonly log: Logger
}

/** Returns the step that evaluates ValidatingAdmissionPolicies. */
export function validatingPolicies(parts: PolicyParts): ValidatingStep {
  return {
    isActive: () => !parts.index.isEmpty,
    validate: async (request, call) => {
      if (!isExemptFromPolicies(request)) await validate(parts, request, call)
    },
  }
}

/** Evaluates all policies, so that each warns, and refuses the request by the first denial. */
async function validate(parts: PolicyParts, request: AdmissionRequest, call: AdmissionCall): Promise<void> {
  const subject = await subjectOf(request, parts)
  const denials: Denial[] = []
  for (const bound of parts.index.bound()) denials.push(...(await applyPolicy(parts, subject, bound, call)))
  const [first] = denials
  if (first !== undefined) throw refusalOf(request, first)
}

async function applyPolicy(
  parts: PolicyParts,
  subject: AdmissionSubject,
  { policy, bindings }: BoundPolicy,
  call: AdmissionCall,
): Promise<readonly Denial[]> {
  const match = matchResources(policy.matchConstraints, subject)
  if (match === undefined) return []
  const { paramKind } = policy
  const params = paramKind && findParamResource(parts.registry, paramKind)
  if (paramKind !== undefined && params === undefined) return faultOf(unknownParamKind(paramKind), policy, undefined)
  const denials: Denial[] = []
  for (const binding of bindings) {
    const constraints = valueAt(binding, 'spec', 'matchResources')
    if (constraints !== undefined && matchResources(constraints, subject) === undefined) continue
    denials.push(...(await applyBinding(parts, subject, { policy, binding, match, params }, call)))
  }
  return denials
}

interface Bound {
  readonly policy: CompiledPolicy
  readonly binding: ApiDocument
  readonly match: Match
  /** The resource of the parameters; undefined for a policy without. */
  readonly params: Resource | undefined
}

/** Evaluates a policy once for each parameter of a binding. */
async function applyBinding(
  parts: PolicyParts,
  subject: AdmissionSubject,
  bound: Bound,
  call: AdmissionCall,
): Promise<readonly Denial[]> {
  const { policy, binding, match } = bound
  const params = await paramsOf(parts, bound, subject.request.namespace)
  if (params instanceof ConfigurationError) return faultOf(params, policy, binding)
  const denials: Denial[] = []
  const slice = new TimeSlice()
  for (const each of params) {
    const input = policyInputOf(subject, match, { params: each, authorizers: parts.authorizers })
    denials.push(...enforce(parts, bound, await inSlices(evaluatePolicy(policy, input), slice), call))
  }
  return denials
}

async function paramsOf(
  { store }: PolicyParts,
  { binding, params }: Bound,
  namespace: string,
): Promise<readonly (ApiDocument | undefined)[] | ConfigurationError> {
  if (params === undefined) return [undefined]
  try {
    return await collectParams(store, params, valueAt(binding, 'spec', 'paramRef'), namespace)
  } catch (thrown) {
    if (thrown instanceof ConfigurationError) return thrown
    throw thrown
  }
}

/** Does with failures what the binding says. Returns those that deny the request. */
function enforce(
  { log }: PolicyParts,
  { policy, binding }: Bound,
  { failures, annotations, annotationErrors }: PolicyResult,
  { warn }: AdmissionCall,
): readonly Denial[] {
  const actions = listAt(binding, 'spec', 'validationActions')
  const names = { policy: policy.name, binding: binding.metadata.name }
  for (const { message } of failures) {
    if (actions.includes('Warn')) warn(warningOf(policy, binding, message))
    if (actions.includes('Audit')) log.info('a request fails the validation of a policy', { ...names, message })
  }
  for (const annotation of annotations) log.info('a policy annotates a request', { ...names, ...annotation })
  const denying: readonly Pick<Failure, 'message' | 'reason'>[] = [
    ...(actions.includes('Deny') ? failures : []),
    ...annotationErrors.map((message) => ({ message, reason: '' })),
  ]
  return denying.map(({ message, reason }) => ({ policy, binding, message, reason }))
}

function warningOf({ name }: CompiledPolicy, { metadata }: ApiDocument, message: string): string {
  return `Validation failed for ValidatingAdmissionPolicy '${name}' with binding '${metadata.name}': ${message}`
}

/** Returns the denial by a policy or binding that has a fault in itself; none where failures are ignored. */
function faultOf(
  { message }: ConfigurationError,
  policy: CompiledPolicy,
  binding: ApiDocument | undefined,
): readonly Denial[] {
  if (policy.isIgnoringFailures) return []
  const what = binding === undefined ? 'policy' : 'binding'
  return [{ policy, binding, message: `failed to configure ${what}: ${message}`, reason: '' }]
}
