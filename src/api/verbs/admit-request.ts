import type { JsonObject } from '../../model/api-object.ts'
import type { AdmissionCall, AdmissionRequest, GroupVersionKind, Operation } from '../admission/admission-request.ts'
import type { ApiDocument } from '../document.ts'
import type { CommitOptions, DeleteOptions, Target, WriteOptions } from '../request/request.ts'
import type { VerbContext } from './verb-context.ts'

/** A step of a verb at which admission is asked. */
export interface AdmissionMoment {
  readonly operation: Operation
  readonly target: Pick<Target, 'resource' | 'namespace' | 'name'> & { readonly subresource: string | undefined }
  /** The kind of the objects, where it is not that of the target: Scale, Eviction, Binding, TokenRequest, PodExecOptions. */
  readonly kind?: GroupVersionKind
  readonly object: ApiDocument | undefined
  readonly oldObject: ApiDocument | undefined
  readonly options: JsonObject | undefined
  readonly isDryRun: boolean
}

/** Checks whether a step that changes objects is configured. */
export function isMutated({ admission, user }: VerbContext): boolean {
  return user !== undefined && admission?.mutating.some((step) => step.isActive()) === true
}

/** Checks whether any step of admission is configured. */
export function isAdmitted(context: VerbContext): boolean {
  const isValidated = context.admission?.validating.some((step) => step.isActive()) === true
  return context.user !== undefined && (isValidated || isMutated(context))
}

/** Returns the object after the steps that change it. What the server itself writes is not subject to admission. */
export async function mutateObject(context: VerbContext, moment: AdmissionMoment): Promise<ApiDocument | undefined> {
  if (!isMutated(context)) return moment.object
  let { object } = moment
  for (const step of context.admission?.mutating ?? []) {
    if (step.isActive()) object = await step.mutate(requestOf(context, { ...moment, object }), callOf(context))
  }
  return object
}

/** Asks the steps that accept or refuse a request; rejects with the Status of the first that refuses it. */
export async function validateObject(context: VerbContext, moment: AdmissionMoment): Promise<void> {
  if (!isAdmitted(context)) return
  const request = requestOf(context, moment)
  for (const step of context.admission?.validating ?? []) {
    if (step.isActive()) await step.validate(request, callOf(context))
  }
}

/** Asks all steps about a request whose object no step may change: a delete, a connection. */
export async function admitAsGiven(context: VerbContext, moment: AdmissionMoment): Promise<void> {
  await mutateObject(context, moment)
  await validateObject(context, moment)
}

/** Asks all steps about the body of an action, which is not stored (Eviction, Binding, TokenRequest, a review). Returns it. */
export async function admitAction(
  context: VerbContext,
  target: Target,
  { kind, object }: { readonly kind: GroupVersionKind; readonly object: ApiDocument },
  options: WriteOptions,
): Promise<ApiDocument> {
  if (!isAdmitted(context)) return object
  const created = writeOptionsOf('CreateOptions', options)
  const moment = {
    operation: 'CREATE',
    target,
    kind,
    oldObject: undefined,
    options: created,
    isDryRun: options.dryRun,
  } as const
  const changed = (await mutateObject(context, { ...moment, object })) ?? object
  await validateObject(context, { ...moment, object: changed })
  return changed
}

function callOf({ warn = () => undefined, span }: VerbContext): AdmissionCall {
  return { warn, span }
}

function requestOf({ user }: VerbContext, moment: AdmissionMoment): AdmissionRequest {
  const { target, kind = target.resource, object, oldObject, operation, options, isDryRun } = moment
  const { resource, namespace, name = '', subresource = '' } = target
  const isNamespace = resource.group === '' && resource.plural === 'namespaces'
  const ownName = name || (object?.metadata.name ?? '')
  return {
    operation,
    resource,
    subresource,
    kind: { group: kind.group, version: kind.version, kind: kind.kind },
    namespace: isNamespace ? ownName : (namespace ?? ''),
    name,
    object,
    oldObject,
    options,
    isDryRun,
    user: user ?? { name: '', groups: [] },
  }
}

/** Returns CreateOptions or UpdateOptions as admission sees them. */
export function writeOptionsOf(kind: 'CreateOptions' | 'UpdateOptions', options: WriteOptions): JsonObject {
  const { given } = options
  return {
    ...typeOf(kind),
    ...dryRunOf(options),
    ...(given?.fieldManager ? { fieldManager: given.fieldManager } : {}),
    ...(given?.fieldValidation ? { fieldValidation: given.fieldValidation } : {}),
  }
}

/** Returns DeleteOptions as admission sees them. */
export function deleteOptionsOf(options: DeleteOptions): JsonObject {
  const { gracePeriodSeconds, propagationPolicy, preconditions } = options
  return {
    ...typeOf('DeleteOptions'),
    ...dryRunOf(options),
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(Object.keys(preconditions).length === 0 ? {} : { preconditions }),
  }
}

function typeOf(kind: string): JsonObject {
  return { kind, apiVersion: 'meta.k8s.io/v1' }
}

function dryRunOf({ dryRun }: CommitOptions): JsonObject {
  return dryRun ? { dryRun: ['All'] } : {}
}
